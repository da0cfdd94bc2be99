/** SQL that removes old operations. `README.md` of this folder has the rule in words. */
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../db/db.ts'

/** A place in the order of creation. */
export interface Place {
  readonly created_at: Date
  readonly id: string
}

/** Operations of this time or younger ones end before the next slice. */
export interface Slice {
  /** Operations that ended at or after this time stay. */
  readonly endedBefore: Date
  /** The last operation of the slice before; null for the first. */
  readonly after: Place | null
  readonly limit: number
}

export interface RemovedSlice {
  /** How many operations were looked at. */
  readonly read: number
  readonly removed: number
  /** The last that was looked at. */
  readonly last: Place | null
}

/** Whether the object of the operation `o` is no longer there. */
const isGone = sql<boolean>`(o.target_id is not null
  and not exists (select from server t where t.id = o.target_id and t.status <> 'deleted')
  and not exists (select from cluster t where t.id = o.target_id and t.deleted_at is null)
  and not exists (select from datacenter t where t.id = o.target_id)
  and not exists (select from shared_patch t where t.id = o.target_id))`

/**
 * Whether an operation of the same kind on the same object was requested after the end of `o`, and
 * has ended with a result. A cancelled one may have changed nothing, so that findings still judge
 * from the one before it (`stoppedUpgrades`, `failedScheduled`).
 */
const isFollowed = sql<boolean>`exists (select from operation l
  where l.target_kind = o.target_kind and l.kind = o.kind
    and (l.target_id = o.target_id or (l.target_id is null and o.target_id is null))
    and l.created_at > o.ended_at and l.ended_at is not null and l.status <> 'cancelled')`

/** Whether others still need the operation `o`. */
const isNeeded: RawBuilder<boolean> = sql<boolean>`(
  exists (select from cluster n where n.operation_id = o.id)
  or exists (select from cluster_server n where n.operation_id = o.id)
  or exists (select from cluster_pool n where n.operation_id = o.id)
  or exists (select from server n where n.operation_id = o.id)
  or exists (select from cluster_recovery n where n.operation_id = o.id)
  or exists (select from finding n where n.operation_id = o.id and n.ended_at is null)
  or exists (select from server_bulk_item n where n.begun_id = o.id)
  or exists (select from shared_roll_out_server n where n.change_id = o.id)
  or exists (select from shared_roll_out r join shared_roll_out u on u.undoes = r.id where r.operation_id = o.id)
  or exists (select from talos_upgrade u join server s on s.id = u.node_id and s.status <> 'deleted'
    where u.operation_id = o.id and u.sent_at is not null and not exists (
      select from talos_upgrade l where l.node_id = u.node_id and l.sent_at is not null and l.created_at > u.created_at)))`

/**
 * Removes the operations of one slice that nobody needs. An operation that is retried meanwhile is
 * locked, and then has no end.
 */
export async function removeSlice(
  tx: Tx,
  { endedBefore, after, limit }: Slice,
): Promise<RemovedSlice> {
  const beyond =
    after === null
      ? sql`true`
      : sql`created_at >= ${after.created_at} and (created_at > ${after.created_at} or id < ${after.id})`
  const { rows: slice } = await sql<Place>`
    select id, created_at from operation where created_at < ${endedBefore} and ${beyond}
    order by created_at, id desc limit ${limit}`.execute(tx)
  const { rows: removed } = await sql`
    delete from operation o where o.id = any(${slice.map(({ id }) => id)}::uuid[])
      and o.ended_at < ${endedBefore} and (${isGone} or ${isFollowed}) and not ${isNeeded}
    returning o.id`.execute(tx)
  return { read: slice.length, removed: removed.length, last: slice.at(-1) ?? null }
}
