/**
 * Runs the due objects of the table `wake_up`, the queue. Any number of processes on one database
 * share the work.
 *
 * A process claims due objects up to its free places and sleeps until the next one is due or a
 * notification arrives. Notifications reach only processes that listen at commit, so the queue is
 * also checked after each reconnection and every few seconds. These checks also free the objects of
 * processes with an expired lease.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { isDatabaseAway } from '../causes/causes.ts'
import type { Listener } from '../db/listen.ts'
import type { Log } from '../log.ts'
import { aloneMs, drainMs, dueSuspect, freed, wasAlone } from './crashes.ts'
import { type Engine, leaseMs, longestSleepMs, wakeChannel } from './engine.ts'
import type { Taken } from './job.ts'

const beatMs = 3_000
/**
 * Retry delay in ms if a due object is locked, for instance by a transaction that wakes it. If that
 * transaction is rolled back, no notification follows.
 */
const lockedRetryMs = 100
const defaultConcurrency = 16

/** Converts runs to JSON rows for `json_to_recordset`. */
const rowsOf = (runs: Iterable<Taken>): string =>
  JSON.stringify(Array.from(runs, ({ queue, key, fence }) => ({ queue, key, fence })))

export function engineQueue(core: Engine, { listener, log }: { listener: Listener; log: Log }) {
  const { db, owner } = core
  const shutdown = new AbortController()
  /** This process's runs, from the claim of the object to its release. */
  const held = new Map<Taken, Promise<void>>()

  /** The queues whose reconcilers may start more runs now, and how many more. */
  const freePlaces = () => {
    const taken = Map.groupBy(held.keys(), (run) => run.queue)
    return [...core.reconcilers.values()].flatMap(({ queue, concurrency = defaultConcurrency }) => {
      const places = concurrency - (taken.get(queue)?.length ?? 0)
      return places > 0 ? [{ queue, places }] : []
    })
  }

  const begin = (taken: Taken): void => {
    const run = core
      .run(taken, shutdown.signal)
      .catch((error: unknown) =>
        log.error('run.unreleased', { queue: taken.queue, key: taken.key, error }),
      )
      .finally(() => {
        const wasFull = !freePlaces().some(({ queue }) => queue === taken.queue)
        held.delete(taken)
        if (wasFull || alone?.run === taken || drainUntil !== undefined) wakeIn(0)
      })
    held.set(taken, run)
  }

  /** Whether suspects may be due (`crashes.ts`). */
  let maybeSuspects = true
  /** The suspect that runs, and until when nothing else begins, in ms of `performance.now()`. */
  let alone: { readonly run: Taken; readonly until: number } | undefined
  /** Until when this process waits for its other runs to end. */
  let drainUntil: number | undefined

  /**
   * Runs the next suspect, when the other runs have ended. Returns the milliseconds for which nothing
   * else may begin; undefined if anything may.
   */
  const runSuspect = async (): Promise<number | undefined> => {
    const now = performance.now()
    if (alone && held.has(alone.run) && alone.until > now) return Math.ceil(alone.until - now) + 1
    alone = undefined
    if (!maybeSuspects) return undefined
    const suspect = await dueSuspect(db)
    maybeSuspects = suspect !== undefined
    if (!suspect || !freePlaces().some(({ queue }) => queue === suspect.queue)) {
      drainUntil = undefined
      return undefined
    }
    drainUntil ??= now + drainMs
    if (held.size > 0 && drainUntil > now) return Math.ceil(drainUntil - now) + 1
    drainUntil = undefined
    const [taken] = await core.claim([{ queue: suspect.queue, places: 1 }], 'suspects')
    // Another process was faster, or the object is held.
    if (!taken) return lockedRetryMs
    begin(taken)
    const ms = aloneMs(suspect.suspicions)
    alone = { run: taken, until: performance.now() + ms }
    return ms
  }

  /**
   * Claims and starts due objects. Returns the milliseconds until the next object of a queue with
   * free places is due.
   */
  const claim = async (): Promise<number> => {
    const suspectMs = await runSuspect()
    if (suspectMs !== undefined) return suspectMs
    for (const taken of await core.claim(freePlaces())) begin(taken)
    const queues = freePlaces().map(({ queue }) => queue)
    if (queues.length === 0) return longestSleepMs
    const { rows } = await sql<{ ms: number | null; suspects: boolean }>`
      select extract(epoch from min(next.due_at) - now())::float8 * 1000 as ms,
        exists (select from wake_up where suspicions > 0 and owner is null and halted_at is null and due_at <= now()) as suspects from unnest(${queues}::text[]) as q (queue)
      cross join lateral (select due_at from wake_up w where w.queue = q.queue and owner is null and due_at is not null and halted_at is null and suspicions = 0 order by due_at limit 1) next`.execute(
      db,
    )
    if (rows[0]?.suspects === true) {
      maybeSuspects = true
      return lockedRetryMs
    }
    const ms = rows[0]?.ms ?? longestSleepMs
    // One millisecond more, because a timer may fire early.
    return ms > 0 ? Math.ceil(ms) + 1 : lockedRetryMs
  }

  /** Whether an object may be halted: it goes on when its operation has ended. */
  let mayBeHalted = true
  const haltCrashed = async (): Promise<void> => {
    const { halted, isAny } = await core.haltCrashed()
    mayBeHalted = isAny
    const named = halted.map(({ queue, key }) => `${queue} ${key}`).join(', ')
    if (halted.length > 0)
      log.error('run.halted', { count: halted.length, reason: named.slice(0, 1_000) })
  }

  /**
   * Frees objects of processes with an expired lease, and objects that this process owns in the
   * database but doesn't run: it was killed, or lost the connection before it got the response to a
   * claim. The objects become due. `claim` never runs at the same time.
   */
  const sweep = async (): Promise<void> => {
    // After a lost response to a claim this process still lives. A row of another start of this
    // process, or with an expired lease, is of a process that has ended.
    const isCounted = sql<boolean>`(l.owner <> ${owner} or l.instance is distinct from ${core.instance}::uuid)`
    const { rows } = await sql<{ owner: string }>`
      with lost as materialized (
        select w.queue, w.key, w.owner, w.instance from wake_up w
        where w.owner is not null and case when w.owner = ${owner}
          then not exists (select from json_to_recordset(${rowsOf(held.keys())}) as r (queue text, key text, fence bigint) where (r.queue, r.key, r.fence) = (w.queue, w.key, w.fence))
          else w.beat_at < now() - ${`${leaseMs} milliseconds`}::interval end
        for update of w skip locked),
      freed as (
        update wake_up w set ${freed(isCounted, wasAlone)} from lost l where w.queue = l.queue and w.key = l.key returning l.owner)
      select owner, pg_notify(${wakeChannel}, '0') from freed`.execute(db)
    if (rows.length > 0 || mayBeHalted) {
      await haltCrashed()
      maybeSuspects = true
    }
    const own = rows.filter((row) => row.owner === owner).length
    if (own > 0) log.info('engine.resumed', { count: own })
    if (rows.length > own) log.warn('run.taken_over', { count: rows.length - own })
  }

  /** Wakes the loop after `ms`, unless an earlier time was requested before. */
  let wakeIn: (ms: number) => void = () => undefined
  let nextSweep = 0

  const claimLoop = async (): Promise<void> => {
    while (!shutdown.signal.aborted) {
      // Created before the queries, so that a notification during a query ends this sleep.
      const slept = new Promise<void>((resolve) => {
        let timer: NodeJS.Timeout | undefined
        let end = Infinity
        wakeIn = (ms) => {
          if (performance.now() + ms >= end) return
          end = performance.now() + ms
          clearTimeout(timer)
          timer = setTimeout(resolve, ms)
        }
      })
      wakeIn(longestSleepMs)
      try {
        if (performance.now() >= nextSweep) {
          await sweep()
          nextSweep = performance.now() + longestSleepMs
        }
        wakeIn(await claim())
      } catch (error) {
        if (!isDatabaseAway(error)) log.error('queue.claim_failed', { error })
      }
      await slept
    }
  }

  /**
   * Renews this process's leases and ends runs whose object was taken over. Holds no row lock while
   * it waits for another: transactions that wake several objects lock rows in any order, so holding
   * some rows and waiting for others could cause a deadlock.
   */
  const beat = async (): Promise<void> => {
    const running = core.running()
    if (running.length === 0) return
    const { rows } = await sql<{ queue: string; key: string; fence: number }>`
      with free as (
        select w.queue, w.key from wake_up w join json_to_recordset(${rowsOf(running)}) as r (queue text, key text, fence bigint) using (queue, key, fence)
        where w.owner = ${owner} for update of w skip locked)
      update wake_up w set beat_at = now() from free f where w.queue = f.queue and w.key = f.key returning w.queue, w.key, w.fence`.execute(
      db,
    )
    const beaten = new Set(rows.map((r) => `${r.queue} ${r.key} ${r.fence}`))
    for (const run of running) {
      const { queue, key, fence } = run
      if (beaten.has(`${queue} ${key} ${fence}`)) continue
      const { rows: mine } = await sql<{ fence: number }>`
        update wake_up set beat_at = now() where queue = ${queue} and key = ${key} and fence = ${fence} and owner = ${owner} returning fence`.execute(
        db,
      )
      if (mine.length === 0) core.lose(run)
    }
  }

  const beatLoop = async (): Promise<void> => {
    while (!shutdown.signal.aborted) {
      await pause(beatMs, undefined, { signal: shutdown.signal }).catch(() => undefined)
      await beat().catch(
        (error: unknown) => isDatabaseAway(error) || log.error('engine.beat_failed', { error }),
      )
    }
  }

  let loops: Promise<unknown> = Promise.resolve()
  let unlisten: () => void = () => undefined
  return {
    /**
     * Starts running due objects, as soon as the database answers. Objects that this process held
     * when it was killed continue at once.
     */
    start(): void {
      unlisten = listener.on(wakeChannel, (payload) => {
        // After a reconnection: the database may have been unavailable, and responses lost.
        if (payload === '') nextSweep = 0
        wakeIn(Number(payload))
      })
      loops = Promise.all([claimLoop(), beatLoop()])
    },
    /** Stops claiming, aborts the runs and waits for them, at most `graceMs`. */
    async stop(graceMs: number): Promise<void> {
      unlisten()
      shutdown.abort(new Error('Steelyard is stopping'))
      wakeIn(0)
      await loops
      await Promise.race([
        Promise.allSettled(held.values()),
        new Promise((resolve) => setTimeout(resolve, graceMs).unref()),
      ])
    },
  }
}
