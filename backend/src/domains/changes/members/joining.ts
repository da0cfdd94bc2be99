/**
 * Steps of a server that joins a running cluster. The server's own reconciler (`member/`) does the
 * work; the change starts it and follows its progress.
 */
import { joiningSteps } from '#contract/clusters/steps.ts'
import { system } from '../../../http/caller.ts'
import type { Tx } from '../../../db/db.ts'
import type { Place } from '../../../db/columns.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { etcdMembers, isWanted, namesLeaving, touching } from '../../control-planes/api.ts'
import {
  clusterRows,
  lateReason,
  memberKey,
  memberQueue,
  type MemberRow,
  placesOf,
} from '../../clusters/api.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  kubernetes,
  prefixOf,
  type StepAt,
  type StepResult,
  viewOf,
  write,
} from '../frame.ts'

/** Polling interval in ms while a server's own reconciler works. */
export const followMs = 500

/** The current row of a step's server; undefined if it is gone. */
export const rowOf = (turn: ChangeTurn, nodeId: string): MemberRow | undefined =>
  turn.state.members.find((m) => m.node_id === nodeId)

/**
 * Waits with the reason that the server's own reconciler has written to the step, by default
 * `other`.
 */
export const followed = ({ step }: StepAt, other: string) => ({
  waiting: step.reason ?? other,
  againMs: followMs,
})

/**
 * Whether the server has failed since this attempt of the step began. An earlier failure is the one
 * that a user has just retried.
 */
export const hasFailedNow = ({ step }: StepAt, m: MemberRow): boolean =>
  m.failed_at !== null &&
  step.started_at !== null &&
  Date.parse(step.started_at) <= m.failed_at.getTime()

/** Wakes the server's own reconciler after a change of its row. */
export async function wakeMember({ parts }: ChangeTurn, tx: Tx, m: MemberRow): Promise<void> {
  await parts.engine.wake(tx, memberQueue, memberKey(m.cluster_id, m.node_id))
}

/** Starts servers that wait for their turn: a control plane alone, workers together. */
const letIn = (turn: ChangeTurn, m: MemberRow, together: ReadonlySet<string>): Promise<void> =>
  write(turn, async (tx) => {
    const members = await clusterRows.members(tx, m.cluster_id)
    const turned = members.filter(
      (one) =>
        one.waits &&
        (one.node_id === m.node_id ||
          (m.role === 'worker' && one.role === 'worker' && together.has(one.node_id))),
    )
    for (const one of turned) {
      await clusterRows.updateMember(tx, one.cluster_id, one.node_id, {
        waits: false,
        at_since: new Date(turn.job.now()),
      })
      await wakeMember(turn, tx, one)
    }
  })

/**
 * Clears a failure and the observations before it, which are out of date, as the retry of a
 * creation does.
 */
const beginAgain = (turn: ChangeTurn, m: MemberRow): Promise<void> =>
  write(turn, async (tx) => {
    await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
      failed_at: null,
      failure: null,
      at_since: new Date(turn.job.now()),
      secured_at: null,
      // The server has booted from its disk, so the disk isn't half installed.
      ...(m.secured_at !== null && { was_installed: true }),
      sends: 0,
      unbootable_at: null,
      install_failed_at: null,
      install_resets: 0,
      etcd_restart_at: null,
      etcd_at: null,
    })
    await turn.parts.servers.hold(tx, m.node_id, turn.operation.id)
    await wakeMember(turn, tx, m)
  })

interface Joining {
  /** Ids of all servers that the change adds. Its workers join in parallel. */
  readonly together: readonly string[]
  /** Whether a cancel removes a server that has not joined yet. Otherwise the server joins. */
  readonly isTakenBack: boolean
  /**
   * True: the server joins also while other control planes are not well. A restore rebuilds them, so
   * there is nothing to protect.
   */
  readonly isRebuilding?: true
}

/** The steps of servers that join, which all call `run`. */
export const joinWith = <C>(run: ChangeKind<C>['steps'][string]): ChangeKind<C>['steps'] =>
  Object.fromEntries(Object.keys(joiningSteps).map((prefix) => [prefix, run]))

/** Every step of a server that joins. */
export async function joining(turn: ChangeTurn, at: StepAt, how: Joining): Promise<StepResult> {
  const result = await joinOn(turn, at, how)
  return typeof result === 'object' && 'waiting' in result
    ? { ...result, isSafe: how.isTakenBack }
    : result
}

