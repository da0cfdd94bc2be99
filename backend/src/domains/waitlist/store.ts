/** SQL for the waitlist. Nothing else knows this table. */
import { sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { orderOf } from '#contract/page.ts'
import type { waitlistList } from '#contract/users.ts'
import { type Db, likePattern, type Tx } from '../../db/db.ts'

/** Undefined where the email is known already; nothing changes then. */
export async function insert(tx: Tx, entry: { email: string; name: string; company: string }, at: Date): Promise<string | undefined> {
  const row = await tx
    .insertInto('waitlist_entry')
    .values({ ...entry, created_at: at })
    .onConflict((c) => c.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

export async function page(db: Db, query: Input<typeof waitlistList>['query']) {
  const pattern = likePattern(query.q ?? '')
  const matching = db
    .selectFrom('waitlist_entry')
    .where((e) => e.or([e('email', 'ilike', pattern), e('name', 'ilike', pattern), e('company', 'ilike', pattern)]))
  const { column, direction } = orderOf(query.sort, 'created_at')
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
