/**
 * Slows guessing down, counted in the database so that replicas agree. Per account: after five failures in 15 minutes each further try waits, 30 s at
 * first and twice as long each time, 15 minutes at most. Per address: 20 failures a minute. A success clears the account; what never was an account counts the same.
 */
import { sql } from 'kysely'
import type { Clock } from '../../clock.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { sourceOf } from '../../network.ts'

export interface Throttle {
  /** Counts the try as a failure before the password is looked at, so that parallel tries count too. Answers the ms to wait, or 0 and the try's number. */
  begin(email: string, ip: string): Promise<{ waitMs: number; attempt: number | undefined }>
  /** The password was right: this try doesn't count, and the account's earlier ones are forgotten. */
  succeed(email: string, attempt: number): Promise<void>
  /** Nothing was decided (the database or the hashing was too busy): this try doesn't count. */
  forget(attempt: number): Promise<void>
}

const freeFailures = 5
const windowMs = 15 * 60_000
const firstDelayMs = 30_000
const longestDelayMs = 15 * 60_000
const addressFailures = 20
const addressWindowMs = 60_000

/** Milliseconds to wait after the last of `failures` in the window. */
export const delayMs = (failures: number): number => (failures < freeFailures ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - freeFailures)))

export function throttle({ db, clock }: { db: Db; clock: Clock }): Throttle {
  const accountWait = async (tx: Tx, email: string): Promise<number> => {
    const since = new Date(clock.now() - windowMs)
    const { n, last } = await tx
      .selectFrom('sign_in_failure')
      .select([sql<number>`count(*)::int`.as('n'), sql<Date | null>`max(at)`.as('last')])
      .where('email', '=', email)
      .where('at', '>', since)
      .executeTakeFirstOrThrow()
    return last === null ? 0 : Math.max(0, last.getTime() + delayMs(n) - clock.now())
  }
  const addressWait = async (tx: Tx, address: string): Promise<number> => {
    const since = new Date(clock.now() - addressWindowMs)
    const rows = await tx
      .selectFrom('sign_in_failure')
      .select('at')
      .where('address', '=', address)
      .where('at', '>', since)
      .orderBy('at', 'desc')
      .limit(addressFailures)
      .execute()
    return rows.length < addressFailures ? 0 : Math.max(0, rows.at(-1)!.at.getTime() + addressWindowMs - clock.now())
  }
  return {
    begin: (email, ip) =>
      inTransaction(db, async (tx) => {
        const address = sourceOf(ip)
        // Tries of one account and of one address are counted one after the other.
        await sql`select pg_advisory_xact_lock(hashtextextended(key, 0)) from unnest(array[${`account ${email}`}, ${`address ${address}`}]::text[]) as key order by key`.execute(
          tx,
        )
        const waitMs = Math.max(await accountWait(tx, email), await addressWait(tx, address))
        if (waitMs > 0) return { waitMs, attempt: undefined }
        const { id } = await tx
          .insertInto('sign_in_failure')
          .values({ email, address, at: new Date(clock.now()) })
          .returning('id')
          .executeTakeFirstOrThrow()
        return { waitMs: 0, attempt: id }
      }),
    async succeed(email, attempt) {
      await db
        .deleteFrom('sign_in_failure')
        .where((e) => e.or([e('id', '=', attempt), e('email', '=', email)]))
        .execute()
    },
    async forget(attempt) {
      await db.deleteFrom('sign_in_failure').where('id', '=', attempt).execute()
    },
  }
}
