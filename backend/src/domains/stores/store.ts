/** SQL for stores. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { storeList } from '#contract/storage/stores.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type StoreRow = Selectable<Tables['store']>

const readers: SqlReaders<typeof storeList.list> = {
  sort: { name: sql`name`, verified_at: sql`verified_at`, created_at: sql`created_at` },
  filters: { kind: (kind) => sql`kind = ${kind}` },
  search: containing('name', 'folder', 'endpoint', 'bucket'),
  tie: sql`id`,
  nullsLast: true,
}

export const page = (db: Db, query: Input<typeof storeList>['query']) =>
  readPage(db.selectFrom('store').selectAll(), storeList.list, readers, query)

export const find = (on: On, id: string): Promise<StoreRow | undefined> =>
  on.selectFrom('store').selectAll().where('id', '=', id).executeTakeFirst()
export const named = (on: On, name: string): Promise<{ id: string } | undefined> =>
  on.selectFrom('store').select('id').where('name', '=', name).executeTakeFirst()
/** At most two stores. */
export const some = (on: On): Promise<StoreRow[]> =>
  on.selectFrom('store').selectAll().limit(2).execute()
/** Another S3 store at the same place: endpoint, bucket and prefix. */
export const atSamePlace = (
  on: On,
  { id, endpoint, bucket, prefix }: Pick<StoreRow, 'id' | 'endpoint' | 'bucket' | 'prefix'>,
): Promise<{ name: string } | undefined> =>
  on
    .selectFrom('store')
    .select('name')
    .where('id', '<>', id)
    .where('endpoint', '=', endpoint)
    .where('bucket', '=', bucket)
    .where(sql`rtrim(prefix, '/')`, '=', sql`rtrim(${prefix}, '/')`)
    .executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<StoreRow | undefined> =>
  tx.selectFrom('store').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

export const insert = (tx: Tx, row: Insertable<Tables['store']>): Promise<StoreRow> =>
  tx.insertInto('store').values(row).returningAll().executeTakeFirstOrThrow()

/** A change that users see: increments the version. */
export const update = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['store']>,
): Promise<StoreRow> =>
  tx
    .updateTable('store')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('store').where('id', '=', id).execute()
