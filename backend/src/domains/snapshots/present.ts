/** Converts rows of snapshots and schedules to the contract's objects. */
import type { Snapshot, SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import type { Backup } from '#contract/storage/backups.ts'
import { nextTime } from './schedule.ts'
import type { ScheduleRow, SnapshotRow } from './store.ts'

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

/** The fields that snapshots and backups share. */
const file = (row: SnapshotRow) => ({
  id: row.id,
  store: { id: row.store_id, name: row.store_name },
  key: row.object_key,
  status: row.status,
  reason: row.reason,
  made_by: row.made_by,
  created_by: row.created_by,
  taken_at: iso(row.taken_at),
  verified_at: iso(row.verified_at),
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const present = (row: SnapshotRow): Snapshot => ({
  ...file(row),
  cluster: { id: row.cluster_id!, name: row.cluster_name! },
  purpose: row.purpose,
  taken_from: row.taken_from,
  etcd_version: row.etcd_version,
  revision: row.revision,
  identity: row.identity,
  size_bytes: row.size_bytes,
  sha256: row.sha256,
})

export const presentBackup = (row: SnapshotRow): Backup => ({
  ...file(row),
  size_bytes: row.stored_bytes,
})

export const presentSchedule = (
  row: ScheduleRow,
  now: number,
  { newest, last }: { newest: SnapshotRow | undefined; last: SnapshotRow | undefined },
): SnapshotSchedule => ({
  store: { id: row.store_id, name: row.store_name },
  every_hours: row.every_hours,
  at_hour: row.at_hour,
  keep_count: row.keep_count,
  keep_days: row.keep_days,
  paused: row.paused,
  next_at: row.paused
    ? null
    : new Date(nextTime(row, Math.max(now, row.begun_for?.getTime() ?? 0))).toISOString(),
  last_ready_at: iso(newest?.taken_at ?? null),
  problem: last?.status === 'failed' ? last.reason : null,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
