/** A server as it was at a time of the past: what the history records of it. */
import * as z from 'zod/mini'
import { codeText, lineText, nameText, personText, reasonText } from '../bounds/fields.ts'
import { WorstFinding } from '../findings/findings.ts'
import { pastOf } from '../history/past.ts'
import { ShownLabels } from '../labels/filter.ts'
import type { Words } from '../operation.ts'
import { pageOf, time } from '../page.ts'
import { ListedServer, NodeType, serverList, ServerStatus } from './server.ts'
import { serverGet } from './servers.ts'

/** A value that the history never records. */
const never = z.null()

export const PastServer = z.object({
  id: z.uuid(),
  name: z.nullable(codeText),
  status: z.nullable(ServerStatus),
  type: z.nullable(NodeType),
  nodeAddresses: z.nullable(z.array(codeText)),
  datacenter: z.nullable(z.object({ id: never, code: codeText })),
  /** Rack and units in words. */
  placement: z.nullable(nameText),
  cluster: z.nullable(z.object({ id: z.uuid(), name: codeText })),
  capacity_commitment: never,
  kubernetes: z.nullable(
    z.object({
      ready: z.nullable(z.boolean()),
      reason: z.nullable(reasonText),
      since: z.nullable(time),
    }),
  ),
  hardware: ListedServer.shape.hardware,
  ineligible: never,
  drift: z.nullable(z.object({ since: z.nullable(time), seen: never })),
  pending: never,
  trial: never,
  failure: z.nullable(z.object({ reason: z.nullable(reasonText), since: z.nullable(time) })),
  finding: z.nullable(WorstFinding),
  left_cluster: never,
  labels: z.nullable(ShownLabels),
  quarantine: z.nullable(
    z.object({
      reason: nameText,
      by: z.nullable(personText),
      since: z.nullable(time),
    }),
  ),
  operation_id: never,
  created_at: z.nullable(time),
  talos: z.object({
    version: z.nullable(codeText),
    stage: z.nullable(ListedServer.shape.talos.shape.stage),
    reachable: z.nullable(z.boolean()),
    last_contact_at: never,
    unreachable_since: z.nullable(time),
    reason: z.nullable(reasonText),
    silent_after: never,
  }),
  identity: z.object({
    state: z.nullable(ListedServer.shape.identity.shape.state),
    uuid: z.nullable(codeText),
    serial: z.nullable(nameText),
    seen: never,
  }),
})
export type PastServer = z.infer<typeof PastServer>

/** What the page of a server shows beside that. */
const PastServerPage = z.extend(PastServer, {
  talos: z.extend(PastServer.shape.talos, {
    schematic: z.nullable(codeText),
    installed: never,
  }),
  /** One text for each processor, memory module, disk and network card. */
  parts: z.nullable(z.array(lineText)),
  /** Network cards that had a carrier. */
  links_up: z.nullable(z.array(codeText)),
  resources: never,
  eligibility: never,
  notes: never,
})
export type PastServerPage = z.infer<typeof PastServerPage>

/** The servers of a time of the past. */
export const serverListPast = pastOf(serverList, pageOf(PastServer))
/** A server at a time of the past. */
export const serverGetPast = pastOf(serverGet, PastServerPage)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    PastServer: [PastServer, 'A server as it was at a time of the past.'],
  },
}
