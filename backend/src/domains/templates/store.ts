/** SQL for templates of clusters. */
import { type Selectable, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { type NewTemplate, templateList } from '#contract/templates/templates.ts'
import type { Db, Tx } from '../../db/db.ts'
import { excerptOf } from '../../excerpt.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type TemplateRow = Omit<Selectable<Tables['template']>, 'listed'>
/** A template with excerpts of its patches. */
export type ListedTemplateRow = Omit<Selectable<Tables['template']>, 'definition'>

const columns = [
  'id',
  'name',
  'revision',
  'version',
  'created_at',
  'updated_at',
  'created_by_name',
] as const
const whole = [...columns, 'definition'] as const

type Fields = Omit<NewTemplate, 'name'>
const listedRole = (role: Fields['control_planes'] | Fields['workers']): object =>
  role.patch ? { ...role, patch: { ...role.patch, body: excerptOf(role.patch.body) } } : role
/** The columns of a template's fields: all of them, and those of the list, which are never large. */
const written = (fields: Fields) => ({
  definition: JSON.stringify(fields),
  listed: JSON.stringify({
    ...fields,
    control_planes: listedRole(fields.control_planes),
    workers: listedRole(fields.workers),
  }),
})

const version = (field: string) =>
  sql`coalesce(string_to_array(regexp_replace(listed ->> ${field}, '[^0-9.]', '', 'g'), '.')::bigint[], '{999999}')`
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
  readPage(
    db.selectFrom('template').select([...columns, 'listed']),
    templateList.list,
    readers,
    query,
  )

export const find = (on: On, id: string): Promise<TemplateRow | undefined> =>
  on.selectFrom('template').select(whole).where('id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<TemplateRow | undefined> =>
  tx.selectFrom('template').select(whole).where('id', '=', id).forUpdate().executeTakeFirst()

interface Plain {
  readonly name: string
  readonly fields: Fields
  readonly updated_at: Date
}
export const insert = (
  tx: Tx,
  { fields, ...row }: Plain & { readonly created_at: Date; readonly created_by_name: string },
): Promise<TemplateRow> =>
  tx
    .insertInto('template')
    .values({ ...row, ...written(fields) })
    .returning(whole)
    .executeTakeFirstOrThrow()

/** Writes a change and increments version and revision. The row must be locked. */
export const update = (tx: Tx, id: string, { fields, ...row }: Plain): Promise<TemplateRow> =>
  tx
    .updateTable('template')
    .set({
      ...row,
      ...written(fields),
      version: sql<number>`version + 1`,
      revision: sql<number>`revision + 1`,
    })
    .where('id', '=', id)
    .returning(whole)
    .executeTakeFirstOrThrow()

export const remove = (tx: Tx, id: string) =>
  tx.deleteFrom('template').where('id', '=', id).execute()
