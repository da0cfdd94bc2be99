/**
 * Slows guessing down, counted in the database so that replicas agree, and by its time, so that no clock of a process matters. What is slowed is a
 * source (an address, a /64 of IPv6, a device that is known to the account), never the account alone: else anybody could keep anybody out.
 * A source has 20 failures a minute; a source at one account five in 15 minutes, after which each further try waits, 30 s at first and twice as long each
 * time, 15 minutes at most. A success clears what its source did at the account; an email that nobody has counts the same.
 */
import { sql } from 'kysely'
import { type Db, inTransaction, lock, type Tx } from '../../db/db.ts'

export type Throttle = ReturnType<typeof throttle>

const freeFailures = 5
const pairWindowMs = 15 * 60_000
const firstDelayMs = 30_000
const longestDelayMs = 15 * 60_000
const sourceFailures = 20
const sourceWindowMs = 60_000

/** Milliseconds to wait after the last of `failures` in the window. */
export const delayMs = (failures: number): number => (failures < freeFailures ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - freeFailures)))

/** Of the database; not the transaction's, which may have waited for a lock since. */
const now = sql<Date>`clock_timestamp()`
/** Later times were written by a clock that was ahead. Times are kept to the millisecond, and may be rounded up. */
const notLater = sql<Date>`clock_timestamp() + interval '1 second'`
const agoMs = (ms: number) => sql<Date>`clock_timestamp() - ${ms} * interval '1 millisecond'`
const ageMs = (at: ReturnType<typeof sql>) => sql<number | null>`(extract(epoch from clock_timestamp() - ${at}) * 1000)::float8`

export function throttle({ db }: { db: Db }) {
  const pairWaitMs = async (tx: Tx, email: string, source: string): Promise<number> => {
    const { n, age_ms } = await tx
      .selectFrom('sign_in_failure')
      .select([sql<number>`count(*)::int`.as('n'), ageMs(sql`max(at)`).as('age_ms')])
      .where('email', '=', email)
      .where('source', '=', source)
      .where('at', '>', agoMs(pairWindowMs))
      .where('at', '<=', notLater)
      .executeTakeFirstOrThrow()
    return age_ms === null ? 0 : Math.max(0, Math.ceil(delayMs(n) - age_ms))
  }
  const sourceWaitMs = async (tx: Tx, source: string): Promise<number> => {
    const rows = await tx
      .selectFrom('sign_in_failure')
      .select(ageMs(sql`at`).as('age_ms'))
      .where('source', '=', source)
      .where('at', '>', agoMs(sourceWindowMs))
      .where('at', '<=', notLater)
      .orderBy('at', 'desc')
      .limit(sourceFailures)
      .execute()
    return rows.length < sourceFailures ? 0 : Math.max(0, Math.ceil(sourceWindowMs - rows.at(-1)!.age_ms!))
  }
  return {
    /** Counts the try as a failure before the password is looked at, so that parallel tries count too. Answers the ms to wait, or 0 and the try's number. */
    begin: (email: string, source: string): Promise<{ waitMs: number; attempt: number | undefined }> =>
      inTransaction(db, async (tx) => {
        // Tries of one source are counted one after the other.
        await lock(tx, `sign-in ${source}`)
        const waitMs = Math.max(await pairWaitMs(tx, email, source), await sourceWaitMs(tx, source))
        if (waitMs > 0) return { waitMs, attempt: undefined }
        const { id } = await tx.insertInto('sign_in_failure').values({ email, source, at: now }).returning('id').executeTakeFirstOrThrow()
        return { waitMs: 0, attempt: id }
      }),
    /** The password was right: the source's tries at this account don't count, this one included. */
    async succeed(email: string, source: string): Promise<void> {
      await db.deleteFrom('sign_in_failure').where('email', '=', email).where('source', '=', source).execute()
    },
    /** Nothing was decided (the database or the hashing was too busy): this try doesn't count. */
    async forget(attempt: number): Promise<void> {
      await db.deleteFrom('sign_in_failure').where('id', '=', attempt).execute()
    },
    /** Forgets all tries at an account, from everywhere. Answers how many there were. */
    async unlock(tx: Tx, email: string): Promise<number> {
      const { numDeletedRows } = await tx.deleteFrom('sign_in_failure').where('email', '=', email).executeTakeFirst()
      return Number(numDeletedRows)
    },
    /** Removes tries that no longer count: old ones, and those that a clock ahead of time has written. */
    async removeOld(): Promise<void> {
      await db
        .deleteFrom('sign_in_failure')
        .where((e) => e.or([e('at', '<', agoMs(pairWindowMs)), e('at', '>', notLater)]))
        .execute()
    },
  }
}
