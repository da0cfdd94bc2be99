/**
 * The kinds of findings: what can be wrong with a server, a cluster or a datacenter. One table with
 * the severity, the words of each kind and what mends it.
 */

/**
 * `down`: it serves nobody. `degraded`: it serves, with less than it should. `attention`: it serves,
 * and somebody should act in time. The worst comes first.
 */
export const findingSeverities = ['down', 'degraded', 'attention'] as const
export type FindingSeverity = (typeof findingSeverities)[number]

/** Kinds of objects that have findings, with the scope that reads them and the one that writes. */
export const findingObjects = {
  server: { read: 'servers:read', write: 'servers:write' },
  cluster: { read: 'clusters:read', write: 'clusters:write' },
  datacenter: { read: 'datacenters:read', write: 'datacenters:write' },
} as const
export type FindingObject = keyof typeof findingObjects

/**
 * What mends a finding: the title of the button, and the call of the API. In the call, `{id}` is the
 * object, `{cluster}` its cluster, and `{operation}` the operation that stopped.
 */
interface Remedy {
  readonly title: string
  readonly call: string
}

interface Kind {
  readonly object: FindingObject
  readonly severity: FindingSeverity
  /** The first word that is read, in lists and headers. */
  readonly word: string
  /** The name of the kind, in filters. */
  readonly title: string
  readonly remedies: readonly Remedy[]
}

const change = (title: string): Remedy => ({ title, call: 'POST /v1/clusters/{id}/changes' })
const drift: Remedy = { title: 'Look at the difference', call: 'GET /v1/nodes/{id}/drift' }

export const findingKinds = {
  datacenter_silent: {
    object: 'datacenter',
    severity: 'down',
    word: 'Unreachable',
    title: 'Servers of a datacenter silent at once',
    remedies: [],
  },
  cluster_quorum_lost: {
    object: 'cluster',
    severity: 'down',
    word: 'Down',
    title: 'Quorum of etcd lost',
    remedies: [],
  },
  cluster_api_down: {
    object: 'cluster',
    severity: 'down',
    word: 'Down',
    title: 'Kubernetes API down',
    remedies: [],
  },
  cluster_failed: {
    object: 'cluster',
    severity: 'down',
    word: 'Failed',
    title: 'Cluster failed',
    remedies: [],
  },
  server_failed: {
    object: 'server',
    severity: 'down',
    word: 'Failed',
    title: 'Server failed in its cluster',
    remedies: [],
  },
  server_unreachable: {
    object: 'server',
    severity: 'down',
    word: 'Unreachable',
    title: 'Server unreachable',
    remedies: [],
  },
  cluster_locked_out: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Locked out',
    title: 'Certificates refused',
    remedies: [{ title: 'Import its secrets', call: 'POST /v1/clusters/{id}/secrets' }],
  },
  cluster_nodes_not_ready: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Nodes not Ready',
    remedies: [],
  },
  cluster_components_down: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Components of the control plane down',
    remedies: [],
  },
  cluster_former_member: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Former server still in etcd or Kubernetes',
    remedies: [],
  },
  server_not_ready: {
    object: 'server',
    severity: 'degraded',
    word: 'Node NotReady',
    title: 'Node not Ready',
    remedies: [],
  },
  server_in_doubt: {
    object: 'server',
    severity: 'degraded',
    word: 'In doubt',
    title: 'Identity in doubt',
    remedies: [{ title: 'Confirm the hardware', call: 'POST /v1/nodes/{id}/confirm' }],
  },
  cluster_upgrade_stopped: {
    object: 'cluster',
    severity: 'attention',
    word: 'Upgrade stopped',
    title: 'Upgrade stopped half way',
    remedies: [{ title: 'Go on', call: 'POST /v1/operations/{operation}/retry' }],
  },
  cluster_snapshot_failed: {
    object: 'cluster',
    severity: 'attention',
    word: 'Snapshot failed',
    title: 'Snapshot failed',
    remedies: [change('Take a snapshot')],
  },
  cluster_snapshot_overdue: {
    object: 'cluster',
    severity: 'attention',
    word: 'No snapshot',
    title: 'Snapshot overdue',
    remedies: [change('Take a snapshot')],
  },
  cluster_certificate_ending: {
    object: 'cluster',
    severity: 'attention',
    word: 'Certificate ends',
    title: 'Certificate expires soon',
    remedies: [],
  },
  cluster_version_unsupported: {
    object: 'cluster',
    severity: 'attention',
    word: 'Out of support',
    title: 'Version out of support',
    remedies: [change('Upgrade')],
  },
  cluster_action_fails: {
    object: 'cluster',
    severity: 'attention',
    word: 'Action fails',
    title: 'Action of Steelyard fails',
    remedies: [],
  },
  server_left_behind: {
    object: 'server',
    severity: 'attention',
    word: 'In use',
    title: 'Still runs the configuration of a former cluster',
    remedies: [],
  },
  server_change_undone: {
    object: 'server',
    severity: 'attention',
    word: 'Change undone',
    title: 'Change of the network undone',
    remedies: [],
  },
  server_patches_wait: {
    object: 'server',
    severity: 'attention',
    word: 'Patches wait',
    title: 'Patches wait',
    remedies: [],
  },
  server_drifted: {
    object: 'server',
    severity: 'attention',
    word: 'Changed outside',
    title: 'Configuration changed outside',
    remedies: [drift],
  },
} as const satisfies Record<string, Kind>
export type FindingKind = keyof typeof findingKinds

/** All kinds, the worst first. */
export const kindsOfFindings = Object.keys(findingKinds) as FindingKind[]
