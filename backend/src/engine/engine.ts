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

/** Another process has taken the object over; what this one wanted to write was refused. */
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
   * Runs `change` in a transaction that commits only if this run still holds the object. As in `inTransaction`, it may be run again.
   * @throws FenceLost where another run has taken it since; nothing is written then
   */
  readonly write: <T>(change: (tx: Tx) => Promise<T>) => Promise<T>
}

export interface Job {
  readonly queue: string
  readonly key: string
  readonly fence: Fence
  /** Aborted at shutdown, at the deadline, and when the object was taken over. Pass it to everything that waits. */
  readonly signal: AbortSignal
  /** Runs in a row that failed before this one. */
  readonly failures: number
  /** Milliseconds since 1970, by the engine's clock. */
  readonly now: () => number
  /** Since when that clock runs without a jump. */
  readonly steadySince: () => number
  /** Milliseconds since then, of which only those count in which the clock ran without a jump. */
  readonly elapsedMs: (since: Date | number) => number
  /**
   * Does something outside the database: the intent is committed, `act` runs, the end is committed. `act` must be safe to repeat, or look first:
   * `info.unknown` says that an earlier attempt began and never told how it ended.
   * Names are unique per object, such as `apply/<node id>`; a name may be used again for a later, separate effect.
   */
  readonly effect: <T>(name: string, act: (info: EffectInfo) => Promise<T>) => Promise<T>
}

/** `againMs`: look again after so many milliseconds even if nobody asks. Nothing: only when woken. */
export type Outcome = { readonly againMs: number } | void

export interface Reconciler {
  readonly queue: string
  /** One idempotent act towards what is wanted. What it throws is written to the log and the row, and it is tried again with back-off. */
  readonly reconcile: (job: Job) => Promise<Outcome>
  /** Objects looked after at once by one process. */
  readonly concurrency?: number
  /** A run that takes longer is aborted and counts as failed. */
  readonly deadlineMs?: number
}

/** An object that a reconciler looks after. */
export interface Work {
  readonly queue: string
  readonly key: string
}

export interface Taken extends Work {
  readonly fence: number
  readonly failures: number
  /** Why the run before this one failed. */
  readonly trouble: string | null
}

/** Places of a process that are free for a reconciler. */
export interface Places {
  readonly queue: string
  readonly places: number
}

export interface Engine {
  register(reconciler: Reconciler): void
  /** In the caller's transaction: the object is looked at after the commit, or `afterMs` later. An earlier wish wins over a later one. */
  wake(tx: Tx, queue: string, key: string, options?: { afterMs?: number }): Promise<void>
  /** Why the last runs of objects failed, as sentences for people, by `queue key`; of those that fail now alone. */
  troubles(on: Db | Tx, objects: readonly Work[]): Promise<ReadonlyMap<string, string>>
  /** The objects of these queues whose last run failed, with why. */
  failing(on: Db | Tx, queues: readonly string[]): Promise<readonly (Work & { readonly reason: string })[]>
  /** `tell` is called in the transaction in which the trouble of an object comes, changes or goes. */
  onTrouble(tell: (tx: Tx, object: Work) => Promise<void>): void
  /** In the caller's transaction: ends the holds of an owner, and what was asked for meanwhile is looked at after the commit. Answers the ids that were held. */
  release(tx: Tx, owner: HoldOwner): Promise<readonly string[]>
}

export interface Core extends Engine {
  readonly db: Db
  readonly owner: string
  readonly reconcilers: ReadonlyMap<string, Reconciler>
  /** Tests: what is due is decided by this clock instead of the database's. */
  useClock(clock: Clock): void
  /** Claims what is due, at most as many objects of each queue as there are places: counts their fences up. */
  claim(places: readonly Places[]): Promise<readonly Taken[]>
  /** Runs the reconciler once and releases the object. */
  run(taken: Taken, shutdown: AbortSignal): Promise<void>
  /** Ends a run whose object was taken over. */
  lose(run: Taken): void
  /** What runs in this process now. */
  running(): readonly Taken[]
}

