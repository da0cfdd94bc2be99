/**
 * The kinds of findings: what can be wrong with a server, a cluster, a datacenter, a channel or
 * Steelyard itself. One table with the severity, the words of each kind and what mends it.
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
  channel: { read: 'clusters:read', write: 'alerts:manage' },
  /** Steelyard itself. */
  installation: { read: 'users:manage', write: 'users:manage' },
} as const
export type FindingObject = keyof typeof findingObjects

/**
 * Of these objects a finding is silenced only by its object: a silence of everything else must not
 * hide that nobody is told, and not everybody who silences may change Steelyard itself.
 */
export const silencedAlone: readonly FindingObject[] = ['channel', 'installation']

/**
 * What a remedy does or opens. Clients know the page or the command of each (`console`:
 * `layout/findings/`, `cli`: `finding-remedies.ts`).
 */
export const remedyActions = [
  'backups',
  'certificates',
  'channels',
  'confirm',
  'defragment',
  'drift',
  'health',
  'operation',
  'pools',
  'quarantine',
  'replace',
  'restart',
  'restore',
  'resume',
  'roll-out',
  'secrets',
  'server',
  'servers',
  'snapshot',
  'timeline',
] as const
export type RemedyAction = (typeof remedyActions)[number]

/**
 * What mends a finding, or shows more of it: the title of the button and the call of the API. In the
 * call, `{id}` is the object, `{cluster}` its cluster, and `{operation}` the operation that stopped.
 * A remedy whose call names what the finding lacks is left out.
 */
interface Remedy {
  readonly title: string
  readonly action: RemedyAction
  readonly call: string
}

const backups: Remedy = { title: 'Open the backups', action: 'backups', call: 'GET /v1/backups' }

interface Kind {
  readonly object: FindingObject
  readonly severity: FindingSeverity
  /** The first word that is read, in lists and headers. */
  readonly word: string
  /** The name of the kind, in filters. */
  readonly title: string
  readonly remedies: readonly Remedy[]
}

const change = (title: string, action: RemedyAction): Remedy => ({
  title,
  action,
  call: 'POST /v1/clusters/{id}/changes',
})
const health: Remedy = {
  title: 'Open its health',
  action: 'health',
  call: 'GET /v1/clusters/{id}/health',
}
const timeline: Remedy = {
  title: 'Open its timeline',
  action: 'timeline',
  call: 'GET /v1/operations',
}
const ofServer: Remedy = { title: 'Open the server', action: 'server', call: 'GET /v1/nodes/{id}' }
const replace: Remedy = {
  title: 'Replace it',
  action: 'replace',
  call: 'POST /v1/clusters/{cluster}/changes',
}

const quarantine: Remedy = {
  title: 'Put it into quarantine',
  action: 'quarantine',
  call: 'PATCH /v1/nodes/{id}',
}

