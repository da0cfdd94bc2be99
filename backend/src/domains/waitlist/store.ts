/** SQL for the waitlist. Nothing else uses this table. */
import { sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { waitlistList } from '#contract/users.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'

/** Undefined if the email is on the waitlist already; then nothing changes. */
export async function insert(tx: Tx, entry: { email: string; name: string; company: string }, at: Date): Promise<string | undefined> {
  const row = await tx
    .insertInto('waitlist_entry')
    .values({ ...entry, created_at: at })
    .onConflict((c) => c.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

const readers: SqlReaders<typeof waitlistList.list> = {
  sort: { created_at: sql`created_at`, email: sql`email` },
  filters: {},
  search: containing('email', 'name', 'company'),
  tie: sql`id`,
}

export const page = (db: Db, query: Input<typeof waitlistList>['query']) =>
  readPage(db.selectFrom('waitlist_entry').selectAll(), waitlistList.list, readers, query)
