/**
 * The engine runs reconcilers, one object at a time. Only the run that holds an object may write.
 * The engine doesn't depend on any domain.
 *
 * `wake_up` has a row per object: when it is due, which process has claimed it, and the fencing
 * number against which every write of a reconciler is checked. `queue.ts` claims and runs due
 * objects, in any number of processes; `testing/manual-engine.ts` does so in tests, with a test
 * clock. Wake-ups are level-triggered: several are merged into one, and a run sees everything
 * committed before it began.
 */
import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { isDatabaseAway } from '../causes/causes.ts'
import { Told } from '../causes/told.ts'
import { type Db, inTransaction, tryLock, type Tx, untilDatabase } from '../db/db.ts'
import type { Log } from '../log.ts'
import { inSpan, type Span } from '../tracing/tracing.ts'
import { cleared, halt, haltedObjects, haltedSentence, resumeHalted, takeBack } from './crashes.ts'
import { endHold, type HoldOwner, putAside } from './holds.ts'
import { FenceLost, type Job, jobOf, type JobParts, type Taken, type Work } from './job.ts'
import { type EffectSlice, type RemovedEffects, removeSlice } from './old-effects.ts'
import { sentenceFor } from './trouble.ts'

export { type Fence, FenceLost, type Job, oneByOne, type Taken, type Work } from './job.ts'

/** What the engine needs of the platform. */
interface Parts extends JobParts {
  readonly random: () => number
  readonly log: Log
  /** Name of this process, unchanged by a restart. */
  readonly owner: string
}

class TooLong extends Told {
  override readonly name = 'TooLong'
  constructor(deadlineMs: number) {
    super(`Took longer than ${deadlineMs / 1000} s; Steelyard tries again`)
  }
}

/**
 * `againMs`: run again after this time even without a wake-up. Void: run again only after a
 * wake-up.
 */
export type Outcome = { readonly againMs: number } | void

/**
 * What the engine needs to know of operations, to halt an object whose runs end the process
 * (`crashes.ts`).
 */
export interface Carriers {
  /** Whether an open operation carries the row `w` of `wake_up`. */
  readonly carried: () => RawBuilder<boolean>
  /** Called after objects were halted: their operations wait for a user. */
  readonly halted: (tx: Tx, objects: readonly Work[], reason: string) => Promise<void>
  /** Called when the run of a halted object has ended: its operation goes on. */
  readonly resumed: (tx: Tx, object: Work, reason: string) => Promise<void>
  /** The open operation that an object's run carries out, and the trace that it continues. */
  readonly origin?: (object: Work) => Promise<Origin | undefined>
}

export interface Origin {
  readonly operationId: string
  readonly kind: string
  readonly traceparent: string | null
}

export interface Reconciler {
  readonly queue: string
  /**
   * One idempotent step towards the wanted state. Errors are logged, stored in the row and retried
   * with back-off.
   */
  readonly reconcile: (job: Job) => Promise<Outcome>
  /** Concurrent runs per process. */
  readonly concurrency?: number
  /** A longer run is aborted and counts as failed. */
  readonly deadlineMs?: number
}

/** A run loses its object after this time without a heartbeat of its process. */
export const leaseMs = 15_000
/** Notification channel. The payload is the number of ms until an object is due. */
export const wakeChannel = 'steelyard_wake'
/**
 * Every process checks the queue at least this often. Wake-ups due later than that aren't
 * announced, because NOTIFY takes a server-wide lock at commit.
 */
export const longestSleepMs = 3_000
const defaultDeadlineMs = 120_000
const firstRetryMs = 2_000
const longestRetryMs = 120_000
/** Effects that are looked at in one transaction. */
const effectSlice = 1_000
/** Delay after a run that was interrupted by a lost database connection. */
const afterLossMs = 100

/** Notifies all processes after the commit. */
const announced = sql`pg_notify(${wakeChannel}, greatest(0, ceil(extract(epoch from due_at - clock_timestamp()) * 1000))::bigint::text)`
const isSoon = sql`due_at < clock_timestamp() + ${`${longestSleepMs} milliseconds`}::interval`

/**
 * Milliseconds until a retry: doubles from 2 s to 2 min; half of the delay is random, to spread
 * retries.
 */
