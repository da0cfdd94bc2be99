/** What every act for a cluster as a whole has in hand: fenced writes, the operation's steps, the cluster's own columns, its Kubernetes API. */
import type { Tx } from '../../db/db.ts'
import type { Job, Outcome } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import type { State } from './facts.ts'
import { type ClusterParts, memberKey, memberQueue } from './parts.ts'
import type { WholeStep } from './plan.ts'
import { failed, progress, type Shown, sinceStarted, waiting, whole } from './progress.ts'
import type { Reach } from './reach.ts'
import { pollMs } from './reconcile-member.ts'
import type { ClusterSecrets } from './secrets.ts'
import { lasting } from './sentences.ts'
import * as store from './store.ts'

/** How long a step of the whole cluster may wait before a person has to look at it. */
const patienceMs = 45 * 60_000

/** What an act comes to: look again at once, later, or when woken. */
export type Turn = Outcome | 'again'

export type ClusterRun = ReturnType<typeof clusterRun>

export function clusterRun(parts: ClusterParts, secrets: ClusterSecrets, reached: Reach) {
  const { db, engine, operations, recorder } = parts
  const steps = progress(operations)
  const at = (job: Job) => new Date(job.now())
  /** A fenced transaction that holds the cluster's row first. */
  const write = <T>(job: Job, act: (tx: Tx) => Promise<T>): Promise<T> =>
    job.fence.write(async (tx) => {
      await store.hold(tx, job.key)
      return act(tx)
    })

  const wakeMembers = async (tx: Tx, state: State): Promise<void> => {
    for (const m of state.members) if (m.released_at === null) await engine.wake(tx, memberQueue, memberKey(m.cluster_id, m.node_id))
  }

  const show = (tx: Tx, state: State, shown: Partial<Record<WholeStep, Shown>>) => steps.show(tx, state.row.operation_id, whole(shown))

  /** A step that waits; once it has waited for too long, it fails with what it waited for, and so does the operation. */
  const wait = async (job: Job, state: State, step: WholeStep, reason: string): Promise<Outcome> => {
    const waited = await sinceStarted(db, operations, state.row.operation_id, step, job.now())
    if (waited > patienceMs) {
      const why = `Not done after ${lasting(waited)}. ${reason}`
      await write(job, async (tx) => {
        await show(tx, state, { [step]: failed(why) })
        await end(tx, state, 'failed', why)
        await change(tx, state, { status: 'failed', reason: why })
      })
      return undefined
    }
    await write(job, (tx) => show(tx, state, { [step]: waiting(reason) }))
    return { againMs: pollMs(waited) }
  }

  /** Columns that people see: version and event with them, only where something differs. */
  const change = async (tx: Tx, state: State, columns: Partial<Pick<store.ClusterRow, 'status' | 'reason' | 'ready_at' | 'misses'>>): Promise<void> => {
    const differs = Object.entries(columns).some(([key, value]) => state.row[key as keyof store.ClusterRow] !== value)
    if (!differs) return
    const row = await store.update(tx, state.row.id, { ...columns, updated_at: new Date(parts.clock.now()) })
    await recorder.tell(tx, system, { name: 'cluster.updated', object: { kind: 'cluster', id: row.id }, version: row.version })
  }

  const end = async (tx: Tx, state: State, how: 'done' | 'failed' | 'cancelled', reason: string | null = null): Promise<void> => {
    if (state.row.operation_id !== null) await operations.set(tx, state.row.operation_id, { status: how, reason })
  }

  return { parts, secrets, steps, at, write, wakeMembers, show, wait, change, end, api: (state: State) => reached.api(state), reached }
}
