/**
 * Shared by the reconcilers of a cluster and of its servers: steps of operations, and writes that
 * fail if the wanted state has changed since the run read it. A reconciler's claim excludes other
 * processes, but not API calls. So each write locks the cluster's row, as API calls do, and
 * compares the wanted state.
 */
import { isChange } from '#contract/clusters/changes/changes.ts'
import { hasEnded, type Step } from '#contract/operations.ts'
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Place } from '../../../db/columns.ts'
import type { Tx } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import type { Operations } from '../../operations/api.ts'
import { type ClusterParts, updateCluster, wakeMembers } from '../parts.ts'
import { deletionSteps, leaving, placesOf, stepKey, type WholeStep } from '../plan.ts'
import { lasting } from '../../../sentences.ts'
import * as store from '../store.ts'

/** Users have changed the wanted state since it was read. Nothing was written or sent. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
  constructor(what: string) {
    super(`The wanted state of ${what} has changed in the meantime`)
  }
}

/** Called first in a transaction of the cluster's reconciler. @throws Overtaken */
export async function holdCluster(tx: Tx, read: store.ClusterRow): Promise<void> {
  const now = await store.hold(tx, read.id)
  const isUnchanged =
    now?.deleted_at === null &&
    now.wanted === read.wanted &&
    now.forced === read.forced &&
    now.operation_id === read.operation_id
  if (!isUnchanged) throw new Overtaken(read.name)
}

/** Whether the wanted state of a server is unchanged. */
export const isSameMember = (
  read: store.MemberRow,
  now: store.MemberRow | undefined,
): now is store.MemberRow =>
  now !== undefined &&
  now.at !== 'done' &&
  now.wanted === read.wanted &&
  now.operation_id === read.operation_id

/**
 * Called first in a transaction of a server's reconciler. Returns the server's current row, or
 * undefined if users have changed the wanted state.
 */
export async function holdMember(
  tx: Tx,
  read: store.MemberRow,
): Promise<store.MemberRow | undefined> {
  await store.hold(tx, read.cluster_id)
  const now = await store.member(tx, read.cluster_id, read.node_id)
  return isSameMember(read, now) ? now : undefined
}

export type Shown = Pick<Step, 'status' | 'reason'>

export const done: Shown = { status: 'done', reason: null }
export const running = (reason: string | null = null): Shown => ({ status: 'running', reason })
export const waiting = (reason: string): Shown => ({ status: 'waiting', reason })
export const failed = (reason: string): Shown => ({ status: 'failed', reason })

/**
 * Status of each step of a server: the current step (`at`) as in `shown`, earlier steps done, later
 * steps to do.
 */
export function memberSteps(
  nodeId: string,
  role: ClusterRole,
  at: Place,
  shown: Shown,
  wasInstalled: boolean,
): ReadonlyMap<string, Shown> {
  const path: readonly Place[] =
    leaving.some((p) => p === at) || at === 'done' ? leaving : placesOf(role)
  const place = at === 'done' ? path.length : path.indexOf(at)
  const shownAt = (i: number): Shown =>
    i < place ? done : i === place ? shown : { status: 'todo', reason: null }
  const steps = new Map(path.map((p, i) => [stepKey(p, nodeId), shownAt(i)]))
  if (wasInstalled && path !== leaving && place >= path.indexOf('install'))
    steps.set(stepKey('install', nodeId), {
      status: 'skipped',
      reason: 'Talos is already installed',
    })
  return steps
}

/** Updates the steps that differ. Does nothing if the operation has ended. */
export async function showSteps(
  operations: Operations,
  tx: Tx,
  operationId: string | null,
  steps: ReadonlyMap<string, Shown>,
): Promise<void> {
  const operation = operationId === null ? undefined : await operations.read(tx, operationId)
  if (!operation || hasEnded(operation)) return
  for (const step of operation.steps) {
    const wanted = steps.get(step.key)
    if (wanted && differs(step, wanted)) await operations.step(tx, operation.id, step.key, wanted)
  }
}

/**
 * Whether a step changes. A done step stays done, so that a momentary state doesn't undo the
 * timeline.
 */
function differs(step: Step, wanted: Shown): boolean {
  if (step.status === wanted.status) return step.reason !== wanted.reason
  if (step.status === 'skipped') return false
  return !(step.status === 'done' && wanted.status === 'todo')
}

/**
 * Interval of runs while waiting for events, in ms. Events wake the reconciler; the interval makes
 * up for missed events.
 */
export const idleMs = 30_000
/** Interval until the next query, in ms. Grows with the time spent in the same step. */
export const pollMs = (sinceMs: number): number =>
  sinceMs < 5_000
    ? 150
    : sinceMs < 30_000
      ? 500
      : sinceMs < 120_000
        ? 2_000
        : sinceMs < 3_600_000
          ? 5_000
          : idleMs

export interface ClusterTurn {
  readonly parts: ClusterParts
  readonly job: Job
  readonly state: store.State
}

/** When the reconciler runs again: at once (`again`), after an interval, or when woken. */
export type Next = Outcome | 'again'

/** How long a step of the whole cluster may wait before it fails, in ms. */
const patienceMs = 45 * 60_000

export const nowOf = ({ job }: ClusterTurn): Date => new Date(job.now())

/**
 * A transaction that fails if another process has taken over the cluster. Locks the row first.
 * @throws Overtaken if users have changed the wanted state
 */
export const write = <T>({ job, state }: ClusterTurn, act: (tx: Tx) => Promise<T>): Promise<T> =>
  job.fence.write(async (tx) => {
    await holdCluster(tx, state.row)
    return act(tx)
  })

