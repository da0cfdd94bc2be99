/**
 * The engine wakes reconcilers, one object at a time, and lets only the one who holds the object write. It knows no domain.
 *
 * `wake_up` holds a row per object: when it is due, who has it, and the fencing number that every write of a reconciler is checked
 * against. `queue.ts` claims what is due and runs it, in any number of processes; `manual.ts` does so by a test's clock.
 * Wake-ups are levels, not messages: many fold into one, and a run sees everything committed before it began.
 */
import { sql } from 'kysely'
import { type Clock, elapsedMs } from '../clock.ts'
import { type Db, inTransaction, isDatabaseGone, lostDatabase, type Tx } from '../db/db.ts'
import type { Log } from '../log.ts'
import { type EffectInfo, runEffect } from './effects.ts'
import type { Failpoint } from './failpoint.ts'
import { endHold, type HoldOwner, putAside } from './holds.ts'
import { sentenceFor } from './trouble.ts'

/** Another process has taken over the object, so this write was refused. */
export class FenceLost extends Error {
  override readonly name = 'FenceLost'
  constructor(queue: string, key: string) {
    super(`${queue} ${key} was taken over by another process`)
  }
}

class TooLong extends Error {
  override readonly name = 'TooLong'
  constructor(deadlineMs: number) {
    super(`It took longer than ${deadlineMs / 1000} s, and is tried again`)
  }
}

export interface Fence {
  readonly number: number
  /**
   * Runs `change` in a transaction that commits only if this run still holds the object. Like in `inTransaction`, it may be retried.
   * @throws FenceLost if another run has taken over; nothing is written
   */
  readonly write: <T>(change: (tx: Tx) => Promise<T>) => Promise<T>
}

export interface Job {
  readonly queue: string
  readonly key: string
  readonly fence: Fence
  /** Aborts at shutdown, at the deadline, and when the object is taken over. Pass it to everything that waits. */
  readonly signal: AbortSignal
  /** Number of consecutive failed runs before this one. */
  readonly failures: number
  /** Milliseconds since 1970, by the engine's clock. */
  readonly now: () => number
  /** Since when that clock has run without a jump. */
  readonly steadySince: () => number
  /** Milliseconds since a time, counting only those without a clock jump. */
  readonly elapsedMs: (since: Date | number) => number
  /**
   * Acts outside of the database: commits the intent, runs `act`, commits the end. `act` must be safe to repeat, or check first:
   * `info.unknown` means that an earlier attempt has no recorded end.
   * Names are unique per object, such as `apply/<node id>`, and may be reused for a later effect.
   */
  readonly effect: <T>(name: string, act: (info: EffectInfo) => Promise<T>) => Promise<T>
}

/** `againMs`: run again after this time even without a wake-up. Void: only when woken. */
export type Outcome = { readonly againMs: number } | void

export interface Reconciler {
  readonly queue: string
  /** One idempotent act towards the wanted state. Errors are logged, stored in the row and retried with back-off. */
  readonly reconcile: (job: Job) => Promise<Outcome>
  /** Concurrent runs per process. */
  readonly concurrency?: number
  /** A longer run is aborted and counts as failed. */
  readonly deadlineMs?: number
}

/** An object of a queue. */
export interface Work {
  readonly queue: string
  readonly key: string
}

export interface Taken extends Work {
  readonly fence: number
  readonly failures: number
  /** Why the previous run failed. */
  readonly trouble: string | null
}

/** Free places of a process for a queue. */
export interface Places {
  readonly queue: string
  readonly places: number
}

export interface Engine {
  register(reconciler: Reconciler): void
  /** In the caller's transaction: the object runs after the commit, or `afterMs` later. The earliest of several wake-ups counts. */
  wake(tx: Tx, queue: string, key: string, options?: { afterMs?: number }): Promise<void>
  /** Sentences about why the last runs of objects failed, by `queue key`. Only currently failing objects. */
  troubles(on: Db | Tx, objects: readonly Work[]): Promise<ReadonlyMap<string, string>>
  /** Objects of these queues whose last run failed, with the reason. */
  failing(on: Db | Tx, queues: readonly string[]): Promise<readonly (Work & { readonly reason: string })[]>
  /** `tell` is called in the transaction in which the trouble of an object appears, changes or disappears. */
  onTrouble(tell: (tx: Tx, object: Work) => Promise<void>): void
  /** In the caller's transaction: ends the holds of an owner; deferred wake-ups run after the commit. Returns the held ids. */
  release(tx: Tx, owner: HoldOwner): Promise<readonly string[]>
}