export const findingKinds = {
  datacenter_silent: {
    object: 'datacenter',
    severity: 'down',
    word: 'Unreachable',
    title: 'Servers of a datacenter silent at once',
    remedies: [
      { title: 'Show the servers', action: 'servers', call: 'GET /v1/findings/{finding}/affected' },
    ],
  },
  cluster_quorum_lost: {
    object: 'cluster',
    severity: 'down',
    word: 'Down',
    title: 'Quorum of etcd lost',
    remedies: [health, change('Restore a snapshot', 'restore')],
  },
  cluster_api_down: {
    object: 'cluster',
    severity: 'down',
    word: 'Down',
    title: 'Kubernetes API down',
    remedies: [health],
  },
  cluster_failed: {
    object: 'cluster',
    severity: 'down',
    word: 'Failed',
    title: 'Cluster failed',
    remedies: [timeline],
  },
  server_failed: {
    object: 'server',
    severity: 'down',
    word: 'Failed',
    title: 'Server failed in its cluster',
    remedies: [ofServer, replace],
  },
  server_unreachable: {
    object: 'server',
    severity: 'down',
    word: 'Unreachable',
    title: 'Server unreachable',
    remedies: [ofServer, replace],
  },
  cluster_locked_out: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Locked out',
    title: 'Certificates refused',
    remedies: [
      { title: 'Import its secrets', action: 'secrets', call: 'POST /v1/clusters/{id}/secrets' },
    ],
  },
  cluster_etcd_corrupt: {
    object: 'cluster',
    severity: 'degraded',
    word: 'etcd corrupt',
    title: 'Members of etcd have different data',
    remedies: [health, change('Restore a snapshot', 'restore')],
  },
  cluster_etcd_full: {
    object: 'cluster',
    severity: 'degraded',
    word: 'etcd full',
    title: 'etcd full',
    remedies: [change('Defragment etcd', 'defragment'), health],
  },
  cluster_etcd_member_ill: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Member of etcd not healthy',
    remedies: [health],
  },
  cluster_api_server_down: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'API server down',
    remedies: [health],
  },
  cluster_nodes_not_ready: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Nodes not Ready',
    remedies: [health],
  },
  cluster_components_down: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Components of the control plane down',
    remedies: [health],
  },
  cluster_former_member: {
    object: 'cluster',
    severity: 'degraded',
    word: 'Degraded',
    title: 'Former server still in etcd or Kubernetes',
    remedies: [health],
  },
  server_etcd_failed: {
    object: 'server',
    severity: 'degraded',
    word: 'etcd failed',
    title: 'etcd failed for good',
    remedies: [
      { title: 'Restart it', action: 'restart', call: 'POST /v1/nodes/{id}/reboot' },
      ofServer,
      replace,
    ],
  },
  server_not_ready: {
    object: 'server',
    severity: 'degraded',
    word: 'Node NotReady',
    title: 'Node not Ready',
    remedies: [ofServer],
  },
  server_in_doubt: {
    object: 'server',
    severity: 'degraded',
    word: 'In doubt',
    title: 'Identity in doubt',
    remedies: [
      { title: 'Confirm the hardware', action: 'confirm', call: 'POST /v1/nodes/{id}/confirm' },
    ],
  },
  server_disk_missing: {
    object: 'server',
    severity: 'degraded',
    word: 'Disk missing',
    title: 'Disk missing',
    remedies: [ofServer, replace, quarantine],
  },
  installation_operation_halted: {
    object: 'installation',
    severity: 'degraded',
    word: 'Halted',
    title: 'Operation that ends Steelyard',
    remedies: [
      { title: 'Resume it', action: 'operation', call: 'POST /v1/operations/{operation}/resume' },
    ],
  },
  cluster_held: {
    object: 'cluster',
    severity: 'attention',
    word: 'Held',
    title: 'Held since a restore',
    remedies: [
      { title: 'Check and resume it', action: 'resume', call: 'POST /v1/clusters/{id}/resume' },
    ],
  },
  installation_backup_failed: {
    object: 'installation',
    severity: 'attention',
    word: 'Backup failed',
    title: 'Backup of Steelyard failed',
    remedies: [backups],
  },
  installation_backup_overdue: {
    object: 'installation',
    severity: 'attention',
    word: 'No backup',
    title: 'Backup of Steelyard overdue',
    remedies: [backups],
  },
  channel_fails: {
    object: 'channel',
    severity: 'attention',
    word: 'Channel fails',
    title: 'Messages not delivered',
    remedies: [{ title: 'Open the channels', action: 'channels', call: 'GET /v1/channels' }],
  },
  channel_gone: {
    object: 'channel',
    severity: 'attention',
    word: 'Receiver gone',
    title: 'Receiver of messages gone',
    remedies: [{ title: 'Open the channels', action: 'channels', call: 'GET /v1/channels' }],
  },
  cluster_upgrade_stopped: {
    object: 'cluster',
    severity: 'attention',
    word: 'Upgrade stopped',
    title: 'Upgrade stopped half way',
    remedies: [
      { title: 'Go on', action: 'operation', call: 'POST /v1/operations/{operation}/retry' },
      timeline,
    ],
  },
  cluster_change_failed: {
    object: 'cluster',
    severity: 'attention',
    word: 'Change failed',
    title: 'Scheduled change failed',
    remedies: [
      { title: 'Try again', action: 'operation', call: 'POST /v1/operations/{operation}/retry' },
      timeline,
    ],
  },
  cluster_etcd_filling: {
    object: 'cluster',
    severity: 'attention',
    word: 'etcd fills up',
    title: 'etcd near its largest size',
    remedies: [change('Defragment etcd', 'defragment'), health],
  },
  cluster_pool_exhausted: {
    object: 'cluster',
    severity: 'attention',
    word: 'No addresses left',
    title: 'Pool of addresses exhausted',
    remedies: [
      { title: 'Assign a subnet', action: 'pools', call: 'PUT /v1/clusters/{id}/subnets' },
    ],
  },
  cluster_snapshot_failed: {
    object: 'cluster',
    severity: 'attention',
    word: 'Snapshot failed',
    title: 'Snapshot failed',
    remedies: [change('Take a snapshot', 'snapshot')],
  },
  cluster_snapshot_overdue: {
    object: 'cluster',
    severity: 'attention',
    word: 'No snapshot',
    title: 'Snapshot overdue',
    remedies: [change('Take a snapshot', 'snapshot')],
  },
  cluster_certificate_ending: {
    object: 'cluster',
    severity: 'attention',
    word: 'Certificate ends',
    title: 'Certificate expires soon',
    remedies: [
      {
        title: 'Look at the certificates',
        action: 'certificates',
        call: 'GET /v1/clusters/{id}/certificates',
      },
    ],
  },
  cluster_version_unsupported: {
    object: 'cluster',
    severity: 'attention',
    word: 'Out of support',
    title: 'Version out of support',
    remedies: [{ ...health, title: 'Upgrade' }],
  },
  cluster_action_fails: {
    object: 'cluster',
    severity: 'attention',
    word: 'Action fails',
    title: 'Action of Steelyard fails',
    remedies: [timeline],
  },
  server_left_behind: {
    object: 'server',
    severity: 'attention',
    word: 'In use',
    title: 'Still runs the configuration of a former cluster',
    remedies: [ofServer],
  },
  server_install_failed: {
    object: 'server',
    severity: 'attention',
    word: 'Install failed',
    title: 'Installations failed',
    remedies: [ofServer, quarantine],
  },
  server_mac_duplicate: {
    object: 'server',
    severity: 'attention',
    word: 'MAC twice',
    title: 'MAC of another server',
    remedies: [ofServer],
  },
  server_address_duplicate: {
    object: 'server',
    severity: 'attention',
    word: 'Address twice',
    title: 'Address of another server',
    remedies: [ofServer],
  },
  server_change_undone: {
    object: 'server',
    severity: 'attention',
    word: 'Change undone',
    title: 'Change of the network undone',
    remedies: [ofServer],
  },
  server_patches_wait: {
    object: 'server',
    severity: 'attention',
    word: 'Patches wait',
    title: 'Patches wait',
    remedies: [ofServer],
  },
  server_shared_patches_behind: {
    object: 'server',
    severity: 'attention',
    word: 'Behind',
    title: 'Shared patches not rolled out',
    remedies: [
      { title: 'Roll out', action: 'roll-out', call: 'GET /v1/nodes/{id}/shared-patches' },
      ofServer,
    ],
  },
  server_drifted: {
    object: 'server',
    severity: 'attention',
    word: 'Changed outside',
    title: 'Configuration changed outside',
    remedies: [
      { title: 'Look at the difference', action: 'drift', call: 'GET /v1/nodes/{id}/drift' },
    ],
  },
} as const satisfies Record<string, Kind>
export type FindingKind = keyof typeof findingKinds

/** All kinds, the worst first. */
export const kindsOfFindings = Object.keys(findingKinds) as FindingKind[]

/** The worst of some findings; null if there is none. */
export const worstOf = <F extends { readonly kind: FindingKind }>(
  findings: Iterable<F | null>,
): F | null => {
  let worst: F | null = null
  for (const one of findings)
    if (one !== null && (worst === null || placeOf(one) < placeOf(worst))) worst = one
  return worst
}
const placeOf = ({ kind }: { readonly kind: FindingKind }): number => kindsOfFindings.indexOf(kind)

const titlesOf = (isShown: (of: FindingObject) => boolean) =>
  Object.fromEntries(
    kindsOfFindings.flatMap((kind) =>
      isShown(findingKinds[kind].object) ? [[kind, findingKinds[kind].title]] : [],
    ),
  ) as Readonly<Record<FindingKind, string>>
/** The titles of the kinds that a server shows: its own, and those about several servers. */
export const serverFindingTitles = titlesOf((of) => of === 'server' || of === 'datacenter')
/** The titles of the kinds that a cluster shows. */
export const clusterFindingTitles = titlesOf((of) => of === 'cluster')
