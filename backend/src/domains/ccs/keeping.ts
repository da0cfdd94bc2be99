/**
 * Keeps the promises: starts and completes commitments at their times, and ends those of removed
 * servers. Each commitment is woken at its next time. A look once a minute finds those whose
 * wake-up got lost, for example because the machine's clock was set back after the wake-up was
 * stored.
 */
import { isDatabaseAway } from '../../causes/causes.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Reconciler } from '../../engine/engine.ts'
import type { CommittableServer } from '../servers/api.ts'
import { dueMove, nextMoveAt } from './decide.ts'
import { type CcParts, moving } from './moving.ts'
import { audited } from './present.ts'
import { ccQueue } from './removed.ts'
import * as store from './store.ts'

/**
 * No commitment is started or ended for this long after the clock has jumped, in ms. A wrong clock
 * is usually corrected within minutes, and what ended because of it would stay ended.
 */
export const steadyMs = 600_000
/** Interval of the looks for missed commitments in ms, and how many one look wakes. */
const lookEveryMs = 60_000
const mostWoken = 500

const capacityKeys = ['cores', 'memory_bytes', 'disk_bytes', 'compute_units'] as const

export function keeping(parts: CcParts) {
  const { db, clock, record, engine, servers, log } = parts
  const { move } = moving(parts)

  /**
   * A draft shows the server's present capacity. A promise keeps its capacity, except that an
   * unknown one is filled in.
   */
  const measure = async (
    tx: Tx,
    row: store.CcRow,
    { capacity, measuredAt, isRemoved }: CommittableServer,
  ): Promise<store.CcRow> => {
    const isOpen =
      row.status === 'waiting_delegation' ||
      row.status === 'waiting_start' ||
      row.status === 'active'
    const follows =
      !isRemoved && (row.status === 'not_committed' || (isOpen && row.compute_units === null))
    if (!follows || row.measured_at?.getTime() === measuredAt?.getTime()) return row
    if (capacityKeys.every((key) => row[key] === capacity[key])) {
      await store.noteMeasured(tx, row.id, measuredAt)
      return row
    }
    const after = await store.update(tx, row.id, { ...capacity, measured_at: measuredAt })
    await record(tx, system, {
      action: 'cc.measured',
      target: { kind: 'cc', id: row.id, name: row.server_name },
      before: audited(row),
      after: audited(after),
      event: { name: 'cc.updated', version: after.version },
    })
    return after
  }

  const reconciler: Reconciler = {
    queue: ccQueue,
    concurrency: 4,
    reconcile: (job) =>
      job.fence.write(async (tx) => {
        const serverId = await store.serverOf(tx, job.key)
        const server =
          serverId === undefined ? undefined : await servers.lockForCommitment(tx, serverId)
        let row = await store.locked(tx, job.key)
        if (!server || !row) return undefined
        row = await measure(tx, row, server)
        const now = job.now()
        const steadyAt = job.steadySince() === 0 ? now : job.steadySince() + steadyMs
        for (;;) {
          const due = dueMove(row, new Date(now))
          if (due === null) break
          if (steadyAt > now) return { againMs: steadyAt - now }
          row = await move(tx, system, row, due)
        }
        const next = nextMoveAt(row)
        return next === null ? undefined : { againMs: next.getTime() - now }
      }),
  }

  /** Wakes the commitments that need a look. */
  const look = async (): Promise<void> => {
    const ids = await store.overdue(db, new Date(clock.now()), mostWoken)
    if (ids.length === 0) return
    await inTransaction(db, async (tx) => {
      for (const id of ids) await engine.wake(tx, ccQueue, id)
    })
  }

  let timer: NodeJS.Timeout | undefined
  return {
    reconciler,
    look,
    start: async (): Promise<void> => {
      const onError = (error: unknown) =>
        log[isDatabaseAway(error) ? 'debug' : 'error']('commitments.look_failed', { error })
      timer = setInterval(() => void look().catch(onError), lookEveryMs).unref()
    },
    stop: async (): Promise<void> => clearInterval(timer),
  }
}
