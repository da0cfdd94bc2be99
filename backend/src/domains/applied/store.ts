/**
 * SQL for the record of what `steelyard apply` has created. Rows are written by `record.ts`, in the
 * transaction of each creation and removal.
 */
import { type Selectable, sql } from 'kysely'
import { type AppliedKind, appliedList } from '#contract/apply/applied.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type AppliedRow = Selectable<Tables['applied_object']>

const readers: SqlReaders<typeof appliedList.list> = {
  sort: { kind: sql`kind`, set: sql`set_name`, created_at: sql`created_at` },
  filters: { set: (set) => sql`set_name = ${set}`, kind: (kind) => sql`kind = ${kind}` },
  search: containing('kind', 'id', 'set_name'),
  tie: sql`id`,
}

/** One page of the objects of these kinds. */
export const page = (
  db: Db,
  kinds: readonly AppliedKind[],
  query: Input<typeof appliedList>['query'],
): Promise<{ rows: AppliedRow[]; total: number }> =>
  readPage(
    db.selectFrom('applied_object').selectAll().where('kind', 'in', kinds),
    appliedList.list,
    readers,
    query,
  )

/**
 * Moves objects of one kind to a set. Resolves to the number of objects that were in another set.
 */
export async function move(
  tx: Tx,
  set: string,
  kind: AppliedKind,
  ids: readonly string[],
): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('applied_object')
    .set({ set_name: set })
    .where('kind', '=', kind)
    .where('id', 'in', ids)
    .where('set_name', '<>', set)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}
