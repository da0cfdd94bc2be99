/** A cluster as it was at a time of the past: what the history records of it. */
import * as z from 'zod/mini'
import { codeText, nameText, reasonText } from '../bounds/fields.ts'
import { WorstFinding } from '../findings/findings.ts'
import { pastOf } from '../history/past.ts'
import { ShownLabels } from '../labels/filter.ts'
import type { Words } from '../operation.ts'
import { pageOf, time } from '../page.ts'
import { Cluster, clusterGet, clusterList, ClusterRole } from './clusters.ts'

/** A value that the history never records. */
const never = z.null()

export const PastCluster = z.object({
  id: z.uuid(),
  name: z.nullable(codeText),
  status: z.nullable(Cluster.shape.status),
  reason: z.nullable(reasonText),
  troubles: never,
  finding: z.nullable(WorstFinding),
  upgrade: never,
  certificates_ending: never,
  datacenter: z.nullable(z.object({ id: never, code: codeText })),
  talos_version: z.nullable(codeText),
  kubernetes_version: z.nullable(codeText),
  endpoint: z.nullable(nameText),
  virtual_ip: never,
  vlan_id: never,
  pod_cidr: never,
  service_cidr: never,
  /** The servers that belonged to it. */
  servers: z.array(z.object({ node_id: z.uuid(), name: codeText, role: z.nullable(ClusterRole) })),
  former_servers: never,
  control_planes: z.int(),
  workers: z.int(),
  subnets: never,
  chainAddress: never,
  offerId: never,
  operation_id: never,
  labels: z.nullable(ShownLabels),
  notes: never,
  maintenance_window: never,
  locked_out: z.nullable(
    z.object({
      authority: z.enum(['talos_ca', 'kubernetes_ca']),
      since: z.nullable(time),
    }),
  ),
  created_at: z.nullable(time),
})
export type PastCluster = z.infer<typeof PastCluster>

/** The clusters of a time of the past. */
export const clusterListPast = pastOf(clusterList, pageOf(PastCluster))
/** A cluster at a time of the past. */
export const clusterGetPast = pastOf(clusterGet, PastCluster)

/** Words for the API documentation. */
export const words: Words = {
  objects: { PastCluster: [PastCluster, 'A cluster as it was at a time of the past.'] },
}
