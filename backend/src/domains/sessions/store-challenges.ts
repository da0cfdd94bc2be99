/** SQL for challenges. Nothing else uses this table. */
import type { Insertable, Selectable } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type ChallengeRow = Selectable<Tables['sign_in_challenge']>

export const insert = async (db: Db, challenge: Omit<Insertable<Tables['sign_in_challenge']>, 'id'>): Promise<string> =>
  (await db.insertInto('sign_in_challenge').values(challenge).returning('id').executeTakeFirstOrThrow()).id

/** Deletes a challenge and returns it, so that of concurrent answers only one gets it. An expired challenge is deleted too, but not returned. */
export async function spend(
  db: Db,
  { kind, id, session_id, now }: Pick<ChallengeRow, 'kind' | 'id' | 'session_id'> & { now: Date },
): Promise<ChallengeRow | undefined> {
  const row = await db
    .deleteFrom('sign_in_challenge')
    .where('id', '=', id)
    .where('kind', '=', kind)
    .where('session_id', 'is not distinct from', session_id)
    .returningAll()
    .executeTakeFirst()
  return row && row.expires_at > now ? row : undefined
}

export const removeOld = (db: Db, now: Date) => db.deleteFrom('sign_in_challenge').where('expires_at', '<=', now).execute()