export interface Core extends Engine {
  readonly db: Db
  readonly owner: string
  readonly reconcilers: ReadonlyMap<string, Reconciler>
  /** For tests: uses this clock instead of the database's. */
  useClock(clock: Clock): void
  /** Claims due objects up to the free places of each queue and increments their fences. */
  claim(places: readonly Places[]): Promise<readonly Taken[]>
  /** Runs the reconciler once and releases the object. */
  run(taken: Taken, shutdown: AbortSignal): Promise<void>
  /** Aborts a run whose object was taken over. */
  lose(run: Taken): void
  /** Current runs of this process. */
  running(): readonly Taken[]
}

/** A run loses its object after this time without a heartbeat of its process. */
export const leaseMs = 15_000
/** Notification channel. The payload is the number of ms until an object is due. */
export const wakeChannel = 'steelyard_wake'
/** Every process checks the queue at least this often. Later wake-ups are not announced, because NOTIFY takes a server-wide lock at commit. */
export const longestSleepMs = 3_000
const defaultDeadlineMs = 120_000
const firstRetryMs = 2_000
const longestRetryMs = 120_000
/** Delay after a run that a lost database connection interrupted. */
const afterLossMs = 100

export interface EngineParts {
  readonly db: Db
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Name of this process, stable over restarts. */
  readonly owner: string
  readonly failpoint: Failpoint
}

/** Milliseconds until a retry: doubles from 2 s to 2 min, with half of it random to spread retries. */
export const retryDelayMs = (failures: number, random: () => number): number => {
  const full = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 16))
  return Math.round(full / 2 + (full / 2) * random())
}

