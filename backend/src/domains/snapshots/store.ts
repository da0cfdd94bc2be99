/**
 * SQL for snapshots and their schedules. Names of stores and clusters are joined from their tables.
 */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { backupList } from '#contract/storage/backups.ts'
import { snapshotList } from '#contract/clusters/changes/snapshots.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
type Row = Selectable<Tables['snapshot']>
/** A snapshot that isn't removed. */
export type SnapshotRow = Omit<Row, 'status' | 'store_id'> & {
  status: Exclude<Row['status'], 'removed'>
  store_id: string
  store_name: string
}
export type ScheduleRow = Selectable<Tables['snapshot_schedule']> & { store_name: string }

/** Snapshots that aren't removed. */
const snapshots = (on: On) =>
  on
    .selectFrom('snapshot')
    .innerJoin('store', 'store.id', 'snapshot.store_id')
    .selectAll('snapshot')
    .select('store.name as store_name')
    .where('snapshot.status', '<>', 'removed')
    .$narrowType<{ status: SnapshotRow['status']; store_id: string }>()

const readers: SqlReaders<typeof snapshotList.list> = {
  sort: {
    cluster: sql`snapshot.cluster_name`,
    taken_at: sql`snapshot.taken_at`,
    // The worst first.
    status: sql`array_position(array['failed', 'taking', 'removing', 'ready'], snapshot.status)`,
    size: sql`snapshot.size_bytes`,
    created_at: sql`snapshot.created_at`,
  },
  filters: {
    cluster: (wanted) =>
      sql`(snapshot.cluster_name = ${wanted} or snapshot.cluster_id::text = ${wanted})`,
    status: (status) => sql`snapshot.status = ${status}`,
    store: (wanted) => sql`(store.name = ${wanted} or store.id::text = ${wanted})`,
  },
  search: containing('snapshot.cluster_name', 'store.name', 'snapshot.reason'),
  tie: sql`snapshot.id`,
  nullsLast: true,
}

export const page = (db: Db, query: Input<typeof snapshotList>['query']) =>
  readPage(
    snapshots(db).where('snapshot.cluster_id', 'is not', null),
    snapshotList.list,
    readers,
    query,
  )

const backupReaders: SqlReaders<typeof backupList.list> = {
  sort: {
    taken_at: readers.sort.taken_at,
    status: readers.sort.status,
    size: sql`snapshot.stored_bytes`,
    created_at: readers.sort.created_at,
  },
  filters: { status: readers.filters.status },
  search: containing('store.name', 'snapshot.object_key', 'snapshot.reason'),
  tie: sql`snapshot.id`,
  nullsLast: true,
}

/** A page of Steelyard's own backups. */
export const backupPage = (db: Db, query: Input<typeof backupList>['query']) =>
  readPage(
    snapshots(db).where('snapshot.cluster_id', 'is', null),
    backupList.list,
    backupReaders,
    query,
  )

export const find = (on: On, id: string): Promise<SnapshotRow | undefined> =>
  snapshots(on).where('snapshot.id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<SnapshotRow | undefined> =>
  snapshots(tx).where('snapshot.id', '=', id).forUpdate('snapshot').executeTakeFirst()

/** Whether there was a snapshot with this id, which is removed. */
export const wasRemoved = async (on: On, id: string): Promise<boolean> =>
  (await on
    .selectFrom('snapshot')
    .select('id')
    .where('id', '=', id)
    .where('status', '=', 'removed')
    .executeTakeFirst()) !== undefined

export const insert = async (tx: Tx, row: Insertable<Tables['snapshot']>): Promise<SnapshotRow> => {
  const { id } = await tx
    .insertInto('snapshot')
    .values(row)
    .returning('id')
    .executeTakeFirstOrThrow()
  return (await find(tx, id))!
}

/** Every change that users see increments the version. */
export const update = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['snapshot']>,
): Promise<{ version: number }> =>
  tx
    .updateTable('snapshot')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returning('version')
    .executeTakeFirstOrThrow()

/** Number of snapshots in a store, and of schedules that use it. */
export const uses = (on: On, storeId: string): Promise<{ snapshots: number; schedules: number }> =>
  on
    .selectNoFrom([
      sql<number>`(select count(*)::int from snapshot where store_id = ${storeId} and status <> 'removed')`.as(
        'snapshots',
      ),
      sql<number>`(select count(*)::int from snapshot_schedule where store_id = ${storeId})`.as(
        'schedules',
      ),
    ])
    .executeTakeFirstOrThrow()

