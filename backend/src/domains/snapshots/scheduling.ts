/**
 * Begins the snapshots of schedules. The scheduled time is stored with the snapshot in one
 * transaction, so that each time gives exactly one snapshot, also with several processes. All times
 * that passed while Steelyard was not running give one snapshot.
 */
import type { Reconciler } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { begin, installation, scheduleQueue, type SnapshotParts } from './parts.ts'
import { lastTime, nextTime } from './schedule.ts'
import * as store from './store.ts'

/** Polling interval while the last snapshot of the schedule is still in progress, in ms. */
const busyMs = 30_000

export const scheduling = (parts: SnapshotParts): Reconciler => ({
  queue: scheduleQueue,
  reconcile: (job) =>
    job.fence.write(async (tx) => {
      const isOwn = job.key === installation
      const cluster = isOwn ? null : await parts.clusters.lock(tx, job.key)
      const row =
        cluster === undefined ? undefined : await store.lockSchedule(tx, cluster?.id ?? null)
      if (!row || cluster === undefined || row.paused || cluster?.leaving) return undefined
      const now = job.now()
      const last = lastTime(row, now)
      // After the clock was set back, `begun_for` may be in the future. The schedule continues when
      // that time is reached again.
      if (last > row.begun_for!.getTime()) {
        if (await store.isTaking(tx, cluster?.id ?? null)) return { againMs: busyMs }
        await begin(parts, tx, system, { cluster, storeId: row.store_id, madeBy: 'schedule' })
        await store.noteBegun(tx, row.id, new Date(last))
      }
      return { againMs: nextTime(row, now) - now }
    }),
})
