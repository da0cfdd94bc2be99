/** SQL for users. Only this file and the SQL for sessions use the table. */
import { type Selectable, sql, type Updateable } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { userList } from '#contract/users.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type Row = Selectable<Tables['person']>

const readers: SqlReaders<typeof userList.list> = {
  sort: { email: sql`email`, name: sql`name`, role: sql`role`, created_at: sql`created_at` },
  filters: {},
  search: containing('email', 'name'),
  tie: sql`id`,
}

export const page = (db: Db, query: Input<typeof userList>['query']): Promise<{ rows: Row[]; total: number }> =>
  readPage(db.selectFrom('person').selectAll(), userList.list, readers, query)

export const insert = (tx: Tx, { at, ...person }: { email: string; name: string; role: Row['role']; password_hash: string; at: Date }): Promise<Row> =>
  tx
    .insertInto('person')
    .values({ ...person, created_at: at, updated_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()

export const byEmail = (db: Db, email: string): Promise<Row | undefined> => db.selectFrom('person').selectAll().where('email', '=', email).executeTakeFirst()

/** Locks the active admins, so that concurrent changes can't remove the last one. */
export const lockAdmins = (tx: Tx) =>
  tx.selectFrom('person').select('id').where('role', '=', 'admin').where('disabled_at', 'is', null).orderBy('id').forUpdate().execute()

export const lock = (tx: Tx, id: string): Promise<Row | undefined> => tx.selectFrom('person').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

export const byId = (db: Db, id: string): Promise<Row | undefined> => db.selectFrom('person').selectAll().where('id', '=', id).executeTakeFirst()

export const update = (tx: Tx, id: string, change: Updateable<Tables['person']>, at: Date): Promise<Row> =>
  tx
    .updateTable('person')
    .set((e) => ({ ...change, updated_at: at, version: e('version', '+', 1) }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('person').where('id', '=', id).execute()

/** Stores a link for a new password in place of the person's previous link. */
export const putReset = (tx: Tx, reset: { person_id: string; hash: Buffer; created_at: Date; expires_at: Date }) =>
  tx
    .insertInto('password_reset')
    .values(reset)
    .onConflict((c) => c.column('person_id').doUpdateSet(reset))
    .execute()

/** The person whose password a link can set; undefined if the link isn't valid (any more). */
export const resetOf = (db: Db, hash: Buffer, now: Date) =>
  db
    .selectFrom('password_reset')
    .innerJoin('person', 'person.id', 'password_reset.person_id')
    .select(['person.id', 'person.email', 'password_reset.expires_at'])
    .where('password_reset.hash', '=', hash)
    .where('password_reset.expires_at', '>', now)
    .executeTakeFirst()

/** Uses up a link. Returns whether the link was valid until now. */
export const spendReset = async (tx: Tx, hash: Buffer): Promise<boolean> =>
  (await tx.deleteFrom('password_reset').where('hash', '=', hash).returning('person_id').executeTakeFirst()) !== undefined

export const removeOldResets = (db: Db, now: Date) => db.deleteFrom('password_reset').where('expires_at', '<=', now).execute()

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