export const show = (
  { parts, state }: ClusterTurn,
  tx: Tx,
  shown: Partial<Record<WholeStep, Shown>>,
): Promise<void> =>
  showSteps(parts.operations, tx, state.row.operation_id, new Map(Object.entries(shown)))

/**
 * Marks a step as waiting. After too long a wait the step and the operation fail with the reason.
 */
export async function wait(turn: ClusterTurn, step: WholeStep, reason: string): Promise<Outcome> {
  const { parts, job, state } = turn
  const operation =
    state.row.operation_id === null
      ? undefined
      : await parts.operations.read(parts.db, state.row.operation_id)
  const started = operation?.steps.find((s) => s.key === step)?.started_at
  const waited = started ? Math.min(job.now() - Date.parse(started), job.upMs()) : 0
  if (waited > patienceMs) {
    const why = `Not done after ${lasting(waited)}. ${reason}`
    await write(turn, async (tx) => {
      await show(turn, tx, { [step]: failed(why) })
      await end(turn, tx, 'failed', why)
      await change(turn, tx, { status: 'failed', reason: why })
    })
    return undefined
  }
  await write(turn, (tx) => show(turn, tx, { [step]: waiting(reason) }))
  return { againMs: pollMs(waited) }
}

/**
 * Writes the columns, increments the version and emits `cluster.updated`, unless the columns have
 * these values already.
 */
export async function change(
  { parts, state }: ClusterTurn,
  tx: Tx,
  columns: Partial<
    Pick<
      store.ClusterRow,
      'status' | 'reason' | 'ready_at' | 'misses' | 'problem' | 'problem_since'
    >
  >,
): Promise<void> {
  const differs = Object.entries(columns).some(
    ([key, value]) => state.row[key as keyof store.ClusterRow] !== value,
  )
  if (differs) await updateCluster(parts, tx, system, state.row.id, columns)
}

export async function end(
  { parts: { operations }, state: { row } }: ClusterTurn,
  tx: Tx,
  how: 'done' | 'failed' | 'cancelled',
  reason: string | null = null,
) {
  if (row.operation_id === null) return
  await operations.set(tx, row.operation_id, { status: how, reason })
  if (how !== 'failed' || row.wanted !== 'ready') return
  // A creation that was just cancelled is rolled back instead of failing.
  if ((await operations.state(tx, row.operation_id))?.cancel_requested_at)
    throw new Overtaken(row.name)
}

/**
 * Starts a retry: clears failures, and also observations from before the failure, because they are
 * out of date.
 */
const beginAgain = (turn: ClusterTurn, round: number): Promise<void> =>
  write(turn, async (tx) => {
    const { row, members } = turn.state
    await store.update(tx, row.id, { operation_round: round })
    for (const m of members.filter((one) => one.failed_at !== null && one.released_at === null))
      await store.updateMember(tx, m.cluster_id, m.node_id, {
        failed_at: null,
        failure: null,
        at_since: nowOf(turn),
        secured_at: null,
        // The server has booted from its disk, so the disk isn't half installed.
        ...(m.secured_at !== null && { was_installed: true }),
        sends: 0,
        unbootable_at: null,
        install_failed_at: null,
        install_resets: 0,
        etcd_restart_at: null,
        etcd_at: null,
        node_ready_at: null,
      })
    await wakeMembers(turn.parts.engine, tx, members)
  })

/** Rolls a creation back: its servers are reset and released. */
const rollBack = (turn: ClusterTurn, operationId: string): Promise<void> =>
  write(turn, async (tx) => {
    const { row, members } = turn.state
    const { operations, engine } = turn.parts
    await store.update(tx, row.id, { wanted: 'removed', updated_at: nowOf(turn) })
    await store.updateMembers(tx, row.id, {
      wanted: 'released',
      failed_at: null,
      failure: null,
      at: 'reset',
      at_since: nowOf(turn),
    })
    const leavers = members.filter((m) => m.released_at === null)
    await operations.addSteps(tx, operationId, deletionSteps(leavers, false))
    for (const step of (await operations.read(tx, operationId))!.steps) {
      const isLeaving =
        leaving.some((place) => step.key.startsWith(`${place}/`)) || step.key === 'forget'
      if (!isLeaving && step.status !== 'done' && step.status !== 'skipped')
        await operations.step(tx, operationId, step.key, { status: 'skipped', reason: 'Cancelled' })
    }
    await wakeMembers(engine, tx, members)
  })

/**
 * Carries out a cancel or retry of the cluster's operation, then returns `again`. `too-late`: a
 * cancel of a deletion, which can't be cancelled any more.
 */
export async function followRequests(
  turn: ClusterTurn,
): Promise<'again' | 'nothing' | 'ended' | 'too-late'> {
  const { row } = turn.state
  const { db, operations } = turn.parts
  const id = row.operation_id
  const operation = id === null ? undefined : await operations.state(db, id)
  // A change handles cancels and retries itself.
  if (id === null || !operation || isChange(operation.kind)) return 'nothing'
  if (hasEnded(operation)) return 'ended'
  if (operation.round > row.operation_round) {
    await beginAgain(turn, operation.round)
    return 'again'
  }
  if (operation.cancel_requested_at === null) return 'nothing'
  if (row.wanted === 'ready' && row.ready_at === null) {
    await rollBack(turn, id)
    return 'again'
  }
  return (await operations.read(db, id))?.kind === 'clusterDelete' ? 'too-late' : 'nothing'
}