/** The key of the newest file in a store that can be used. */
export const newestFile = async (on: On, storeId: string): Promise<string | undefined> =>
  (
    await snapshots(on)
      .where('snapshot.store_id', '=', storeId)
      .where('snapshot.status', '=', 'ready')
      .orderBy('snapshot.taken_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.object_key

/** Whether a file is being written to a store or removed from it. */
export const isBusy = async (on: On, storeId: string): Promise<boolean> =>
  (await snapshots(on)
    .where('snapshot.store_id', '=', storeId)
    .where('snapshot.status', 'in', ['taking', 'removing'])
    .limit(1)
    .executeTakeFirst()) !== undefined

const ofCluster = (on: On, clusterId: string | null) =>
  snapshots(on).where((e) =>
    clusterId === null
      ? e('snapshot.cluster_id', 'is', null)
      : e('snapshot.cluster_id', '=', clusterId),
  )

/** Whether a snapshot of the schedule is in progress. */
export const isTaking = async (on: On, clusterId: string | null): Promise<boolean> =>
  (await ofCluster(on, clusterId)
    .where('snapshot.status', '=', 'taking')
    .where('snapshot.made_by', '=', 'schedule')
    .executeTakeFirst()) !== undefined

/** The ready snapshots that the schedule has taken. */
export const scheduled = (on: On, clusterId: string | null): Promise<SnapshotRow[]> =>
  ofCluster(on, clusterId)
    .where('snapshot.status', '=', 'ready')
    .where('snapshot.made_by', '=', 'schedule')
    .execute()

/** The newest ready snapshot. */
export const newestReady = (on: On, clusterId: string | null): Promise<SnapshotRow | undefined> =>
  ofCluster(on, clusterId)
    .where('snapshot.status', '=', 'ready')
    .orderBy('snapshot.taken_at', 'desc')
    .limit(1)
    .executeTakeFirst()

/** The last ended snapshot of the schedule. */
export const lastScheduled = (on: On, clusterId: string | null): Promise<SnapshotRow | undefined> =>
  ofCluster(on, clusterId)
    .where('snapshot.made_by', '=', 'schedule')
    .where('snapshot.status', 'in', ['ready', 'failed', 'removing'])
    .orderBy('snapshot.created_at', 'desc')
    .limit(1)
    .executeTakeFirst()

/**
 * The UID of the cluster's namespace kube-system, as the newest snapshot that Steelyard has taken
 * itself says. A removed one counts too.
 */
export const identityOf = async (on: On, clusterId: string): Promise<string | null> =>
  (
    await on
      .selectFrom('snapshot')
      .select('identity')
      .where('cluster_id', '=', clusterId)
      .where('made_by', '<>', 'import')
      .where('identity', 'is not', null)
      .orderBy('taken_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.identity ?? null

/** Snapshots with unfinished work, which are woken at the start. */
export const open = (on: On): Promise<{ id: string; cluster_id: string | null }[]> =>
  on
    .selectFrom('snapshot')
    .select(['id', 'cluster_id'])
    .where('status', 'in', ['taking', 'removing'])
    .execute()

/** Deletes failed and removed snapshots from before this time. */
export const forget = (db: Db, before: Date) =>
  db
    .deleteFrom('snapshot')
    .where('status', 'in', ['failed', 'removed'])
    .where('updated_at', '<', before)
    .where('id', 'not in', (e) => e.selectFrom('cluster_recovery').select('snapshot_id'))
    // Nothing else says that the last one of Steelyard's own backups has failed.
    .where('id', 'not in', (e) =>
      e
        .selectFrom('snapshot')
        .select('id')
        .where('cluster_id', 'is', null)
        .where('status', 'in', ['ready', 'failed'])
        .orderBy('created_at', 'desc')
        .limit(1),
    )
    .execute()

const schedules = (on: On) =>
  on
    .selectFrom('snapshot_schedule')
    .innerJoin('store', 'store.id', 'snapshot_schedule.store_id')
    .selectAll('snapshot_schedule')
    .select('store.name as store_name')

const scheduleOf = (on: On, clusterId: string | null) =>
  schedules(on).where((e) =>
    clusterId === null
      ? e('snapshot_schedule.cluster_id', 'is', null)
      : e('snapshot_schedule.cluster_id', '=', clusterId),
  )

export const schedule = (on: On, clusterId: string | null): Promise<ScheduleRow | undefined> =>
  scheduleOf(on, clusterId).executeTakeFirst()
export const lockSchedule = (tx: Tx, clusterId: string | null): Promise<ScheduleRow | undefined> =>
  scheduleOf(tx, clusterId).forUpdate('snapshot_schedule').executeTakeFirst()
export const allSchedules = (on: On): Promise<ScheduleRow[]> => schedules(on).execute()

export const insertSchedule = (tx: Tx, row: Insertable<Tables['snapshot_schedule']>) =>
  tx.insertInto('snapshot_schedule').values(row).execute()
export const changeSchedule = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['snapshot_schedule']>,
) =>
  tx
    .updateTable('snapshot_schedule')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()
/**
 * Records for which scheduled time a snapshot was begun. The version stays, because this is not a
 * change by a user.
 */
export const noteBegun = (tx: Tx, id: string, begunFor: Date) =>
  tx.updateTable('snapshot_schedule').set({ begun_for: begunFor }).where('id', '=', id).execute()
export const removeSchedule = (tx: Tx, id: string) =>
  tx.deleteFrom('snapshot_schedule').where('id', '=', id).execute()

const recoveries = (on: On, snapshotId: string) =>
  on
    .selectFrom('cluster_recovery')
    .innerJoin('operation', 'operation.id', 'cluster_recovery.operation_id')
    .select('cluster_id')
    .where('snapshot_id', '=', snapshotId)
    .where('confirmed_at', 'is', null)

/** Whether a cluster is being restored from the snapshot. */
export const isRestored = async (on: On, id: string): Promise<boolean> =>
  (await recoveries(on, id).where('operation.ended_at', 'is', null).executeTakeFirst()) !==
  undefined

/** Whether a cluster is being restored from the snapshot, or would be by a retry. */
export const mayBeRestored = async (on: On, id: string): Promise<boolean> =>
  (await recoveries(on, id).executeTakeFirst()) !== undefined

const unknownReason = 'The reason is unknown'
/**
 * The last ended snapshot of each cluster, and Steelyard's own last backup, by schedule or on
 * request. One that was cancelled says nothing, and a failed one that a user removes is forgotten.
 */
const lastOfEach = (on: On) =>
  on
    .selectFrom('snapshot')
    .distinctOn('cluster_id')
    .select(['cluster_id', 'status', 'reason', 'updated_at'])
    .where('made_by', 'in', ['schedule', 'request'])
    .where((e) =>
      e.or([
        e('status', 'in', ['ready', 'failed']),
        e.and([e('status', 'in', ['removing', 'removed']), e('taken_at', 'is not', null)]),
      ]),
    )
    .orderBy('cluster_id')
    .orderBy('created_at', 'desc')

type Last = Awaited<ReturnType<ReturnType<typeof lastOfEach>['execute']>>[number]
const failureIn = (last: Omit<Last, 'cluster_id'> | undefined): SnapshotCondition['failure'] =>
  last?.status === 'failed' ? { reason: last.reason ?? unknownReason, at: last.updated_at } : null

/** Why and when the last snapshot of the cluster failed; null if it did not. */
export const failureOf = async (on: On, clusterId: string): Promise<SnapshotCondition['failure']> =>
  failureIn(await lastOfEach(on).where('cluster_id', '=', clusterId).executeTakeFirst())

/**
 * Why the last snapshot of each cluster failed, by cluster id. Clusters whose last one is ready are
 * left out.
 */
export async function problems(on: On): Promise<ReadonlyMap<string, string>> {
  return new Map(
    (await lastOfEach(on).where('cluster_id', 'is not', null).execute()).flatMap(
      ({ cluster_id, status, reason }) =>
        status === 'failed' ? [[cluster_id!, reason ?? unknownReason] as const] : [],
    ),
  )
}

/** What findings about the snapshots of a cluster are judged from. */
export interface SnapshotCondition {
  /** When the newest snapshot that can be restored was taken; null if there is none. */
  readonly newest_at: Date | null
  readonly schedule: {
    readonly every_hours: number
    readonly paused: boolean
    readonly created_at: Date
    readonly updated_at: Date
  } | null
  /** The last snapshot, if it failed. */
  readonly failure: { readonly reason: string; readonly at: Date } | null
}

/** The same of Steelyard's own backups in stores. */
export async function backupCondition(on: On): Promise<SnapshotCondition> {
  const last = await lastOfEach(on).where('cluster_id', 'is', null).executeTakeFirst()
  const made = (await allSchedules(on)).find((s) => s.cluster_id === null)
  return {
    newest_at: (await newestReady(on, null))?.taken_at ?? null,
    schedule: made ?? null,
    failure: failureIn(last),
  }
}

/**
 * What findings about snapshots are judged from, by cluster id. Clusters without snapshots and
 * schedule are left out.
 */
export async function snapshotConditions(on: On): Promise<ReadonlyMap<string, SnapshotCondition>> {
  const newest = await on
    .selectFrom('snapshot')
    .select(['cluster_id', sql<Date>`max(taken_at)`.as('at')])
    .where('cluster_id', 'is not', null)
    .where('status', '=', 'ready')
    .groupBy('cluster_id')
    .execute()
  const newestOf = new Map(newest.map((n) => [n.cluster_id!, n.at]))
  const scheduleOfEach = new Map(
    (await allSchedules(on)).flatMap((s) => (s.cluster_id === null ? [] : [[s.cluster_id, s]])),
  )
  const failed = new Map(
    (await lastOfEach(on).where('cluster_id', 'is not', null).execute()).flatMap((l) =>
      l.status === 'failed' ? [[l.cluster_id!, l] as const] : [],
    ),
  )
  const ids = new Set([...newestOf.keys(), ...scheduleOfEach.keys(), ...failed.keys()])
  return new Map(
    [...ids].map((id) => {
      const made = scheduleOfEach.get(id)
      return [
        id,
        {
          newest_at: newestOf.get(id) ?? null,
          schedule: made ?? null,
          failure: failureIn(failed.get(id)),
        },
      ]
    }),
  )
}
