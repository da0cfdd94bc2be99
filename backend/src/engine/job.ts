/**
 * The context of a reconciler's run: the fence that protects its writes, and the journal through
 * which it has effects outside of the database.
 */
import { sql } from 'kysely'
import { type Clock, elapsedMs } from '../clock.ts'
import { type Db, inTransaction, type Tx } from '../db/db.ts'
import { attributed } from '../history.ts'
import { system } from '../http/caller.ts'
import { inSpan, type Tracing } from '../tracing/tracing.ts'
import type { Failpoint } from './failpoint.ts'

/** An object of a queue. */
export type Work = { readonly queue: string; readonly key: string }

export interface Taken extends Work {
  readonly fence: number
  readonly failures: number
  /** Number of runs in a row that ended their process (`crashes.ts`). */
  readonly crashes: number
  /** Whether the object was halted, and is tried again. */
  readonly trying: boolean
  /** Why the previous run failed. */
  readonly trouble: string | null
}

/** Another process has taken over the object, so this write was refused. */
export class FenceLost extends Error {
  override readonly name = 'FenceLost'
  constructor({ queue, key }: Work) {
    super(`${queue} ${key} was taken over by another process`)
  }
}

export type Fence = ReturnType<typeof fenceOf>

const fenceOf = ({ db, clock }: Pick<JobParts, 'db' | 'clock'>, taken: Taken) => {
  /**
   * For a transaction that another domain has begun: fails it if another run has taken over. Called
   * last, because objects are always locked before their wake-up row. The lock on this row prevents
   * a takeover before the commit.
   * @throws FenceLost
   */
  const demand = async (tx: Tx): Promise<void> => {
    const row = await tx
      .selectFrom('wake_up')
      .select('fence')
      .where('queue', '=', taken.queue)
      .where('key', '=', taken.key)
      .forUpdate()
      .executeTakeFirst()
    if (row?.fence !== taken.fence) throw new FenceLost(taken)
  }
  return {
    number: taken.fence,
    demand,
    /**
     * Runs `change` in a transaction that commits only if this run still holds the object. Like in
     * `inTransaction`, `change` may be retried.
     * @throws FenceLost if another run has taken over; nothing is written
     */
    write: <T>(change: (tx: Tx) => Promise<T>): Promise<T> =>
      inTransaction(db, async (tx) => {
        attributed(tx, system, new Date(clock.now()))
        const result = await change(tx)
        await demand(tx)
        return result
      }),
  }
}

/**
 * Serialises concurrent writes of a run, so that they use one pool connection and don't wait for
 * each other's locks.
 */
export function oneByOne(fence: Fence): Fence['write'] {
  let last: Promise<unknown> = Promise.resolve()
  return (change) => {
    const mine = last.then(() => fence.write(change))
    last = mine.catch(() => undefined)
    return mine
  }
}

export interface EffectInfo {
  /** Number of the attempt, from 1, counted per name of the effect. */
  readonly attempt: number
  /**
   * An earlier attempt has no recorded end, so its effect may have happened. Check before repeating
   * it.
   */
  readonly unknown: boolean
  /** An earlier attempt succeeded. */
  readonly done: boolean
}

export type Job = ReturnType<typeof jobOf>

/** What a run needs of the platform. */
export interface JobParts {
  readonly db: Db
  readonly clock: Clock
  readonly failpoint: Failpoint
  readonly tracing?: Tracing | undefined
}

/** @param signal aborts at shutdown, at the deadline, and when the object is taken over */
export function jobOf(
  taken: Taken,
  signal: AbortSignal,
  { db, clock, failpoint, tracing }: JobParts,
) {
  const { queue, key, failures, crashes } = taken
  const fence = fenceOf({ db, clock }, taken)
  const at = () => new Date(clock.now())
  return {
    queue,
    key,
    fence,
    /** Pass this signal to everything that waits. */
    signal,
    /** Number of consecutive failed runs before this one. */
    failures,
    /** Number of runs in a row, before this one, that ended their process. */
    crashes,
    /** Milliseconds since 1970, by the engine's clock. */
    now: () => clock.now(),
    /** Time of the last jump of the engine's clock; 0 if there was none. */
    steadySince: () => clock.steadySince(),
    /**
     * Milliseconds since the start of this process: time limits of waits don't count the time in
     * which Steelyard didn't run.
     */
    upMs: () => clock.monotonic(),
    /** Milliseconds since a time, without clock jumps. */
    elapsedMs: (since: Date | number) =>
      elapsedMs({ now: clock.now(), steadySince: clock.steadySince() }, since),

    /** A named point outside of effects, at which tests end the process (`FAILPOINT=name:after`). */
    passed: (name: string) => failpoint.reach(name, 'after'),

    /**
     * Performs an effect outside of the database: commits the intent, runs `act`, commits the end;
     * both writes are fenced. `act` must be safe to repeat, or check first: `info.unknown` means
     * that an earlier attempt has no recorded end. Errors of `act` are journalled and rethrown.
     * Names are unique per object, such as `apply/<node id>`, and may be reused for a later effect.
     */
    async effect<T>(name: string, act: (info: EffectInfo) => Promise<T>): Promise<T> {
      const info = await fence.write(async (tx): Promise<EffectInfo> => {
        const before = await tx
          .selectFrom('effect')
          .select(['done_at', 'failed_at'])
          .where('queue', '=', queue)
          .where('key', '=', key)
          .where('name', '=', name)
          .executeTakeFirst()
        const begun = {
          fence: taken.fence,
          intent_at: at(),
          done_at: null,
          failed_at: null,
          error: null,
        }
        const { attempts } = await tx
          .insertInto('effect')
          .values({ queue, key, name, attempts: 1, ...begun })
          .onConflict((c) =>
            c
              .columns(['queue', 'key', 'name'])
              .doUpdateSet({ ...begun, attempts: sql<number>`effect.attempts + 1` }),
          )
          .returning('attempts')
          .executeTakeFirstOrThrow()
        return {
          attempt: attempts,
          unknown: before !== undefined && before.done_at === null && before.failed_at === null,
          done: before?.done_at != null,
        }
      })
      const end = (how: { done_at: Date } | { failed_at: Date; error: string }) =>
        fence.write((tx) =>
          tx
            .updateTable('effect')
            .set(how)
            .where('queue', '=', queue)
            .where('key', '=', key)
            .where('name', '=', name)
            .execute(),
        )
      failpoint.reach(name, 'before')
      let result: T
      try {
        // The rest of an effect's name is the object that it is about.
        const span = tracing?.child(`effect ${name.split('/', 1)[0]!}`, {
          attributes: { 'steelyard.effect': name, 'steelyard.attempt': info.attempt },
        })
        result = await inSpan(span, () => act(info))
      } catch (error) {
        await end({
          failed_at: at(),
          error: error instanceof Error ? error.message : String(error),
        })
        throw error
      }
      failpoint.reach(name, 'after')
      await end({ done_at: at() })
      return result
    },
  }
}