/** Retries a database call while the database is away. @throws the last error if `signal` aborts */
async function untilDatabase<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(500, 2 * pauseMs)) {
    try {
      return await act()
    } catch (error) {
      if (signal.aborted || !isDatabaseGone(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

export function engine({ db, clock, random, log, owner, failpoint }: EngineParts): Core {
  const reconcilers = new Map<string, Reconciler>()
  const runs = new Map<string, { taken: Taken; abort: AbortController }>()
  const told: ((tx: Tx, object: Work) => Promise<void>)[] = []
  let testClock: Clock | undefined
  /** The database's time, on which all processes agree. */
  const now = () => (testClock ? sql<Date>`${new Date(testClock.now())}::timestamptz` : sql<Date>`now()`)
  const later = (ms: number) => sql<Date>`(${now()} + ${`${ms} milliseconds`}::interval)`
  /** Heard by all processes after the commit. */
  const announced = sql`pg_notify(${wakeChannel}, greatest(0, ceil(extract(epoch from due_at - clock_timestamp()) * 1000))::bigint::text)`
  const isSoon = sql`due_at < clock_timestamp() + ${`${longestSleepMs} milliseconds`}::interval`

  const checkFence = async (tx: Tx, { queue, key, fence }: Taken): Promise<void> => {
    // Last in the transaction and with a row lock: objects are always locked before their wake-up, and the lock prevents a takeover before the commit.
    const row = await tx.selectFrom('wake_up').select('fence').where('queue', '=', queue).where('key', '=', key).forUpdate().executeTakeFirst()
    if (row?.fence !== fence) throw new FenceLost(queue, key)
  }

  const fenceOf = (taken: Taken): Fence => ({
    number: taken.fence,
    write: (change) =>
      inTransaction(db, async (tx) => {
        const result = await change(tx)
        await checkFence(tx, taken)
        return result
      }),
  })

  /** `end`: null for success, a sentence for failure, undefined if the run doesn't count. */
  const release = (taken: Taken, end: string | null | undefined, againMs: number | undefined): Promise<unknown> =>
    inTransaction(db, async (tx) => {
      // Before the wake-up row is locked, because visible objects are always locked before it.
      if (end !== undefined && end !== taken.trouble) for (const tell of told) await tell(tx, taken)
      const outcome = end === undefined ? sql`` : sql`, failures = ${end === null ? 0 : taken.failures + 1}, last_error = ${end}`
      // `least` ignores nulls: the earlier of wake-ups during the run and the run's own `againMs`.
      return sql`
        with released as (
          update wake_up set owner = null, beat_at = null, due_at = least(due_at, ${againMs === undefined ? null : later(againMs)}::timestamptz) ${outcome}
          where queue = ${taken.queue} and key = ${taken.key} and fence = ${taken.fence} and owner = ${owner} returning due_at)
        select ${announced} from released where ${isSoon}`.execute(tx)
    })

  const wake: Engine['wake'] = async (tx, queue, key, { afterMs = 0 } = {}) => {
    // While a run holds the object, its release announces the next due time.
    await sql`
      with woken as (
        insert into wake_up (queue, key, due_at) values (${queue}, ${key}, ${later(afterMs)})
        on conflict (queue, key) do update set due_at = least(wake_up.due_at, excluded.due_at) returning due_at, owner)
      select ${announced} from woken where owner is null and ${isSoon}`.execute(tx)
  }

  return {
    db,
    owner,
    reconcilers,
    wake,
    useClock: (clock) => void (testClock = clock),

    register(reconciler) {
      if (reconcilers.has(reconciler.queue)) throw new Error(`Two reconcilers for ${reconciler.queue}`)
      reconcilers.set(reconciler.queue, reconciler)
    },

    async release(tx, holder) {
      const { subjects, aside } = await endHold(tx, holder)
      for (const { queue, key } of aside) await wake(tx, queue, key)
      return subjects
    },

    async troubles(on, objects) {
      if (objects.length === 0) return new Map()
      const rows = await on
        .selectFrom('wake_up')
        .select(['queue', 'key', 'last_error'])
        .where('failures', '>', 0)
        .where((e) =>
          e(
            e.refTuple('queue', 'key'),
            'in',
            objects.map(({ queue, key }) => e.tuple(queue, key)),
          ),
        )
        .execute()
      return new Map(rows.flatMap(({ queue, key, last_error }) => (last_error === null ? [] : [[`${queue} ${key}`, last_error] as const])))
    },

    async failing(on, queues) {
      const rows = await on
        .selectFrom('wake_up')
        .select(['queue', 'key', 'last_error as reason'])
        .where('failures', '>', 0)
        .where('queue', 'in', queues)
        .orderBy('queue')
        .orderBy('key')
        .execute()
      return rows.flatMap(({ reason, ...work }) => (reason === null ? [] : [{ ...work, reason }]))
    },

    // A dependent domain locks its rows first, as in all its calls.
    onTrouble: (tell) => void told.unshift(tell),

    async claim(places) {
      if (places.length === 0) return []
      // Materialized, because evaluating it twice would lock more rows than there are places.
      const { rows } = await sql<Taken & { held: boolean }>`
        with due as materialized (
          select w.queue, w.key from json_to_recordset(${JSON.stringify(places)}) as free (queue text, places integer)
          cross join lateral (
            select queue, key from wake_up where queue = free.queue and owner is null and due_at <= ${now()}
            order by due_at, key limit free.places for update skip locked) w)
        update wake_up w set fence = w.fence + 1, owner = ${owner}, taken_at = now(), beat_at = now(), due_at = null
        from due where w.queue = due.queue and w.key = due.key
        returning w.queue, w.key, w.fence, w.failures, w.last_error as trouble,
          exists (select from hold where hold.subject::text = split_part(w.key, '/', 1)) as held`.execute(db)
      const claimed = await Promise.all(rows.map(async ({ held, ...taken }) => (held && (await inTransaction(db, (tx) => putAside(tx, taken))) ? [] : [taken])))
      return claimed.flat()
    },

    async run(taken, shutdown) {
      const { queue, key } = taken
      const reconciler = reconcilers.get(queue)
      if (!reconciler) throw new Error(`No reconciler for ${queue}`)
      const abort = new AbortController()
      // Includes the fence, because an overtaken run may still be ending while the next one runs in this process.
      const runKey = `${queue} ${key} ${taken.fence}`
      runs.set(runKey, { taken, abort })
      const deadlineMs = reconciler.deadlineMs ?? defaultDeadlineMs
      const deadline = setTimeout(() => abort.abort(new TooLong(deadlineMs)), deadlineMs)
      const fence = fenceOf(taken)
      const job: Job = {
        queue,
        key,
        fence,
        failures: taken.failures,
        signal: AbortSignal.any([abort.signal, shutdown]),
        now: () => clock.now(),
        steadySince: () => clock.steadySince(),
        elapsedMs: (since) => elapsedMs({ now: clock.now(), steadySince: clock.steadySince() }, Number(since)),
        effect: (name, act) => runEffect({ taken, fence, name, act, clock, failpoint }),
      }
      let end: string | null | undefined
      let againMs: number | undefined
      try {
        againMs = (await reconciler.reconcile(job))?.againMs
        end = null
      } catch (error) {
        if (error instanceof FenceLost) {
          log.warn('run.lost', { queue, key, fence: taken.fence })
        } else if (shutdown.aborted) {
          // Not a failure: the next process continues at once.
          againMs = 0
        } else if (lostDatabase(error)) {
          log.debug('run.broken_off', { queue, key, error })
          againMs = afterLossMs
        } else {
          end = sentenceFor(error)
          againMs = retryDelayMs(taken.failures + 1, random)
          log.error('run.failed', { queue, key, failures: taken.failures + 1, error })
        }
      } finally {
        clearTimeout(deadline)
        runs.delete(runKey)
      }
      // The result is written as soon as the database is back. Until then the object stays claimed.
      await untilDatabase(() => release(taken, end, againMs), shutdown)
    },

    lose({ queue, key, fence }) {
      runs.get(`${queue} ${key} ${fence}`)?.abort.abort(new FenceLost(queue, key))
    },

    running: () => [...runs.values()].map((r) => r.taken),
  }
}