async function joinOn(
  turn: ChangeTurn,
  at: StepAt,
  { together, isRebuilding }: Joining,
): Promise<StepResult> {
  const m = rowOf(turn, at.nodeId!)
  if (!m || m.released_at !== null)
    return { skipped: `${m?.name ?? 'The server'} was removed by force` }
  if (m.wanted === 'released') return { failed: `${m.name} is leaving the cluster` }
  const prefix = prefixOf(at.key) as Place
  const places = placesOf(m.role)
  const isPast = m.node_ready_at !== null || places.indexOf(m.at) > places.indexOf(prefix)
  if (isPast && !m.waits)
    return prefix === 'install' && m.was_installed === true
      ? { skipped: 'Talos is already installed' }
      : 'done'
  if (m.waits) {
    const start = () => letIn(turn, m, new Set(together))
    if (isRebuilding) await start()
    else {
      // etcd gets a member that has no data yet, so all others must be well.
      const mends = namesLeaving(turn.operation, turn.state.members)
      const touched = await touching(viewOf(turn), m, start, { mends, isComing: true })
      if ('forbidden' in touched)
        return { waiting: touched.forbidden, againMs: 1_000, isUnsent: true }
    }
    return followed(at, `${m.name} starts to join`)
  }
  if (m.failed_at !== null) {
    if (hasFailedNow(at, m)) return { failed: m.failure ?? `${m.name} failed` }
    await beginAgain(turn, m)
    return followed(at, `${m.name} is tried again`)
  }
  return prefix === 'join' && m.at === 'join'
    ? whetherJoined(turn, at, m)
    : followed(at, `Waiting for ${m.name}`)
}

/** The last step: a control plane is a healthy voter of etcd, and the node is Ready. */
async function whetherJoined(turn: ChangeTurn, at: StepAt, m: MemberRow): Promise<StepResult> {
  const { parts, job, state } = turn
  if (m.secured_at === null) return followed(at, `Waiting for ${m.name}`)
  if (m.role === 'control_plane') {
    const etcd = await etcdMembers(parts, state.members, job.signal)
    const all = etcd?.members.filter((e) => e.name === m.name) ?? []
    const own = all.find((e) => e.healthy) ?? all[0]
    if (!own || own.learner)
      return {
        waiting: `${m.name} is ${own ? 'a learner of etcd and not promoted yet' : 'no member of etcd yet'}`,
        againMs: followMs,
      }
    if (!own.healthy) return { waiting: `etcd on ${m.name} is not healthy`, againMs: followMs }
  }
  try {
    const nodes = await (await kubernetes(turn)).nodes(job.signal)
    if (nodes.find((n) => n.name === m.name)?.ready !== true) {
      const [facts] = await parts.servers.forPlan(parts.db, [m.node_id])
      const why = lateReason({ name: m.name, address: facts!.address, secured: true }, nodes)
      return why === null
        ? followed(at, `Waiting for ${m.name} to be Ready in Kubernetes`)
        : { waiting: why, againMs: followMs }
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    return { waiting: `The Kubernetes API does not answer: ${error.message}`, againMs: followMs }
  }
  const isJoined = await write(turn, async (tx) => {
    const now = await clusterRows.member(tx, m.cluster_id, m.node_id)
    // A failure since the row was read stays until a user acts.
    if (!now || !isWanted(now) || now.failed_at !== null) return false
    const time = new Date(job.now())
    await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
      node_ready_at: time,
      ...(m.role === 'control_plane' && { etcd_at: now.etcd_at ?? time }),
    })
    await parts.servers.markReady(tx, system, m.node_id)
    await parts.servers.noteNodes(tx, m.cluster_id, [
      { node_id: m.node_id, ready: true, reason: null },
    ])
    return true
  })
  return isJoined ? 'done' : { waiting: `Waiting for ${m.name}`, againMs: followMs }
}

/**
 * Runs in the transaction that ends a change and handles the servers that it was adding. After a
 * cancel, servers that haven't joined are removed; one that may have a configuration is reset and
 * released as soon as it answers. After a failure they stay, so that a retry continues with them.
 */
export async function endJoining(
  tx: Tx,
  turn: ChangeTurn,
  added: readonly string[],
  how: 'done' | 'failed' | 'cancelled',
): Promise<void> {
  if (how === 'done') return
  const { parts, state, job } = turn
  const members = await clusterRows.members(tx, state.row.id)
  for (const m of members.filter(
    (one) => added.includes(one.node_id) && isWanted(one) && one.node_ready_at === null,
  )) {
    if (how === 'cancelled')
      await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
        wanted: 'released',
        operation_id: null,
        waits: false,
        failed_at: null,
        failure: null,
        at: 'reset',
        at_since: new Date(job.now()),
      })
    await parts.servers.hold(tx, m.node_id, null)
    await wakeMember(turn, tx, m)
  }
}
