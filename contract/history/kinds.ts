/**
 * The kinds of entries of the history: what happened to servers, clusters and datacenters. One
 * table with the words of each kind, and the state that the entries record: from them alone the
 * state of every server and cluster at any time can be computed.
 */
import { findingKinds } from '../findings/kinds.ts'
import { kindTitles, type OperationKind } from '../operations.ts'
import { changedLabels } from '../labels/changed.ts'
import type { Labels } from '../labels/selector.ts'
import { stageSaid } from '../servers/server.ts'
import type { HistoryKind, HistoryObject } from './kind-names.ts'

/** Values before or after a change, by field. Never a secret. */
export type HistoryValues = Readonly<Record<string, unknown>>

/** What is known of a server at one time. Null: unknown, or none. */
export interface ServerState {
  readonly name: string
  readonly status: 'ready' | 'maintenance' | 'deleted'
  readonly address: string
  readonly datacenter: string | null
  /** Where it stands: rack and units. */
  readonly placement: string | null
  readonly cluster: { readonly id: string; readonly name: string } | null
  readonly role: 'unknown' | 'control_plane' | 'worker'
  /** Whether it answers. */
  readonly reachable: boolean | null
  readonly stage: string
  readonly node_ready: boolean | null
  readonly identity: string
  readonly talos_version: string | null
  readonly schematic: string | null
  readonly uuid: string | null
  readonly serial: string | null
  readonly maker: string | null
  readonly model: string | null
  /** Sums over its hardware; sizes in bytes. */
  readonly capacity: {
    readonly cores: number | null
    readonly memory_bytes: number | null
    readonly disk_bytes: number | null
  } | null
  /** One text for each processor, memory module, disk and network card. */
  readonly hardware: readonly string[] | null
  /** Network cards that have a carrier. */
  readonly links_up: readonly string[] | null
  /** Addresses that the server has, beside the one by which it is contacted. */
  readonly addresses: readonly string[] | null
  /** Whether its configuration was changed outside of Steelyard. */
  readonly drifted: boolean
  readonly failure: string | null
  readonly labels: Labels
  /** Why it is not to be used. */
  readonly quarantine: string | null
}

/** What is known of a cluster at one time. */
export interface ClusterState {
  readonly name: string
  readonly removed: boolean
  readonly status: string
  readonly problem: string | null
  readonly locked_out: string | null
  readonly talos_version: string
  readonly kubernetes_version: string
  readonly endpoint: string
  readonly labels: Labels
}

