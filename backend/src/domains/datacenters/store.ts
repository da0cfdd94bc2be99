/** SQL for datacenters. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type DatacenterRow = Selectable<Tables['datacenter']>
export type NewDatacenter = Omit<
  Insertable<Tables['datacenter']>,
  'id' | 'index' | 'created_at' | 'updated_at' | 'version'
>

/**
 * All datacenters. A provider has tens of them, and other domains count their contents, so sorting
 * and searching happen in memory.
 */
export const all = (on: Db | Tx): Promise<DatacenterRow[]> =>
  on.selectFrom('datacenter').selectAll().orderBy('code').execute()

export const get = (on: Db | Tx, id: string): Promise<DatacenterRow | undefined> =>
  on.selectFrom('datacenter').selectAll().where('id', '=', id).executeTakeFirst()
/** The datacenter, locked against removal until the transaction ends. */
export const hold = (on: Db | Tx, id: string): Promise<DatacenterRow | undefined> =>
  on.selectFrom('datacenter').selectAll().where('id', '=', id).forKeyShare().executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<DatacenterRow | undefined> =>
  tx.selectFrom('datacenter').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

/**
 * Counts the references to a datacenter in the tables of all domains. The caller has locked the
 * datacenter's row: no reference is added before the transaction ends, because a new reference
 * needs a share lock on that row (by its foreign key). `additions`: running operations that add
 * servers to the datacenter. `join_tokens`: tokens that can still be used and assign servers to it.
 */
export async function referring(tx: Tx, id: string, at: Date) {
  const { rows } = await sql<
    Record<'servers' | 'clusters' | 'subnets' | 'additions' | 'join_tokens', number>
  >`select
    (select count(*)::int from server where datacenter_id = ${id} and status <> 'deleted') as servers,
    (select count(*)::int from cluster where datacenter_id = ${id} and deleted_at is null) as clusters,
    (select count(*)::int from subnet where datacenter_id = ${id}) as subnets,
    (select count(*)::int from operation where target_kind = 'datacenter' and target_id = ${id} and ended_at is null) as additions,
    (select count(*)::int from join_token where datacenter_id = ${id} and revoked_at is null
      and (expires_at is null or expires_at > ${at}) and (max_uses is null or uses < max_uses)) as join_tokens`.execute(
    tx,
  )
  return rows[0]!
}

/**
 * Sets the datacenter of removed servers and deleted clusters to null, so that they don't block its
 * deletion. The audit log keeps the datacenter.
 */
export async function forgetIn(tx: Tx, id: string): Promise<void> {
  await sql`update server set datacenter_id = null where datacenter_id = ${id} and status = 'deleted'`.execute(
    tx,
  )
  await sql`update cluster set datacenter_id = null where datacenter_id = ${id} and deleted_at is not null`.execute(
    tx,
  )
}

/**
 * Increments the city's last index, so that the code of a removed datacenter is never reused. The
 * lock on the city's row serialises callers.
 */
export async function nextIndex(
  tx: Tx,
  city: { country_code: string; city_code: string },
  wanted: number | undefined,
): Promise<number> {
  const { last_index } = await tx
    .insertInto('city_index')
    .values({ country_code: city.country_code, city_code: city.city_code, last_index: wanted ?? 1 })
    .onConflict((c) =>
      c.columns(['country_code', 'city_code']).doUpdateSet({
        last_index:
          wanted === undefined
            ? sql`city_index.last_index + 1`
            : sql`greatest(city_index.last_index, ${wanted}::int)`,
      }),
    )
    .returning('last_index')
    .executeTakeFirstOrThrow()
  return wanted ?? last_index
}

export const insert = (
  tx: Tx,
  datacenter: NewDatacenter & { index: number },
  at: Date,
): Promise<DatacenterRow> =>
  tx
    .insertInto('datacenter')
    .values({ ...datacenter, created_at: at, updated_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()

export const update = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['datacenter']>,
  at: Date,
): Promise<DatacenterRow> =>
  tx
    .updateTable('datacenter')
    .set({ ...change, updated_at: at, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

/**
 * Rewrites the rows of removed servers after the datacenter's code has changed, because lists that
 * show the code reload only rewritten rows.
 */
export const touchRemovedIn = (tx: Tx, id: string) =>
  sql`update server set datacenter_id = datacenter_id where datacenter_id = ${id} and status = 'deleted'`.execute(
    tx,
  )

export const remove = (tx: Tx, id: string) =>
  tx.deleteFrom('datacenter').where('id', '=', id).execute()
