/**
 * Health of a cluster, read from its machines and its Kubernetes API during the call. A value that
 * could not be read in time is null, with the reason.
 */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'
import { Remedy } from './changes/remedies.ts'
import { ClusterRole } from './clusters.ts'

/**
 * `NOSPACE`: etcd has reached its quota and refuses writes. `CORRUPT`: members have different data
 * (etcd, "Alarms").
 */
export const etcdAlarms = ['nospace', 'corrupt'] as const
export type EtcdAlarm = (typeof etcdAlarms)[number]

const EtcdMemberHealth = z.object({
  /**
   * Id in etcd, decimal; null for a control plane that is no member, or if no control plane reports
   * the members.
   */
  id: z.nullable(z.string()),
  name: z.string(),
  /** null: no server of the cluster. */
  node_id: z.nullable(z.uuid()),
  leader: z.nullable(z.boolean()),
  /** A learner has no vote yet. */
  learner: z.nullable(z.boolean()),
  /** Version of etcd. */
  version: z.nullable(z.string()),
  size_bytes: z.nullable(z.int()),
  /** The part of `size_bytes` that contains data. A defragmentation frees the rest. */
  in_use_bytes: z.nullable(z.int()),
  alarms: z.nullable(z.array(z.enum(etcdAlarms))),
  /** null: the member did not answer. */
  healthy: z.nullable(z.boolean()),
  /** Why the member is not healthy, or why that is unknown. */
  reason: z.nullable(z.string()),
})
export type EtcdMemberHealth = z.infer<typeof EtcdMemberHealth>

const NodeHealth = z.object({
  /** null: a Kubernetes node that is no server of the cluster. */
  node_id: z.nullable(z.uuid()),
  name: z.string(),
  role: z.nullable(ClusterRole),
  ready: z.nullable(z.boolean()),
  reason: z.nullable(z.string()),
  /** False: the node is cordoned. */
  schedulable: z.nullable(z.boolean()),
  kubelet_version: z.nullable(z.string()),
  /** Version at the last contact. */
  talos_version: z.nullable(z.string()),
  /** Number of pods on the node, without those that have finished. */
  pods: z.nullable(z.int()),
})
export type NodeHealth = z.infer<typeof NodeHealth>

const VersionHealth = z.object({
  current: z.string(),
  /** Newest version that Steelyard offers for this cluster. */
  newest: z.string(),
  /** Version to which the cluster can be upgraded next; null if there is no newer one. */
  next: z.nullable(z.string()),
  /** What must be upgraded before a `next` is possible; null if nothing. */
  after: z.nullable(z.enum(['talos', 'kubernetes'])),
  /** Why `next` is not `newest`, or why the version needs attention. */
  reason: z.nullable(z.string()),
})
export type VersionHealth = z.infer<typeof VersionHealth>

const healthTopics = [
  'etcd',
  'database',
  'kubernetes_api',
  'nodes',
  'configuration',
  'snapshot',
  'talos',
  'kubernetes',
] as const
export type HealthTopic = (typeof healthTopics)[number]
const healthStates = ['ok', 'note', 'attention', 'problem', 'unknown'] as const
export type HealthState = (typeof healthStates)[number]

export const ClusterHealth = z.object({
  /** When the values were read. */
  at: time,
  /**
   * One line per topic: its state, the reason, and the changes that settle it, the best one first.
   * `problem` and `attention` are what a finding says: `problem` one that is down or degraded,
   * `attention` one that needs a user in time. `note`: worth knowing, and nothing is wrong.
   */
  lines: z.array(
    z.object({
      topic: z.enum(healthTopics),
      state: z.enum(healthStates),
      message: z.string(),
      remedies: z.array(Remedy),
    }),
  ),
  etcd: z.object({
    members: z.array(EtcdMemberHealth),
    /** Why no control plane reports the members; null if `members` comes from etcd. */
    reason: z.nullable(z.string()),
  }),
  kubernetes_api: z.array(
    z.object({
      node_id: z.uuid(),
      name: z.string(),
      ready: z.boolean(),
      reason: z.nullable(z.string()),
    }),
  ),
  nodes: z.array(NodeHealth),
  /** The newest snapshot of etcd that can be restored; null if there is none. */
  snapshot: z.nullable(
    z.object({
      id: z.uuid(),
      taken_at: z.nullable(time),
      verified_at: z.nullable(time),
      size_bytes: z.nullable(z.int()),
      store: z.string(),
    }),
  ),
  versions: z.object({ talos: VersionHealth, kubernetes: VersionHealth }),
  /** Servers whose configuration was changed outside of Steelyard. */
  drift: z.array(z.object({ node_id: z.uuid(), name: z.string(), since: time })),
})
export type ClusterHealth = z.infer<typeof ClusterHealth>

/**
 * What a control plane is in etcd. `reason`: why no control plane reports the members, else null.
 * `member`: a voter, while the leader is unknown.
 */
export function etcdRole(
  reason: string | null,
  m: EtcdMemberHealth,
): 'unknown' | 'no member' | 'learner' | 'leader' | 'follower' | 'member' {
  if (m.id === null) return reason === null ? 'no member' : 'unknown'
  if (m.learner === true) return 'learner'
  return m.leader === null ? 'member' : m.leader ? 'leader' : 'follower'
}

export const topicTitles: Readonly<Record<HealthTopic, string>> = {
  etcd: 'etcd',
  database: 'etcd database',
  kubernetes_api: 'Kubernetes API',
  nodes: 'Nodes',
  configuration: 'Configuration',
  snapshot: 'Last snapshot',
  talos: 'Talos',
  kubernetes: 'Kubernetes',
}

export const clusterHealth = operation(
  'clusterHealth',
  'GET /v1/clusters/{id}/health',
  'clusters:read',
  {
    summary:
      'The health of a cluster: etcd, Kubernetes API, nodes, snapshot, versions and drift, read now. Takes a few seconds if a machine does not answer.',
    answer: ClusterHealth,
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    ClusterHealth: [
      ClusterHealth,
      'Health of a cluster: etcd, its Kubernetes API, its nodes and its versions.',
    ],
  },
}
