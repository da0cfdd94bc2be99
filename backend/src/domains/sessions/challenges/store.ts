/** SQL for challenges. Nothing else uses this table. */
import type { Insertable, Selectable } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'

export type ChallengeRow = Selectable<Tables['sign_in_challenge']>

/**
 * Expired challenges that a new one removes. So the table holds about as many as are begun until
 * they expire, whatever an attack sends.
 */
const removedAtOnce = 5

/** Stores a challenge, and removes some that have expired. */
export async function insert(
  db: Db,
  challenge: Omit<Insertable<Tables['sign_in_challenge']>, 'id'>,
  now: Date,
): Promise<string> {
  await db
    .deleteFrom('sign_in_challenge')
    .where('id', 'in', (e) =>
      e
        .selectFrom('sign_in_challenge')
        .select('id')
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(removedAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .execute()
  return (
    await db
      .insertInto('sign_in_challenge')
      .values(challenge)
      .returning('id')
      .executeTakeFirstOrThrow()
  ).id
}

/**
 * Deletes a challenge and returns it, so that of concurrent answers only one gets it. An expired
 * challenge is deleted too, but not returned.
 */
export async function spend(
  db: Db,
  {
    kind,
    id,
    session_id,
    browser_hash,
    now,
  }: Pick<ChallengeRow, 'kind' | 'id' | 'session_id' | 'browser_hash'> & { now: Date },
): Promise<ChallengeRow | undefined> {
  const row = await db
    .deleteFrom('sign_in_challenge')
    .where('id', '=', id)
    .where('kind', '=', kind)
    .where('session_id', 'is not distinct from', session_id)
    .where('browser_hash', 'is not distinct from', browser_hash)
    .returningAll()
    .executeTakeFirst()
  return row && row.expires_at > now ? row : undefined
}

export const removeOld = (db: Db, now: Date) =>
  db.deleteFrom('sign_in_challenge').where('expires_at', '<=', now).execute()
