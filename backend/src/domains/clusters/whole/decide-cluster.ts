/**
 * Decides a cluster's next action, and its status with the reason: pure functions of the stored
 * state. The actions of single servers are decided in `decide-server.ts`, so a slow server delays
 * only the steps that depend on it.
 */
import type { ClusterStatus } from '#contract/clusters/clusters.ts'
import { joined, listed } from '../../../sentences.ts'
import type { MemberRow, State } from '../store.ts'

export type ClusterAct =
  | 'forget'
  | 'secrets'
  | 'escrow'
  /** No control plane answers yet. */
  | 'wait-control-plane'
  | 'bootstrap'
  | 'check-control-plane'
  | 'check-nodes'
  | 'key'
  | 'access'
  | 'watch'
  | 'wait-release'

export function decideCluster({ row, members, bootstrap, hasBundle }: State): ClusterAct {
  if (row.wanted === 'removed')
    return row.forced || members.every((m) => m.released_at !== null) ? 'forget' : 'wait-release'
  if (!hasBundle) return 'secrets'
  if (row.escrowed_at === null) return 'escrow'
  // A cluster that was taken over is ready already, although it doesn't have Steelyard's key yet.
  if (row.ready_at === null) {
    if (bootstrap === undefined)
      return members.some(couldBootstrap) ? 'bootstrap' : 'wait-control-plane'
    if (bootstrap.confirmed_at === null) return 'bootstrap'
    if (row.control_plane_at === null) return 'check-control-plane'
    if (row.nodes_ready_at === null) return 'check-nodes'
  }
  if (row.key_applied_at === null) return 'key'
  return row.access_applied_at === null ? 'access' : 'watch'
}

const couldBootstrap = (m: MemberRow): boolean =>
  m.role === 'control_plane' && m.wanted === 'joined' && m.secured_at !== null

/** The control plane for the bootstrap: the first by position that answers and has not failed. */
export const chooseForBootstrap = (members: readonly MemberRow[]): MemberRow | undefined =>
  members
    .filter((m) => couldBootstrap(m) && m.failed_at === null)
    .toSorted((a, b) => a.position - b.position)[0]

/**
 * Why a leaving server has to wait, or null. Workers go first, all at once; then control planes,
 * one by one from the last to the first, if etcd was started.
 */
export function waitTurn(
  member: MemberRow,
  { row, members, bootstrap }: Pick<State, 'row' | 'members' | 'bootstrap'>,
): string | null {
  if (row.wanted === 'ready' || member.role === 'worker') return null
  const staying = members.filter(
    (m) => m.released_at === null && m.send_intent_at !== null && m.node_id !== member.node_id,
  )
  const workers = staying.filter((m) => m.role === 'worker')
  if (workers.length > 0) return `Workers first: ${names(workers)}`
  if (bootstrap === undefined) return null
  const before = staying.filter((m) => m.role === 'control_plane' && m.position > member.position)
  return before.length > 0 ? `Control planes leave etcd one by one: ${names(before)} first` : null
}

/**
 * Failed members that block the cluster. Servers that were replaced during a creation don't block
 * it.
 */
const failedOf = ({ row, members }: State): MemberRow[] =>
  members.filter(
    (m) =>
      m.failed_at !== null &&
      m.released_at === null &&
      (row.wanted === 'removed' || m.wanted === 'joined'),
  )

/**
 * Whether the creation is stuck: a server failed, and no other server can get any further without
 * it.
 */
export function isStuck(state: State): boolean {
  const { row, members, bootstrap } = state
  const failed = failedOf(state)
  if (failed.length === 0) return false
  if (row.wanted === 'removed')
    return members.every(
      (m) => m.released_at !== null || m.failed_at !== null || waitTurn(m, state) !== null,
    )
  const others = members.filter((m) => m.wanted === 'joined' && m.failed_at === null)
  const isSettled = (m: MemberRow) =>
    row.control_plane_at !== null
      ? m.node_ready_at !== null
      : m.role === 'worker'
        ? m.at === 'apply'
        : m.secured_at !== null
  // If there is no control plane for the bootstrap, or the chosen one failed, no other server can
  // continue.
  const isUnconfirmed = bootstrap === undefined || bootstrap.confirmed_at === null
  const chosenFailed = isUnconfirmed && failed.some((m) => m.node_id === bootstrap?.node_id)
  if (
    row.control_plane_at === null &&
    isUnconfirmed &&
    !chosenFailed &&
    others.some(couldBootstrap)
  )
    return false
  return others.every(isSettled)
}

