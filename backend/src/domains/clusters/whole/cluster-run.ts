/** Shared parts of a cluster's reconciler: fenced writes, the operation's steps, the cluster's columns, its Kubernetes API. */
import type { Tx } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import type { State } from '../facts.ts'
import { holdCluster, Overtaken } from './overtaken.ts'
import { type ClusterParts, wakeMembers as wakeAll } from '../parts.ts'
import type { WholeStep } from '../plan.ts'
import { failed, progress, type Shown, sinceStarted, waiting, whole } from './progress.ts'
import type { Reach } from '../reach.ts'
import { pollMs } from '../member/run.ts'
import type { ClusterSecrets } from '../secrets.ts'
import { lasting } from '../sentences.ts'
import * as store from '../store.ts'

/** How long a step of the whole cluster may wait before it fails, in ms. */
const patienceMs = 45 * 60_000

/** Result of an act: run again at once, later, or when woken. */
export type Turn = Outcome | 'again'

export type ClusterRun = ReturnType<typeof clusterRun>

export function clusterRun(parts: ClusterParts, secrets: ClusterSecrets, reached: Reach) {
  const { db, engine, operations, tell } = parts
  const steps = progress(operations)
  const at = (job: Job) => new Date(job.now())
  /** A fenced transaction that first locks the cluster's row. @throws Overtaken if users have changed the wanted state since `state` was read */
  const write = <T>(job: Job, state: State, act: (tx: Tx) => Promise<T>): Promise<T> =>
    job.fence.write(async (tx) => {
      await holdCluster(tx, state.row)
      return act(tx)
    })

  const wakeMembers = (tx: Tx, state: State): Promise<void> => wakeAll(engine, tx, state.members)

  const show = (tx: Tx, state: State, shown: Partial<Record<WholeStep, Shown>>) => steps.show(tx, state.row.operation_id, whole(shown))

  /** Marks a step as waiting. After too long a wait the step and the operation fail with the reason. */
  const wait = async (job: Job, state: State, step: WholeStep, reason: string): Promise<Outcome> => {
    const waited = await sinceStarted(db, operations, state.row.operation_id, step, job.now())
    if (waited > patienceMs) {
      const why = `Not done after ${lasting(waited)}. ${reason}`
      await write(job, state, async (tx) => {
        await show(tx, state, { [step]: failed(why) })
        await end(tx, state, 'failed', why)
        await change(tx, state, { status: 'failed', reason: why })
      })
      return undefined
    }
    await write(job, state, (tx) => show(tx, state, { [step]: waiting(reason) }))
    return { againMs: pollMs(waited) }
  }

  /** Changes visible columns, with version and event, if they differ. */
  const change = async (tx: Tx, state: State, columns: Partial<Pick<store.ClusterRow, 'status' | 'reason' | 'ready_at' | 'misses'>>): Promise<void> => {
    const differs = Object.entries(columns).some(([key, value]) => state.row[key as keyof store.ClusterRow] !== value)
    if (!differs) return
    const row = await store.update(tx, state.row.id, { ...columns, updated_at: new Date(parts.clock.now()) })
    await tell(tx, system, { name: 'cluster.updated', object: { kind: 'cluster', id: row.id }, version: row.version })
  }

  const end = async (tx: Tx, state: State, how: 'done' | 'failed' | 'cancelled', reason: string | null = null): Promise<void> => {
    if (state.row.operation_id === null) return
    await operations.set(tx, state.row.operation_id, { status: how, reason })
    if (how !== 'failed' || state.row.wanted !== 'ready') return
    // A creation that was just cancelled is rolled back instead of failing.
    if ((await operations.state(tx, state.row.operation_id))?.cancel_requested_at) throw new Overtaken(state.row.name)
  }

  return { parts, secrets, steps, at, write, wakeMembers, show, wait, change, end, api: (state: State) => reached.api(state), reached }
}
