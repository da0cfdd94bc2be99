/** The schedule of a cluster's snapshots, or of Steelyard's own backups: shown and written. */
import { randomUUID } from 'node:crypto'
import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import type { SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import type { Db, Tx } from '../../db/db.ts'
import { installation, nowOf, scheduleQueue, type SnapshotParts } from './parts.ts'
import { presentSchedule } from './present.ts'
import { lastTime } from './schedule.ts'
import * as store from './store.ts'

/** `clusterId`: null for Steelyard's own backups, here and below. */
export async function shownSchedule(
  { clock }: Pick<SnapshotParts, 'clock'>,
  on: Db | Tx,
  clusterId: string | null,
): Promise<SnapshotSchedule | null> {
  const row = await store.schedule(on, clusterId)
  if (!row) return null
  return presentSchedule(row, clock.now(), {
    newest: await store.newestReady(on, clusterId),
    last: await store.lastScheduled(on, clusterId),
  })
}

/**
 * Writes the schedule over `before`, the locked row, or as a new one.
 * @throws Problem not_found for the store
 */
export async function writeSchedule(
  parts: SnapshotParts,
  tx: Tx,
  clusterId: string | null,
  wish: NewSnapshotSchedule,
  before: Awaited<ReturnType<typeof store.lockSchedule>>,
): Promise<SnapshotSchedule> {
  await parts.stores.hold(tx, wish.store_id)
  const at = nowOf(parts)
  // Times before the change count as done, so a change of the schedule never takes a snapshot at
  // once.
  const times = { begun_for: new Date(lastTime(wish, at.getTime())), updated_at: at }
  if (before) await store.changeSchedule(tx, before.id, { ...wish, ...times })
  else
    await store.insertSchedule(tx, {
      id: randomUUID(),
      cluster_id: clusterId,
      ...wish,
      ...times,
      created_at: at,
    })
  await parts.engine.wake(tx, scheduleQueue, clusterId ?? installation)
  return (await shownSchedule(parts, tx, clusterId))!
}
