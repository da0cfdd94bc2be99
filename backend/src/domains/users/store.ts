/** SQL for users. Only this file and the SQL for sessions use the table. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { userList } from '#contract/users.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type Row = Selectable<Tables['person']>

/** How a person can sign in, beside the columns of the person. */
export interface Ways {
  readonly has_provider: boolean
  readonly has_second_factor: boolean
}
const hasProvider = sql<boolean>`exists (select 1 from person_identity i where i.person_id = person.id)`
const hasSecondFactor = sql<boolean>`(exists (select 1 from totp t where t.person_id = person.id and t.since is not null)
  or exists (select 1 from passkey k where k.person_id = person.id))`

const readers: SqlReaders<typeof userList.list> = {
  sort: { email: sql`email`, name: sql`name`, role: sql`role`, created_at: sql`created_at` },
  filters: {
    role: (role) => sql`role = ${role}`,
    status: (status) =>
      status === 'active' ? sql`disabled_at is null` : sql`disabled_at is not null`,
    second_factor: (wanted) => (wanted === 'yes' ? hasSecondFactor : sql`not ${hasSecondFactor}`),
  },
  search: containing('email', 'name'),
  tie: sql`id`,
}

const withWays = (db: Db | Tx) =>
  db
    .selectFrom('person')
    .selectAll()
    .select([hasProvider.as('has_provider'), hasSecondFactor.as('has_second_factor')])

export const page = (
  db: Db,
  query: Input<typeof userList>['query'],
): Promise<{ rows: (Row & Ways)[]; total: number }> =>
  readPage(withWays(db), userList.list, readers, query)

/** A person with the ways to sign in. */
export const whole = (db: Db | Tx, id: string): Promise<Row & Ways> =>
  withWays(db).where('id', '=', id).executeTakeFirstOrThrow()

/** Users who can change roles, by name. */
export const administrators = (db: Db, limit: number) =>
  db
    .selectFrom('person')
    .select(['name', 'email'])
    .where('role', '=', 'admin')
    .where('disabled_at', 'is', null)
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .execute()

export const insert = (
  tx: Tx,
  {
    at,
    ...person
  }: { email: string; name: string; role: Row['role']; password_hash: string | null; at: Date },
): Promise<Row> =>
  tx
    .insertInto('person')
    .values({ ...person, created_at: at, updated_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()

export const byEmail = (on: Db | Tx, email: string): Promise<Row | undefined> =>
  on.selectFrom('person').selectAll().where('email', '=', email).executeTakeFirst()

/** Locks the active admins, so that concurrent changes can't remove the last one. */
export const lockAdmins = (tx: Tx) =>
  tx
    .selectFrom('person')
    .select('id')
    .where('role', '=', 'admin')
    .where('disabled_at', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute()

export const lock = (tx: Tx, id: string): Promise<Row | undefined> =>
  tx.selectFrom('person').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

export const byId = (db: Db, id: string): Promise<Row | undefined> =>
  db.selectFrom('person').selectAll().where('id', '=', id).executeTakeFirst()

export const update = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['person']>,
  at: Date,
): Promise<Row> =>
  tx
    .updateTable('person')
    .set((e) => ({ ...change, updated_at: at, version: e('version', '+', 1) }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

/** Locks the person with this email. */
export const lockByEmail = (tx: Tx, email: string): Promise<Row | undefined> =>
  tx.selectFrom('person').selectAll().where('email', '=', email).forUpdate().executeTakeFirst()

/** The id of the person to whom an account at a provider belongs. */
export const idOfIdentity = async (
  db: Db | Tx,
  { issuer, subject }: { issuer: string; subject: string },
): Promise<string | undefined> =>
  (
    await db
      .selectFrom('person_identity')
      .select('person_id')
      .where('issuer', '=', issuer)
      .where('subject', '=', subject)
      .executeTakeFirst()
  )?.person_id

/** Whether the person has an account at this provider already. */
export const hasIdentity = async (tx: Tx, personId: string, issuer: string): Promise<boolean> =>
  (await tx
    .selectFrom('person_identity')
    .select('subject')
    .where('person_id', '=', personId)
    .where('issuer', '=', issuer)
    .executeTakeFirst()) !== undefined

export const putIdentity = (
  tx: Tx,
  identity: { issuer: string; subject: string; person_id: string; created_at: Date },
) => tx.insertInto('person_identity').values(identity).execute()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('person').where('id', '=', id).execute()

/** Stores a link for a new password in place of the person's previous link. */
export const putReset = (tx: Tx, reset: Insertable<Tables['password_reset']>) =>
  tx
    .insertInto('password_reset')
    .values(reset)
    .onConflict((c) => c.column('person_id').doUpdateSet(reset))
    .execute()

/** Removes the links that somebody made. Returns the people for whom they were. */
export const removeResetsOf = (tx: Tx, makerId: string) =>
  tx
    .deleteFrom('password_reset')
    .using('person')
    .whereRef('person.id', '=', 'password_reset.person_id')
    .where('offered_by', '=', makerId)
    .returning(['person.id', 'person.email'])
    .execute()

/** Removes the link for somebody. Returns whether there was one. */
export const removeResetFor = async (tx: Tx, personId: string): Promise<boolean> =>
  (await tx
    .deleteFrom('password_reset')
    .where('person_id', '=', personId)
    .returning('person_id')
    .executeTakeFirst()) !== undefined

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
  (await tx
    .deleteFrom('password_reset')
    .where('hash', '=', hash)
    .returning('person_id')
    .executeTakeFirst()) !== undefined

export const removeOldResets = (db: Db, now: Date) =>
  db.deleteFrom('password_reset').where('expires_at', '<=', now).execute()

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
