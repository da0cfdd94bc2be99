/**
 * Slows down the guessing of passwords. Attempts are counted in the database and timed by its
 * clock, so that all replicas agree. Only a source (an address, a /64 of IPv6, a device known to
 * the account) is slowed down, never the whole account: else anybody could lock out anybody. A
 * source may fail 20 times a minute in total. After five failures in 15 minutes at one account, the
 * source must wait before each further attempt there: 30 s at first, then twice as long each time,
 * at most 15 minutes. A success clears the source's failures at the account. Unknown emails are
 * treated like accounts.
 */
import { sql } from 'kysely'
import { type Db, inTransaction, lock, type Tx } from '../../db/db.ts'

export type Throttle = ReturnType<typeof throttle>

/** Failures of a source at an account without a delay. */
export const freeFailures = 5
const pairWindowMs = 15 * 60_000
const firstDelayMs = 30_000
const longestDelayMs = 15 * 60_000
const sourceFailures = 20
const sourceWindowMs = 60_000

/** Milliseconds to wait after the last failure, by the number of failures in the window. */
export const delayMs = (failures: number): number =>
  failures < freeFailures
    ? 0
    : Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - freeFailures))

/**
 * The database's current time, not the transaction's start time: the transaction may have waited
 * for a lock since then.
 */
const now = sql<Date>`clock_timestamp()`
/**
 * Attempts after this time don't count: a clock that was ahead wrote them. The tolerance is for
 * stored times, which may be rounded up to a millisecond.
 */
const notLater = sql<Date>`clock_timestamp() + interval '1 second'`
const agoMs = (ms: number) => sql<Date>`clock_timestamp() - ${ms} * interval '1 millisecond'`
const ageMs = (at: ReturnType<typeof sql>) =>
  sql<number | null>`(extract(epoch from clock_timestamp() - ${at}) * 1000)::float8`

/**
 * Attempts that one new attempt removes if they no longer count. So the table holds about as many
 * as are checked in 15 minutes, whatever an attack sends.
 */
const removedAtOnce = 5
const removeSome = (tx: Tx) =>
  tx
    .deleteFrom('sign_in_failure')
    .where('id', 'in', (e) =>
      e
        .selectFrom('sign_in_failure')
        .select('id')
        .orderBy('id')
        .limit(removedAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .where('at', '<', agoMs(pairWindowMs))
    .execute()

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
    const delay = delayMs(n)
    // The age of an attempt within the last millisecond can be negative, because its stored time
    // may be rounded up. It must not cause a wait by itself.
    return delay === 0 || age_ms === null ? 0 : Math.max(0, Math.ceil(delay - age_ms))
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
    return rows.length < sourceFailures
      ? 0
      : Math.max(0, Math.ceil(sourceWindowMs - rows.at(-1)!.age_ms!))
  }
  return {
    /**
     * Counts the attempt as failed before the password is checked, so that parallel attempts count
     * too. Returns ms to wait, or 0 and the attempt's number.
     */
    begin: (
      email: string,
      source: string,
    ): Promise<{ waitMs: number; attempt: number | undefined }> =>
      inTransaction(db, async (tx) => {
        // Attempts of one source are serialised.
        await lock(tx, `sign-in ${source}`)
        const waitMs = Math.max(await pairWaitMs(tx, email, source), await sourceWaitMs(tx, source))
        if (waitMs > 0) return { waitMs, attempt: undefined }
        const { id } = await tx
          .insertInto('sign_in_failure')
          .values({ email, source, at: now })
          .returning('id')
          .executeTakeFirstOrThrow()
        await removeSome(tx)
        return { waitMs: 0, attempt: id }
      }),
    /**
     * Called after a correct password: removes the source's attempts at this account, including the
     * current one.
     */
    async succeed(email: string, source: string, on: Db | Tx = db): Promise<void> {
      await on
        .deleteFrom('sign_in_failure')
        .where('email', '=', email)
        .where('source', '=', source)
        .execute()
    },
    /**
     * Called if the password couldn't be checked (the database or the hashing was too busy):
     * removes the attempt.
     */
    async forget(attempt: number): Promise<void> {
      await db.deleteFrom('sign_in_failure').where('id', '=', attempt).execute()
    },
    /** Removes all attempts at an account, of all sources. Returns their number. */
    async unlock(tx: Tx, email: string): Promise<number> {
      const { numDeletedRows } = await tx
        .deleteFrom('sign_in_failure')
        .where('email', '=', email)
        .executeTakeFirst()
      return Number(numDeletedRows)
    },
    /**
     * Removes attempts that no longer count: old ones, and those written by a clock that was ahead.
     */
    async removeOld(): Promise<void> {
      await db
        .deleteFrom('sign_in_failure')
        .where((e) => e.or([e('at', '<', agoMs(pairWindowMs)), e('at', '>', notLater)]))
        .execute()
    },
  }
}