/** A run whose process hasn't been heard of for this long has lost its object. */
export const leaseMs = 15_000
/** Carries the milliseconds until an object is due. */
export const wakeChannel = 'steelyard_wake'
/** Every process looks at the queue at least this often. What is due later than that is not announced: NOTIFY takes a lock of the whole server at each commit. */
export const longestSleepMs = 3_000
const defaultDeadlineMs = 120_000
const firstRetryMs = 2_000
const longestRetryMs = 120_000
/** After a run that the database broke off: it is back within moments, or the next try waits for it. */
const afterLossMs = 100

export interface EngineParts {
  readonly db: Db
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Names this process, the same after a restart. */
  readonly owner: string
  readonly failpoint: Failpoint
}

/** Milliseconds until a failed run is tried again: doubles from 2 s to 2 min, half of it by chance so that what failed together doesn't come back together. */
export const retryDelayMs = (failures: number, random: () => number): number => {
  const full = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 16))
  return Math.round(full / 2 + (full / 2) * random())
}

/** Does what only the database can refuse, again and again for as long as that is away. @throws what it threw last, where `signal` says that nothing is waited for */
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
  /** The database's time, so that processes agree. */
  const now = () => (testClock ? sql<Date>`${new Date(testClock.now())}::timestamptz` : sql<Date>`now()`)
  const later = (ms: number) => sql<Date>`(${now()} + ${`${ms} milliseconds`}::interval)`
  /** Heard by all processes after the commit. */
  const announced = sql`pg_notify(${wakeChannel}, greatest(0, ceil(extract(epoch from due_at - clock_timestamp()) * 1000))::bigint::text)`
  const isSoon = sql`due_at < clock_timestamp() + ${`${longestSleepMs} milliseconds`}::interval`

  const checkFence = async (tx: Tx, { queue, key, fence }: Taken): Promise<void> => {
    // Last in the transaction and with a row lock: objects are locked before their wake-up everywhere, and nobody can take over before the commit.
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

  /** `end`: null where it went well, a sentence where it failed; undefined where it came to neither, and counts as if it hadn't been. */
  const release = (taken: Taken, end: string | null | undefined, againMs: number | undefined): Promise<unknown> =>
    inTransaction(db, async (tx) => {
      // Before the row of the wake-up is locked: what people see is locked before it everywhere.
      if (end !== undefined && end !== taken.trouble) for (const tell of told) await tell(tx, taken)
      const outcome = end === undefined ? sql`` : sql`, failures = ${end === null ? 0 : taken.failures + 1}, last_error = ${end}`
      // `least` ignores nulls: the earlier of what was asked for while it ran and what the run itself asked for.
      return sql`
        with released as (
          update wake_up set owner = null, beat_at = null, due_at = least(due_at, ${againMs === undefined ? null : later(againMs)}::timestamptz) ${outcome}
          where queue = ${taken.queue} and key = ${taken.key} and fence = ${taken.fence} and owner = ${owner} returning due_at)
        select ${announced} from released where ${isSoon}`.execute(tx)
    })

  const wake: Engine['wake'] = async (tx, queue, key, { afterMs = 0 } = {}) => {
    // While a run holds the object, the release of that run announces what is due next.
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

    // A domain that is built on another locks its own rows first, as in every call of it.
    onTrouble: (tell) => void told.unshift(tell),

    async claim(places) {
      if (places.length === 0) return []
      // Materialized: a plan that evaluated it more than once would lock more than the places.
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
      // With the fence: a run that was overtaken may still be ending while the next one goes on in this same process.
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
          // Nothing failed: the next process goes on at once.
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
      // What is known of the run is told as soon as the database is back; until then nobody else may have the object, and it isn't looked at.
      await untilDatabase(() => release(taken, end, againMs), shutdown)
    },

    lose({ queue, key, fence }) {
      runs.get(`${queue} ${key} ${fence}`)?.abort.abort(new FenceLost(queue, key))
    },

    running: () => [...runs.values()].map((r) => r.taken),
  }
}
