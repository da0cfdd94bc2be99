/** SQL for sessions, refresh tokens and preferences. */
import { type Insertable, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { sessionList } from '#contract/sessions.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type NewSession = Pick<
  Insertable<Tables['session']>,
  'id' | 'person_id' | 'expires_at' | 'ip' | 'user_agent' | 'method' | 'has_second_factor'
>

export const insertSession = (tx: Tx, { at, ...session }: NewSession & { at: Date }) =>
  tx
    .insertInto('session')
    .values({ ...session, created_at: at, last_used_at: at, proved_at: at, revoked_reason: null })
    .execute()

const withPerson = (db: Db | Tx) =>
  db
    .selectFrom('session')
    .innerJoin('person', 'person.id', 'session.person_id')
    .select([
      'session.id',
      'session.expires_at',
      'session.last_used_at',
      'session.revoked_at',
      'session.method',
      'session.has_second_factor',
      'session.proved_at',
      'person.id as person_id',
      'person.email',
      'person.name',
      'person.role',
      'person.disabled_at',
    ])

/** A session with its person, who may be disabled. */
export const session = (db: Db | Tx, id: string) =>
  withPerson(db).where('session.id', '=', id).executeTakeFirst()
export const sessions = (db: Db, ids: readonly string[]) =>
  withPerson(db).where('session.id', 'in', ids).execute()

/** For records about a person's sessions. */
export const person = (tx: Tx, id: string) =>
  tx.selectFrom('person').select(['id', 'email']).where('id', '=', id).executeTakeFirst()

const readers: SqlReaders<typeof sessionList.list> = {
  sort: { last_used_at: sql`session.last_used_at`, created_at: sql`session.created_at` },
  filters: {},
  search: containing('person.email', 'session.ip', 'session.user_agent'),
  tie: sql`session.id`,
}

/** A page of open sessions of a person, or of all people if `personId` is undefined. */
export function openPage(
  db: Db,
  query: Input<typeof sessionList>['query'],
  { personId, now, usedAfter }: { personId: string | undefined; now: Date; usedAfter: Date },
) {
  const open = withPerson(db)
    .where('session.revoked_at', 'is', null)
    .where('person.disabled_at', 'is', null)
    .where('session.expires_at', '>', now)
    .where('session.last_used_at', '>', usedAfter)
    .select(['session.created_at', 'session.ip', 'session.user_agent'])
  return readPage(
    personId === undefined ? open : open.where('session.person_id', '=', personId),
    sessionList.list,
    readers,
    query,
  )
}

export const insertToken = (
  tx: Tx,
  token: { hash: Buffer; session_id: string; parent_hash: Buffer | null; created_at: Date },
) =>
  tx
    .insertInto('refresh_token')
    .values(token)
    .onConflict((c) => c.doNothing())
    .execute()

/**
 * Locks the token's row and returns it, so that concurrent refreshes with the same token are
 * serialised.
 */
export const lockToken = (tx: Tx, hash: Buffer) =>
  tx.selectFrom('refresh_token').selectAll().where('hash', '=', hash).forUpdate().executeTakeFirst()

export const markUsed = (tx: Tx, hash: Buffer, at: Date) =>
  tx.updateTable('refresh_token').set({ used_at: at }).where('hash', '=', hash).execute()

export const sessionOfToken = async (tx: Tx, hash: Buffer): Promise<string | undefined> =>
  (
    await tx
      .selectFrom('refresh_token')
      .select('session_id')
      .where('hash', '=', hash)
      .executeTakeFirst()
  )?.session_id

/** Ends a session. Returns whether it was open until now. */
export async function revoke(tx: Tx, id: string, at: Date, reason: string): Promise<boolean> {
  const row = await tx
    .updateTable('session')
    .set({ revoked_at: at, revoked_reason: reason })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Ends a person's open sessions except `but`. Returns the ids of the ended sessions. */
export async function revokeAll(
  tx: Tx,
  personId: string,
  at: Date,
  reason: string,
  but: string | undefined,
): Promise<string[]> {
  let standing = tx
    .updateTable('session')
    .set({ revoked_at: at, revoked_reason: reason })
    .where('person_id', '=', personId)
    .where('revoked_at', 'is', null)
  if (but !== undefined) standing = standing.where('id', '!=', but)
  return (await standing.where('expires_at', '>', at).returning('id').execute()).map(({ id }) => id)
}

export const prove = (tx: Tx, id: string, at: Date) =>
  tx.updateTable('session').set({ proved_at: at }).where('id', '=', id).execute()

/** Marks one session as one with a second factor. */
export const addSecondFactor = (tx: Tx, id: string) =>
  tx.updateTable('session').set({ has_second_factor: true }).where('id', '=', id).execute()

/**
 * After a person's last second factor was removed: sessions that were signed in with a password
 * have none any more.
 */
export const withoutSecondFactor = (tx: Tx, personId: string) =>
  tx
    .updateTable('session')
    .set({ has_second_factor: false })
    .where('person_id', '=', personId)
    .where('method', '=', 'password')
    .execute()

export const touch = (tx: Db | Tx, id: string, at: Date) =>
  tx.updateTable('session').set({ last_used_at: at }).where('id', '=', id).execute()

export async function removeOld(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('session').where('expires_at', '<', before).execute()
}

export const preferences = async (db: Db, personId: string): Promise<Record<string, unknown>> =>
  (
    await db
      .selectFrom('preference')
      .select('preferences')
      .where('person_id', '=', personId)
      .executeTakeFirst()
  )?.preferences ?? {}

export const putPreferences = (db: Db, personId: string, value: object, at: Date) =>
  db
    .insertInto('preference')
    .values({ person_id: personId, preferences: JSON.stringify(value), updated_at: at })
    .onConflict((c) =>
      c.column('person_id').doUpdateSet({ preferences: JSON.stringify(value), updated_at: at }),
    )
    .execute()
