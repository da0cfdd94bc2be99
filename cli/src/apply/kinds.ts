/**
 * Every kind of document, in the order in which objects are created. A new kind is a schema in
 * `contract/apply/documents.ts`, a file in `kinds/` and a line here.
 */
import { clusters } from './kinds/clusters.ts'
import { clustersFromTemplate } from './kinds/from-template.ts'
import { datacenters } from './kinds/datacenters.ts'
import { images } from './kinds/images.ts'
import { joinTokens } from './kinds/join-tokens.ts'
import { offers } from './kinds/offers.ts'
import { patches } from './kinds/patches.ts'
import { sharedPatches } from './kinds/shared-patches.ts'
import { servers } from './kinds/servers.ts'
import { subnets } from './kinds/subnets.ts'
import { templates } from './kinds/templates.ts'
import type { KindPlanner } from './plan.ts'

export const kinds: readonly KindPlanner[] = [
  datacenters,
  joinTokens,
  servers,
  subnets,
  images,
  patches,
  clusters,
  sharedPatches,
  templates,
  clustersFromTemplate,
  offers,
]
