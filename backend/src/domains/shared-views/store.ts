/** SQL for shared views. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { sharedViewList } from '#contract/people/shared-views.ts'
import { counted } from '../../db/counted.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type ViewRow = Selectable<Tables['shared_view']>

const readers: SqlReaders<typeof sharedViewList.list> = {
  sort: { name: sql`name`, list: sql`list`, updated_at: sql`updated_at` },
  filters: { list: (list) => sql`list = ${list}` },
  search: containing('name', 'author'),
  tie: sql`id`,
}

/** The views of these lists. */
export const page = (
  db: Db,
  lists: readonly string[],
  query: Input<typeof sharedViewList>['query'],
) =>
  readPage(
    db
      .selectFrom('shared_view')
      .selectAll()
      .where('list', '=', sql<string>`any(${lists}::text[])`),
    sharedViewList.list,
    readers,
    query,
  )

export const find = (db: Db, id: string): Promise<ViewRow | undefined> =>
  db.selectFrom('shared_view').selectAll().where('id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<ViewRow | undefined> =>
  tx.selectFrom('shared_view').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

/** The number of views of the list. Until the transaction ends, no other adds one. */
export const countedIn = (tx: Tx, list: string): Promise<number> =>
  counted(tx, 'shared_view', sql`list = ${list}`)

export const insert = (tx: Tx, row: Insertable<Tables['shared_view']>): Promise<ViewRow> =>
  tx.insertInto('shared_view').values(row).returningAll().executeTakeFirstOrThrow()

/** Writes a change and increments the version. The row must be locked. */
export const update = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['shared_view']>,
): Promise<ViewRow> =>
  tx
    .updateTable('shared_view')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

export const remove = (tx: Tx, id: string) =>
  tx.deleteFrom('shared_view').where('id', '=', id).execute()
