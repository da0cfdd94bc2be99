/** SQL for templates of clusters. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { templateList } from '#contract/templates/templates.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type TemplateRow = Selectable<Tables['template']>

const version = (field: string) =>
  sql`coalesce(string_to_array(regexp_replace(definition ->> ${field}, '[^0-9.]', '', 'g'), '.')::bigint[], '{999999}')`
const readers: SqlReaders<typeof templateList.list> = {
  sort: {
    name: sql`name`,
    talos_version: version('talos_version'),
    kubernetes_version: version('kubernetes_version'),
    updated_at: sql`updated_at`,
  },
  filters: {},
  search: containing('name'),
  tie: sql`id`,
}

export const page = (db: Db, query: Input<typeof templateList>['query']) =>
  readPage(db.selectFrom('template').selectAll(), templateList.list, readers, query)

export const find = (on: On, id: string): Promise<TemplateRow | undefined> =>
  on.selectFrom('template').selectAll().where('id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<TemplateRow | undefined> =>
  tx.selectFrom('template').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

export const insert = (
  tx: Tx,
  row: Omit<Insertable<Tables['template']>, 'id' | 'version' | 'revision'>,
): Promise<TemplateRow> =>
  tx.insertInto('template').values(row).returningAll().executeTakeFirstOrThrow()

/** Writes a change and increments version and revision. The row must be locked. */
export const update = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['template']>,
): Promise<TemplateRow> =>
  tx
    .updateTable('template')
    .set({
      ...change,
      version: sql<number>`version + 1`,
      revision: sql<number>`revision + 1`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

export const remove = (tx: Tx, id: string) =>
  tx.deleteFrom('template').where('id', '=', id).execute()
