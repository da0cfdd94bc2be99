/** A turn of a cluster's reconciler: fenced writes, the operation's steps, the cluster's columns, and requests of users. */
import { hasEnded } from '#contract/operations.ts'
import type { Tx } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { type ClusterParts, updateCluster, wakeMembers } from '../parts.ts'
import { pollMs } from '../member/run.ts'
import { deletionSteps, leaving, type WholeStep } from '../plan.ts'
import { lasting } from '../sentences.ts'
import * as store from '../store.ts'
import { failed, holdCluster, Overtaken, type Shown, showSteps, waiting } from './progress.ts'

export interface ClusterTurn {
  readonly parts: ClusterParts
  readonly job: Job
  readonly state: store.State
}

/** Result of an act: run again at once, later, or when woken. */
export type Next = Outcome | 'again'

/** How long a step of the whole cluster may wait before it fails, in ms. */
const patienceMs = 45 * 60_000

export const nowOf = ({ job }: ClusterTurn): Date => new Date(job.now())

/** A fenced transaction that first locks the cluster's row. @throws Overtaken if users have changed the wanted state since it was read */
export const write = <T>({ job, state }: ClusterTurn, act: (tx: Tx) => Promise<T>): Promise<T> =>
  job.fence.write(async (tx) => {
    await holdCluster(tx, state.row)
    return act(tx)
  })

export const show = ({ parts, state }: ClusterTurn, tx: Tx, shown: Partial<Record<WholeStep, Shown>>): Promise<void> =>
  showSteps(parts.operations, tx, state.row.operation_id, new Map(Object.entries(shown)))

/** Marks a step as waiting. After too long a wait the step and the operation fail with the reason. */
export async function wait(turn: ClusterTurn, step: WholeStep, reason: string): Promise<Outcome> {
  const { parts, job, state } = turn
  const operation = state.row.operation_id === null ? undefined : await parts.operations.read(parts.db, state.row.operation_id)
  const started = operation?.steps.find((s) => s.key === step)?.started_at
  const waited = started ? job.now() - Date.parse(started) : 0
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

/** Changes visible columns, with version and event, if they differ. */
export async function change(
  { parts, state }: ClusterTurn,
  tx: Tx,
  columns: Partial<Pick<store.ClusterRow, 'status' | 'reason' | 'ready_at' | 'misses'>>,
): Promise<void> {
  const differs = Object.entries(columns).some(([key, value]) => state.row[key as keyof store.ClusterRow] !== value)
  if (differs) await updateCluster(parts, tx, system, state.row.id, columns)
}

export async function end({ parts: { operations }, state: { row } }: ClusterTurn, tx: Tx, how: 'done' | 'failed' | 'cancelled', reason: string | null = null) {
  if (row.operation_id === null) return
  await operations.set(tx, row.operation_id, { status: how, reason })
  if (how !== 'failed' || row.wanted !== 'ready') return
  // A creation that was just cancelled is rolled back instead of failing.
  if ((await operations.state(tx, row.operation_id))?.cancel_requested_at) throw new Overtaken(row.name)
}

/** Starts a retry: failures are cleared, and observations from before the failure, because they are out of date. */
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
        // It has booted from its disk, so the disk is not half installed.
        ...(m.secured_at !== null && { was_installed: true }),
        sends: 0,
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
    await store.updateMembers(tx, row.id, { wanted: 'released', failed_at: null, failure: null, at: 'reset', at_since: nowOf(turn) })
    const leavers = members.filter((m) => m.released_at === null)
    await operations.addSteps(tx, operationId, deletionSteps(leavers, false))
    for (const step of (await operations.read(tx, operationId))!.steps) {
      const isLeaving = leaving.some((place) => step.key.startsWith(`${place}/`)) || step.key === 'forget'
      if (!isLeaving && step.status !== 'done' && step.status !== 'skipped')
        await operations.step(tx, operationId, step.key, { status: 'skipped', reason: 'Cancelled' })
    }
    await wakeMembers(engine, tx, members)
  })

/** Follows a cancel or retry of the cluster's operation. `too-late`: the cancel can have no effect. */
export async function followRequests(turn: ClusterTurn): Promise<'again' | 'nothing' | 'ended' | 'too-late'> {
  const { row } = turn.state
  const { db, operations } = turn.parts
  const id = row.operation_id
  const operation = id === null ? undefined : await operations.state(db, id)
  if (id === null || !operation) return 'nothing'
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