export const retryDelayMs = (failures: number, random: () => number): number => {
  const full = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 16))
  return Math.round(full / 2 + (full / 2) * random())
}

export class Engine {
  readonly db: Db
  readonly owner: string
  /** This start of the process; `owner` is the same after a restart. */
  readonly instance = randomUUID()
  #carriers: Carriers | undefined
  readonly reconcilers = new Map<string, Reconciler>()
  readonly #parts: Parts
  readonly #runs = new Map<string, { taken: Taken; abort: AbortController }>()
  readonly #troubleListeners: ((tx: Tx, object: Work) => Promise<void>)[] = []
  #testClock: Clock | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.db = parts.db
    this.owner = parts.owner
  }

  /** The database's time, on which all processes agree. */
  #now(): RawBuilder<Date> {
    return this.#testClock
      ? sql<Date>`${new Date(this.#testClock.now())}::timestamptz`
      : sql<Date>`now()`
  }

  #later(ms: number): RawBuilder<Date> {
    return sql<Date>`(${this.#now()} + ${`${ms} milliseconds`}::interval)`
  }

  /** For tests: uses this clock instead of the database's. */
  useClock(clock: Clock): void {
    this.#testClock = clock
  }

  register(reconciler: Reconciler): void {
    if (this.reconcilers.has(reconciler.queue))
      throw new Error(`Two reconcilers for ${reconciler.queue}`)
    this.reconcilers.set(reconciler.queue, reconciler)
  }

  /**
   * Called in the caller's transaction: the object's reconciler runs after the commit, or `afterMs`
   * later. The earliest of several wake-ups counts.
   */
  async wake(
    tx: Tx,
    queue: string,
    key: string,
    { afterMs = 0 }: { afterMs?: number } = {},
  ): Promise<void> {
    // The wake-up isn't announced while a run holds the object: the end of that run announces the
    // due time.
    await sql`
      with woken as (
        insert into wake_up (queue, key, due_at) values (${queue}, ${key}, ${this.#later(afterMs)})
        on conflict (queue, key) do update set due_at = least(wake_up.due_at, excluded.due_at) returning due_at, owner)
      select ${announced} from woken where owner is null and ${isSoon}`.execute(tx)
  }

  /**
   * Called in the caller's transaction: ends the holds of an owner (`holds.ts`). Deferred wake-ups
   * run after the commit. Returns the ids that were held.
   */
  async release(tx: Tx, owner: HoldOwner): Promise<readonly string[]> {
    const { subjects, aside } = await endHold(tx, owner)
    for (const { queue, key } of aside) await this.wake(tx, queue, key)
    return subjects
  }

  /** Called once, by the domain of operations. */
  carriedBy(carriers: Carriers): void {
    this.#carriers = carriers
  }

  /**
   * Halts objects whose runs have ended the process repeatedly, and says so at their operations.
   * `isAny`: whether any object is halted.
   */
  async haltCrashed(): Promise<{ readonly halted: readonly Work[]; readonly isAny: boolean }> {
    const carriers = this.#carriers
    if (!carriers) return { halted: [], isAny: false }
    const { halted, isAny } = await inTransaction(this.db, (tx) => halt(tx, carriers.carried()))
    // A separate transaction, because operations are locked before the objects that carry them out.
    if (halted.length > 0)
      await inTransaction(this.db, (tx) => carriers.halted(tx, halted, haltedSentence))
    return { halted, isAny }
  }

  /** Removes the effects that ended before this time and that nobody needs. Returns their number. */
  async removeOldEffects(endedBefore: Date): Promise<number> {
    const carriers = this.#carriers
    if (!carriers) return 0
    let removed = 0
    for (let after: RemovedEffects['last'] = null; ;) {
      const slice: EffectSlice = {
        endedBefore,
        after,
        limit: effectSlice,
        carried: carriers.carried(),
      }
      const one: RemovedEffects | null = await inTransaction(this.db, async (tx) =>
        (await tryLock(tx, 'steelyard old effects')) ? removeSlice(tx, slice) : null,
      )
      removed += one?.removed ?? 0
      if (one === null || one.read < effectSlice) return removed
      after = one.last
    }
  }

  /** The objects whose runs have ended the process repeatedly, and have not ended since. */
  halted(on: Db | Tx): Promise<readonly Work[]> {
    return haltedObjects(on)
  }

  /**
   * Called in the caller's transaction: halted objects run again after the commit. Returns whether
   * any of them was halted.
   */
  async resume(tx: Tx, objects: readonly Work[]): Promise<boolean> {
    const isAny = await resumeHalted(tx, objects)
    if (isAny) for (const { queue, key } of objects) await this.wake(tx, queue, key)
    return isAny
  }

  /**
   * Why the last runs of objects failed: sentences by `queue key`. Contains only objects that are
   * currently failing.
   */
  async troubles(
    on: Db | Tx,
    objects: readonly Work[],
  ): Promise<ReadonlyMap<string, { readonly reason: string; readonly isHalted: boolean }>> {
    if (objects.length === 0) return new Map()
    const rows = await on
      .selectFrom('wake_up')
      .select(['queue', 'key', 'last_error', 'halted_at'])
      .where('failures', '>', 0)
      .where((e) =>
        e(
          e.refTuple('queue', 'key'),
          'in',
          objects.map(({ queue, key }) => e.tuple(queue, key)),
        ),
      )
      .execute()
    return new Map(
      rows.flatMap(({ queue, key, last_error: reason, halted_at }) =>
        reason === null
          ? []
          : [[`${queue} ${key}`, { reason, isHalted: halted_at !== null }] as const],
      ),
    )
  }

  /** Objects of these queues whose last run failed, with the reason. */
  async failing(
    on: Db | Tx,
    queues: readonly string[],
  ): Promise<readonly (Work & { readonly reason: string; readonly isHalted: boolean })[]> {
    const rows = await on
      .selectFrom('wake_up')
      .select(['queue', 'key', 'last_error as reason', 'halted_at'])
      .where('failures', '>', 0)
      .where('queue', 'in', queues)
      .orderBy('queue')
      .orderBy('key')
      .execute()
    return rows.flatMap(({ reason, halted_at, ...work }) =>
      reason === null ? [] : [{ ...work, reason, isHalted: halted_at !== null }],
    )
  }

  /**
   * `tell` is called in the transaction in which an object's error appears, changes or disappears.
   */
  onTrouble(tell: (tx: Tx, object: Work) => Promise<void>): void {
    // Listeners run in reverse order of registration: a domain registers after the domains that it
    // uses, and must lock its rows before theirs.
    this.#troubleListeners.unshift(tell)
  }

  /**
   * Claims due objects, at most as many as each queue has free places, and increments their fencing
   * numbers.
   * @param which suspects run one at a time (`crashes.ts`)
   */
  async claim(
    places: readonly { readonly queue: string; readonly places: number }[],
    which: 'suspects' | 'others' = 'others',
  ): Promise<readonly Taken[]> {
    if (places.length === 0) return []
    // The subquery is materialized, because evaluating it twice would lock more rows than there are
    // places.
    const { rows } = await sql<Taken & { held: boolean }>`
      with due as materialized (
        select w.queue, w.key from json_to_recordset(${JSON.stringify(places)}) as free (queue text, places integer)
        cross join lateral (
          select queue, key from wake_up where queue = free.queue and owner is null and halted_at is null and due_at <= ${this.#now()} and (suspicions > 0) = ${which === 'suspects'}
          order by due_at, key limit free.places for update skip locked) w)
      update wake_up w set fence = w.fence + 1, owner = ${this.owner}, instance = ${this.instance}, taken_at = now(), beat_at = now(), due_at = null
      from due where w.queue = due.queue and w.key = due.key
      returning w.queue, w.key, w.fence, w.failures, w.crashes, w.trying, w.last_error as trouble,
        exists (select from hold where hold.subject::text = split_part(w.key, '/', 1)) as held`.execute(
      this.db,
    )
    const claimed = await Promise.all(
      rows.map(async ({ held, ...taken }) =>
        held && (await inTransaction(this.db, (tx) => putAside(tx, taken))) ? [] : [taken],
      ),
    )
    return claimed.flat()
  }

  /** Runs the reconciler once and releases the object. */
  async run(taken: Taken, shutdown: AbortSignal): Promise<void> {
    const { log, random } = this.#parts
    const { queue, key, fence } = taken
    const reconciler = this.reconcilers.get(queue)
    if (!reconciler) throw new Error(`No reconciler for ${queue}`)
    const abort = new AbortController()
    // The key includes the fence, because a run that lost its object may still be ending while the
    // next run is already active in this process.
    const runKey = `${queue} ${key} ${fence}`
    this.#runs.set(runKey, { taken, abort })
    const deadlineMs = reconciler.deadlineMs ?? defaultDeadlineMs
    const deadline = setTimeout(() => abort.abort(new TooLong(deadlineMs)), deadlineMs)
    let end: string | null | undefined
    let againMs: number | undefined
    try {
      const job = jobOf(taken, AbortSignal.any([abort.signal, shutdown]), this.#parts)
      againMs = (await inSpan(await this.#spanOf(taken), () => reconciler.reconcile(job)))?.againMs
      end = null
    } catch (error) {
      if (error instanceof FenceLost) {
        log.warn('run.lost', { queue, key, fence })
      } else if (shutdown.aborted) {
        // A shutdown is not a failure: the next process continues at once.
        againMs = 0
      } else if (isDatabaseAway(error)) {
        log.debug('run.broken_off', { queue, key, error })
        againMs = afterLossMs
      } else {
        end = sentenceFor(error)
        againMs = retryDelayMs(taken.failures + 1, random)
        log.error('run.failed', { queue, key, failures: taken.failures + 1, error })
      }
    } finally {
      clearTimeout(deadline)
      this.#runs.delete(runKey)
    }
    // The result is written as soon as the database is back. Until then the object stays claimed.
    const isReleased = await untilDatabase(() => this.#end(taken, end, againMs), shutdown)
    // Another process has taken over the object, and may have counted a crash of this one.
    if (!isReleased) await untilDatabase(() => takeBack(this.db, taken), shutdown)
  }

  /** The span of a run, in the trace of the request that began its operation. */
  async #spanOf({ queue, key, fence, failures }: Taken): Promise<Span | undefined> {
    const { tracing } = this.#parts
    if (!tracing) return undefined
    // A lost database ends the run itself, not its trace.
    const origin = await this.#carriers?.origin?.({ queue, key }).catch(() => undefined)
    return tracing.begin(`run ${queue}`, {
      from: { traceparent: origin?.traceparent ?? undefined },
      attributes: {
        'steelyard.queue': queue,
        'steelyard.key': key,
        'steelyard.fence': fence,
        'steelyard.failures': failures,
        'steelyard.operation.id': origin?.operationId,
        'steelyard.operation.kind': origin?.kind,
      },
    })
  }

  /**
   * Releases the object after a run; false if this run no longer holds it. `end`: null for success,
   * a sentence for failure, undefined if the run doesn't count.
   */
  #end(
    taken: Taken,
    end: string | null | undefined,
    againMs: number | undefined,
  ): Promise<boolean> {
    return inTransaction(this.db, async (tx) => {
      // Called before the wake-up row is locked, because objects are always locked before their
      // wake-up row.
      if (end !== undefined && end !== taken.trouble)
        for (const tell of this.#troubleListeners) await tell(tx, taken)
      if (taken.trying) await this.#carriers?.resumed(tx, taken, haltedSentence)
      const outcome =
        end === undefined
          ? sql``
          : sql`, failures = ${end === null ? 0 : taken.failures + 1}, last_error = ${end}`
      // `least` ignores nulls. The object is due at the time of a wake-up during the run, or after
      // `againMs`, whichever is earlier.
      const { rows } = await sql<{ announced: unknown }>`
        with released as (
          update wake_up set owner = null, beat_at = null, ${cleared}, due_at = least(due_at, ${againMs === undefined ? null : this.#later(againMs)}::timestamptz) ${outcome}
          where queue = ${taken.queue} and key = ${taken.key} and fence = ${taken.fence} and owner = ${this.owner} returning due_at)
        select case when ${isSoon} then ${announced} end as announced from released`.execute(tx)
      return rows.length > 0
    })
  }

  /** Aborts a run whose object was taken over. */
  lose(run: Taken): void {
    this.#runs.get(`${run.queue} ${run.key} ${run.fence}`)?.abort.abort(new FenceLost(run))
  }

  /** Current runs of this process. */
  running(): readonly Taken[] {
    return [...this.#runs.values()].map((r) => r.taken)
  }
}