interface Kind {
  readonly of: HistoryObject | 'any'
  /** The name of the kind, in filters. */
  readonly title: string
  /** What happened, from the values before and after. */
  readonly says: (after: HistoryValues, before: HistoryValues) => string
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown'
/** ": reason", or nothing. */
const because = ({ reason }: HistoryValues): string =>
  typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
const words = (value: unknown): string => text(value).replaceAll('_', ' ')
const moved = (what: string, from: unknown, to: unknown): string =>
  from === undefined || from === null
    ? `${what} is ${text(to)}`
    : `${what} changed from ${text(from)} to ${text(to)}`
const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? (value as readonly string[]) : []
/** "Added: a, b. Removed: c." */
function exchanged(what: string, after: unknown, before: unknown): string {
  const [now, then] = [listOf(after), listOf(before)]
  const added = now.filter((part) => !then.includes(part))
  const gone = then.filter((part) => !now.includes(part))
  if (before === null || before === undefined) return `${what} read for the first time`
  if (after === null) return `${what} unknown`
  return [
    ...(added.length > 0 ? [`${what} added: ${added.join(', ')}`] : []),
    ...(gone.length > 0 ? [`${what} removed: ${gone.join(', ')}`] : []),
  ].join('; ')
}
const nameOf = (cluster: unknown): string | null =>
  typeof cluster === 'object' && cluster !== null && 'name' in cluster ? text(cluster.name) : null
const findingTitle = ({ finding }: HistoryValues): string =>
  findingKinds[finding as keyof typeof findingKinds]?.title ?? words(finding)
const operationTitle = ({ operation, what }: HistoryValues): string =>
  `${kindTitles[operation as OperationKind] ?? text(operation)}${typeof what === 'string' ? ` ${what}` : ''}`
const round = ({ round: n }: HistoryValues): string =>
  typeof n === 'number' && n > 1 ? `, attempt ${n}` : ''

export const historyKinds = {
  server_added: {
    of: 'server',
    title: 'Server added',
    says: ({ address }) => `Added at ${text(address)}`,
  },
  server_removed: { of: 'server', title: 'Server removed', says: () => 'Removed' },
  server_renamed: {
    of: 'server',
    title: 'Renamed',
    says: ({ name }, before) => moved('Its name', before['name'], name),
  },
  server_address: {
    of: 'server',
    title: 'Address',
    says: (after, before) =>
      after['address'] === undefined
        ? exchanged('Address', after['addresses'], before['addresses'])
        : moved('Its address', before['address'], after['address']),
  },
  server_place: {
    of: 'server',
    title: 'Datacenter',
    says: ({ datacenter }, before) =>
      datacenter === null
        ? `Left the datacenter ${text(before['datacenter'])}`
        : moved('Its datacenter', before['datacenter'], datacenter),
  },
  server_rack: {
    of: 'server',
    title: 'Rack',
    says: ({ placement }, before) =>
      placement === null
        ? `Taken out of its rack: it was at ${text(before['placement'])}`
        : moved('Its place in the racks', before['placement'], placement),
  },
  server_contact: {
    of: 'server',
    title: 'Contact',
    says: (after) =>
      after['reachable'] === true
        ? 'Answers'
        : after['reachable'] === false
          ? `No answer${because(after)}`
          : 'Not contacted yet',
  },
  server_stage: {
    of: 'server',
    title: 'Stage',
    says: ({ stage }) => `Is ${stageSaid(text(stage))}`,
  },
  server_membership: {
    of: 'server',
    title: 'Membership',
    says: (after, before) => {
      const [to, from] = [nameOf(after['cluster']), nameOf(before['cluster'])]
      const role = after['role'] === undefined ? '' : ` as ${words(after['role'])}`
      if (to !== null) return `Assigned to the cluster ${to}${role}`
      if (from !== null) return `Left the cluster ${from}`
      if (after['role'] !== undefined)
        return moved('Its role', words(before['role']), words(after['role']))
      return after['status'] === 'ready'
        ? "Runs its cluster's configuration"
        : `Is ${words(after['status'])}`
    },
  },
  server_joined: {
    of: 'server',
    title: 'Joined its cluster',
    says: ({ role }) => `Joined its cluster as ${words(role)}: its node is Ready`,
  },
  server_node: {
    of: 'server',
    title: 'Node',
    says: (after) =>
      after['node_ready'] === true
        ? 'Its node is Ready'
        : after['node_ready'] === false
          ? `Its node is not Ready${because(after)}`
          : 'Its node is unknown',
  },
  server_identity: {
    of: 'server',
    title: 'Identity',
    says: (after, before) =>
      after['identity'] === 'changed'
        ? 'Other hardware answered at its address'
        : after['identity'] !== undefined
          ? `Its identity is ${words(after['identity'])}`
          : after['serial'] === undefined
            ? moved('Its UUID', before['uuid'], after['uuid'])
            : moved('Its serial number', before['serial'], after['serial']),
  },
  server_version: {
    of: 'server',
    title: 'Talos version of a server',
    says: (after, before) =>
      after['talos_version'] === undefined
        ? 'Its Talos image changed'
        : after['talos_version'] === null
          ? 'Its Talos version is unknown'
          : moved('Talos', before['talos_version'], after['talos_version']),
  },
  server_hardware: {
    of: 'server',
    title: 'Hardware',
    says: (after, before) =>
      after['hardware'] !== undefined
        ? exchanged('Hardware', after['hardware'], before['hardware'])
        : after['links_up'] === undefined
          ? (['maker', 'model', 'capacity'] as const)
              .filter((key) => after[key] !== undefined)
              .map((key) =>
                key === 'capacity'
                  ? 'Its capacity was read anew'
                  : moved(`Its ${key}`, before[key], after[key]),
              )
              .join('; ')
          : exchanged('Link', after['links_up'], before['links_up'])
              .replace('Link added', 'Link up')
              .replace('Link removed', 'Link down'),
  },
  server_drift: {
    of: 'server',
    title: 'Changed outside',
    says: ({ drifted }) =>
      drifted === true
        ? 'Its configuration was changed outside of Steelyard'
        : 'Its configuration is as wanted again',
  },
  server_failure: {
    of: 'server',
    title: 'Failure',
    says: ({ failure }) =>
      failure === null ? 'Has no failure any more' : `Failed: ${text(failure)}`,
  },
  server_boot: {
    of: 'server',
    title: 'Failing boot',
    // A boot is one of the attempts to install Talos; an upgrade may fail without any.
    says: (after) =>
      `The last lines of ${after['attempt'] === undefined ? 'its log' : 'a failing boot'} were kept${because(after)}`,
  },
  server_labels: {
    of: 'server',
    title: 'Labels of a server',
    says: ({ labels }, before) => `Labels: ${changedLabels(before['labels'], labels)}`,
  },
  server_quarantine: {
    of: 'server',
    title: 'Quarantine',
    says: ({ quarantine }) =>
      quarantine === null ? 'Its quarantine was lifted' : `In quarantine: ${text(quarantine)}`,
  },
  cluster_added: {
    of: 'cluster',
    title: 'Cluster added',
    says: ({ kubernetes_version, talos_version }) =>
      `Added with Kubernetes ${text(kubernetes_version)} on Talos ${text(talos_version)}`,
  },
  cluster_removed: { of: 'cluster', title: 'Cluster removed', says: () => 'Removed' },
  cluster_status: {
    of: 'cluster',
    title: 'Status of a cluster',
    says: (after, before) =>
      after['status'] === undefined
        ? after['locked_out'] !== undefined && after['locked_out'] !== null
          ? 'It refuses the certificates of Steelyard'
          : after['problem'] === undefined || after['problem'] === null
            ? 'It has no problem any more'
            : `Its problem: ${words(after['problem'])}${because(after)}`
        : `${moved('Its status', before['status'], words(after['status']))}${because(after)}`,
  },
  cluster_version: {
    of: 'cluster',
    title: 'Versions of a cluster',
    says: (after, before) =>
      (['kubernetes_version', 'talos_version'] as const)
        .filter((key) => after[key] !== undefined)
        .map((key) =>
          moved(
            key === 'kubernetes_version' ? 'Its Kubernetes' : 'Its Talos',
            before[key],
            after[key],
          ),
        )
        .join('; '),
  },
  cluster_endpoint: {
    of: 'cluster',
    title: 'Endpoint',
    says: (after, before) =>
      after['endpoint'] === undefined
        ? moved('Its name', before['name'], after['name'])
        : moved('Its endpoint', before['endpoint'], after['endpoint']),
  },
  cluster_labels: {
    of: 'cluster',
    title: 'Labels of a cluster',
    says: ({ labels }, before) => `Labels: ${changedLabels(before['labels'], labels)}`,
  },
  finding_began: {
    of: 'any',
    title: 'Finding began',
    says: (after) => `${findingTitle(after)} began${because(after)}`,
  },
  finding_ended: {
    of: 'any',
    title: 'Finding ended',
    says: (after) => `${findingTitle(after)} ended`,
  },
  patch_added: {
    of: 'server',
    title: 'Patch added',
    says: ({ patch }) => `The patch ${text(patch)} was added`,
  },
  patch_changed: {
    of: 'server',
    title: 'Patch changed',
    says: ({ patch }) => `The patch ${text(patch)} was changed`,
  },
  patch_removed: {
    of: 'server',
    title: 'Patch removed',
    says: ({ patch }) => `The patch ${text(patch)} was removed`,
  },
  operation_requested: {
    of: 'any',
    title: 'Operation requested',
    says: (after) => `${operationTitle(after)} was requested`,
  },
  operation_attempt: {
    of: 'any',
    title: 'Attempt of a step',
    says: (after) =>
      `${text(after['step'])}: attempt ${text(after['attempt'])} ${after['outcome'] === 'done' ? 'succeeded' : 'failed'}${because(after)}`,
  },
  operation_ended: {
    of: 'any',
    title: 'Operation ended',
    says: (after) =>
      `${operationTitle(after)}${round(after)} ${after['status'] === 'done' ? 'is done' : after['status'] === 'cancelled' ? 'was cancelled' : 'failed'}${because(after)}`,
  },
  operation_retried: {
    of: 'any',
    title: 'Operation retried',
    says: (after) => `${operationTitle(after)} was tried again${round(after)}`,
  },
  restored: {
    of: 'any',
    title: 'Restored',
    says: () =>
      'The database was restored to an older state; the state is unknown until the next contact',
  },
} as const satisfies Record<HistoryKind, Kind>

/** The kind of the entry that records a change of each field of the state. */
export const kindsOfState = {
  server: {
    name: 'server_renamed',
    status: 'server_membership',
    address: 'server_address',
    datacenter: 'server_place',
    placement: 'server_rack',
    cluster: 'server_membership',
    role: 'server_membership',
    reachable: 'server_contact',
    stage: 'server_stage',
    node_ready: 'server_node',
    identity: 'server_identity',
    talos_version: 'server_version',
    schematic: 'server_version',
    uuid: 'server_identity',
    serial: 'server_identity',
    maker: 'server_hardware',
    model: 'server_hardware',
    capacity: 'server_hardware',
    hardware: 'server_hardware',
    links_up: 'server_hardware',
    addresses: 'server_address',
    drifted: 'server_drift',
    failure: 'server_failure',
    labels: 'server_labels',
    quarantine: 'server_quarantine',
  },
  cluster: {
    name: 'cluster_endpoint',
    removed: 'cluster_removed',
    status: 'cluster_status',
    problem: 'cluster_status',
    locked_out: 'cluster_status',
    talos_version: 'cluster_version',
    kubernetes_version: 'cluster_version',
    endpoint: 'cluster_endpoint',
    labels: 'cluster_labels',
  },
} as const satisfies {
  readonly server: Readonly<Record<keyof ServerState, HistoryKind>>
  readonly cluster: Readonly<Record<keyof ClusterState, HistoryKind>>
}
