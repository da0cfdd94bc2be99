/** SQL for the waitlist. Nothing else uses this table. */
import { type Selectable, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { type waitlistStatuses, waitlistList } from '#contract/people/invitations.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type EntryRow = Selectable<Tables['waitlist_entry']> & { status: (typeof waitlistStatuses)[number] }

/** Undefined if the email is on the waitlist already; then nothing changes. */
export async function insert(
  tx: Tx,
  entry: { email: string; name: string; company: string },
  at: Date,
): Promise<string | undefined> {
  const row = await tx
    .insertInto('waitlist_entry')
    .values({ ...entry, created_at: at })
    .onConflict((c) => c.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** Number of all entries. */
export const count = async (tx: Tx): Promise<number> =>
  (
    await tx
      .selectFrom('waitlist_entry')
      .select(sql<number>`count(*)::int`.as('n'))
      .executeTakeFirstOrThrow()
  ).n

const status = sql<
  EntryRow['status']
>`case when exists (select 1 from person p where p.email = waitlist_entry.email) then 'joined'
  when invited_at is not null then 'invited' else 'waiting' end`

const readers: SqlReaders<typeof waitlistList.list> = {
  sort: { created_at: sql`created_at`, email: sql`email`, name: sql`name` },
  filters: { status: (wanted) => sql`${status} = ${wanted}` },
  search: containing('email', 'name', 'company'),
  tie: sql`id`,
}

export const page = (
  db: Db,
  query: Input<typeof waitlistList>['query'],
): Promise<{ rows: EntryRow[]; total: number }> =>
  readPage(
    db.selectFrom('waitlist_entry').selectAll().select(status.as('status')),
    waitlistList.list,
    readers,
    query,
  )

/** Records that somebody was invited. Undefined for an id that doesn't exist. */
export const invited = (tx: Tx, id: string, at: Date) =>
  tx
    .updateTable('waitlist_entry')
    .set({ invited_at: at })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()

export const remove = (tx: Tx, id: string) =>
  tx.deleteFrom('waitlist_entry').where('id', '=', id).returningAll().executeTakeFirst()