const names = (members: readonly Pick<MemberRow, 'name'>[]) => listed(members.map((m) => m.name))

/** A sentence about the servers that a deletion waits for, or null. */
export const waitingForMembers = (left: readonly Pick<MemberRow, 'name'>[]): string | null =>
  left.length > 0 ? `Waiting for ${names(left)} to be back in maintenance` : null

/** Why a member failed, with its name. */
const failureOf = ({ name, failure }: MemberRow): string =>
  failure !== null && ` ${failure}`.includes(` ${name} `)
    ? failure
    : `${name}: ${failure ?? 'it failed'}`

/** A sentence about servers that are being installed, with the failures that are known of them. */
function withTroubles(sentence: string, servers: readonly MemberRow[]): string {
  const told = servers.filter((m) => m.trouble !== null)
  const [only] = servers.length === 1 ? told : []
  return only
    ? `${sentence}: ${only.trouble}`
    : joined([sentence, ...told.map((m) => `${m.name}: ${m.trouble}`)])
}

/** The cluster's status, and a sentence about what the cluster waits for. */
export function describe(state: State): { status: ClusterStatus; reason: string | null } {
  const { row, members, bootstrap, hasBundle } = state
  const [failed] = failedOf(state)
  if (row.wanted === 'removed')
    return {
      status: 'deleting',
      reason: failed
        ? failureOf(failed)
        : waitingForMembers(members.filter((m) => m.released_at === null)),
    }
  if (failed && isStuck(state)) return { status: 'failed', reason: failureOf(failed) }
  if (!hasBundle || row.escrowed_at === null)
    return { status: 'pending', reason: 'Making certificates and keys' }
  const joined = members.filter((m) => m.wanted === 'joined' && m.failed_at === null)
  const unsecured = joined.filter((m) => m.role === 'control_plane' && m.secured_at === null)
  if (!bootstrap) {
    const unsent = unsecured.filter((m) => m.send_intent_at === null)
    if (unsent.length > 0 && unsent.length === unsecured.length)
      return {
        status: 'configuring',
        reason: `Sending ${names(unsent)} ${unsent.length === 1 ? 'its' : 'their'} configuration`,
      }
    if (unsecured.length === 0)
      return {
        status: 'bootstrapping',
        reason: 'Choosing the control plane that etcd is started on',
      }
    return {
      status: 'installing',
      reason: withTroubles(`Waiting for ${names(unsecured)} to install and restart`, unsecured),
    }
  }
  if (bootstrap.confirmed_at === null)
    return {
      status: 'bootstrapping',
      reason: `Starting etcd on ${joined.find((m) => m.node_id === bootstrap.node_id)?.name ?? 'the first control plane'}`,
    }
  if (row.control_plane_at === null)
    return {
      status: 'bootstrapping',
      reason: 'Waiting for etcd, trustd and the Kubernetes API to be healthy',
    }
  const late = joined.filter((m) => m.node_ready_at === null)
  if (row.nodes_ready_at === null) {
    const installing = late.filter((m) => m.secured_at === null)
    if (installing.length > 0)
      return {
        status: 'installing',
        reason: withTroubles(`Waiting for ${names(installing)} to install`, installing),
      }
    return {
      status: 'bootstrapping',
      reason:
        late.length > 0
          ? `Waiting for ${names(late)} to be Ready in Kubernetes`
          : 'Waiting for Kubernetes',
    }
  }
  return {
    status: 'bootstrapping',
    reason:
      row.key_applied_at === null
        ? 'Putting the cluster key into the cluster'
        : 'Giving operators access',
  }
}
