/** SQL for people. Nothing else knows this table; the sessions' SQL joins it. */
import { type Selectable, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { orderOf } from '#contract/page.ts'
import type { userList } from '#contract/users.ts'
import { type Db, likePattern, type Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.ts'

type Row = Selectable<Tables['person']>

export async function page(db: Db, query: Input<typeof userList>['query']): Promise<{ rows: Row[]; total: number }> {
  const { column, direction } = orderOf(query.sort, 'email')
  const matching = query.q
    ? db.selectFrom('person').where((e) => e.or([e('email', 'ilike', likePattern(query.q!)), e('name', 'ilike', likePattern(query.q!))]))
    : db.selectFrom('person')
  const [rows, count] = await Promise.all([
    matching
      .selectAll()
      .orderBy(column, direction)
      .orderBy('id')
      .limit(query.per_page)
      .offset((query.page - 1) * query.per_page)
      .execute(),
    matching.select(sql<number>`count(*)::int`.as('n')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.n }
}

export const insert = (tx: Tx, { at, ...person }: { email: string; name: string; role: Row['role']; password_hash: string; at: Date }): Promise<Row> =>
  tx
    .insertInto('person')
    .values({ ...person, created_at: at, updated_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()

export const byEmail = (db: Db, email: string): Promise<Row | undefined> => db.selectFrom('person').selectAll().where('email', '=', email).executeTakeFirst()

export const count = async (db: Db | Tx): Promise<number> =>
  (
    await db
      .selectFrom('person')
      .select(sql<number>`count(*)::int`.as('n'))
      .executeTakeFirstOrThrow()
  ).n

export const signedIn = (tx: Tx, id: string, at: Date, rehashed: string | undefined) =>
  tx
    .updateTable('person')
    .set({ last_sign_in_at: at, ...(rehashed !== undefined && { password_hash: rehashed }) })
    .where('id', '=', id)
    .execute()
