/**
 * What an incident takes from people: one table with the effect and the title of every kind of
 * finding. An incident's effect is the worst of its parts, and its severity follows from it.
 */
import type { FindingKind, FindingSeverity } from '../findings/kinds.ts'

/** The effects, the worst first, each with its severity and its words. */
export const effects = {
  nobody_served: { severity: 'down', title: 'Nobody is served' },
  writes_refused: { severity: 'down', title: 'Writes are refused' },
  redundancy_gone: { severity: 'degraded', title: 'Redundancy is gone' },
  one_server: { severity: 'degraded', title: 'One server is affected' },
  in_time: { severity: 'attention', title: 'Somebody should act in time' },
} as const satisfies Record<string, { readonly severity: FindingSeverity; readonly title: string }>
export type Effect = keyof typeof effects
export const effectsInOrder = Object.keys(effects) as Effect[]

const placeOf = (effect: Effect): number => effectsInOrder.indexOf(effect)
/** Whether the first effect is worse than the second. */
export const isWorse = (one: Effect, other: Effect): boolean => placeOf(one) < placeOf(other)

interface OfKind {
  readonly effect: Effect
  /** The effect if the server is a control plane: etcd and the API lose a member. */
  readonly ofControlPlane?: Effect
  /** `{name}` is the object, `{count}` the servers that the finding concerns. */
  readonly title: string
  /**
   * The title of an incident with several findings of the kind and one cause. `{cause}` is the cause.
   */
  readonly several?: string
}

const table: Readonly<Record<FindingKind, OfKind>> = {
  // What else its servers take with them is said by findings about their clusters.
  datacenter_silent: { effect: 'redundancy_gone', title: '{count} of {name} do not answer' },
  cluster_quorum_lost: {
    effect: 'nobody_served',
    title: '{name} has lost the majority of its control planes',
  },
  cluster_api_down: {
    effect: 'nobody_served',
    title: 'The Kubernetes API of {name} does not answer',
  },
  cluster_failed: { effect: 'nobody_served', title: '{name} failed' },
  server_failed: {
    effect: 'one_server',
    ofControlPlane: 'redundancy_gone',
    title: '{name} failed in its cluster',
  },
  server_unreachable: {
    effect: 'one_server',
    ofControlPlane: 'redundancy_gone',
    title: '{name} does not answer',
  },
  // The cluster serves; only Steelyard is refused.
  cluster_locked_out: { effect: 'in_time', title: '{name} refuses the certificates of Steelyard' },
  cluster_etcd_corrupt: {
    effect: 'redundancy_gone',
    title: 'Members of etcd of {name} have different data',
  },
  cluster_etcd_full: { effect: 'writes_refused', title: '{name} refuses writes' },
  cluster_etcd_member_ill: {
    effect: 'redundancy_gone',
    title: 'A member of etcd of {name} is not healthy',
  },
  cluster_api_server_down: { effect: 'redundancy_gone', title: 'An API server of {name} is down' },
  cluster_nodes_not_ready: { effect: 'one_server', title: 'Nodes of {name} are not Ready' },
  cluster_components_down: {
    effect: 'redundancy_gone',
    title: 'Components of the control plane of {name} are down',
  },
  cluster_former_member: {
    effect: 'in_time',
    title: 'A former server is still in etcd or Kubernetes of {name}',
  },
  server_etcd_failed: {
    effect: 'redundancy_gone',
    title: 'etcd of {name} has failed for good',
  },
  server_not_ready: { effect: 'one_server', title: 'The node {name} is not Ready' },
  server_in_doubt: { effect: 'one_server', title: 'The identity of {name} is in doubt' },
  server_disk_missing: { effect: 'one_server', title: '{name} lacks a disk' },
  installation_operation_halted: {
    effect: 'in_time',
    title: 'An operation ends Steelyard again and again',
  },
  cluster_held: { effect: 'in_time', title: '{name} is held since a restore' },
  installation_backup_failed: { effect: 'in_time', title: 'A backup of Steelyard failed' },
  installation_backup_overdue: { effect: 'in_time', title: 'A backup of Steelyard is overdue' },
  channel_fails: { effect: 'in_time', title: 'Messages to {name} are not delivered' },
  channel_gone: { effect: 'in_time', title: 'The receiver of {name} is gone' },
  cluster_upgrade_stopped: { effect: 'in_time', title: 'An upgrade of {name} stopped half way' },
  cluster_change_failed: { effect: 'in_time', title: 'A scheduled change of {name} failed' },
  cluster_etcd_filling: { effect: 'in_time', title: 'etcd of {name} fills up' },
  cluster_pool_exhausted: { effect: 'in_time', title: '{name} has no addresses left' },
  cluster_snapshot_failed: { effect: 'in_time', title: 'A snapshot of {name} failed' },
  cluster_snapshot_overdue: { effect: 'in_time', title: '{name} has no recent snapshot' },
  cluster_certificate_ending: { effect: 'in_time', title: 'Certificates of {name} expire soon' },
  cluster_version_unsupported: {
    effect: 'in_time',
    title: '{name} runs a version out of support',
  },
  cluster_action_fails: { effect: 'in_time', title: 'An action of Steelyard on {name} fails' },
  server_left_behind: {
    effect: 'in_time',
    title: '{name} still runs the configuration of a former cluster',
  },
  server_install_failed: { effect: 'one_server', title: '{name} can not be installed' },
  server_mac_duplicate: { effect: 'in_time', title: '{name} has a MAC of another server' },
  server_address_duplicate: { effect: 'in_time', title: '{name} has an address of another server' },
  server_change_undone: {
    effect: 'in_time',
    title: 'A change of the network of {name} was undone',
  },
  server_patches_wait: { effect: 'in_time', title: 'Patches of {name} wait' },
  server_shared_patches_behind: {
    effect: 'in_time',
    title: '{name} is behind a shared patch',
    several: '{count} are behind the shared patch {cause}',
  },
  server_drifted: { effect: 'in_time', title: '{name} was changed outside of Steelyard' },
}

/** What a finding takes. The only place that says so. */
export function effectOf({
  kind,
  isControlPlane,
}: {
  readonly kind: FindingKind
  /** Its object is a server that is a control plane of a cluster. */
  readonly isControlPlane: boolean
}): Effect {
  const { effect, ofControlPlane } = table[kind]
  return isControlPlane ? (ofControlPlane ?? effect) : effect
}

/**
 * The title of an incident: subject first, without a full stop.
 * @param count servers of one cause, such as "40 servers"
 * @param cause name of what several findings have as their cause
 */
export function incidentTitle({
  kind,
  name,
  count,
  cause,
}: {
  readonly kind: FindingKind
  readonly name: string
  readonly count: string
  readonly cause: string | null
}): string {
  const { title, several } = table[kind]
  const words = { name, count, cause: cause ?? '' }
  return (cause !== null && several !== undefined ? several : title).replaceAll(
    /\{(name|count|cause)\}/g,
    (_, word: keyof typeof words) => words[word],
  )
}
