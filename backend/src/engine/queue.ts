/**
 * Dispatches the engine's wake-ups by jobs of the queue library, so that any number of processes on one database share the work.
 *
 * One queue per reconciler, policy `stately` with the object's key: at most one waiting and one running job per object. Jobs are fetched here and not
 * by the library's own workers, because one poll then serves a whole process. No job ever ends failed: the engine keeps failures in
 * `wake_up` and asks for a later look. A sweep finds what a crash left behind.
 */
import { fromKysely, PgBoss } from 'pg-boss'
import { sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { type Db, inTransaction, isDatabaseGone, type Tx } from '../db/db.ts'
import type { Listener } from '../db/listen.ts'
import type { Log } from '../log.ts'
import { type Core, leaseMs, untilDatabase, type Work } from './engine.ts'

const wakeChannel = 'steelyard_wake'
const schema = 'pgboss'
const openLock = 7_219_004_115
const pollMs = 500
const beatMs = 3_000
const sweepMs = 3_000
/**
 * A process takes what it fetched within milliseconds; after this long it was killed in between. One that is only slow finds its object taken, or
 * takes it and finds the other job gone: neither does anything twice.
 */
const orphanMs = 3_000
const defaultConcurrency = 16
/** Longer than any run: the lease in `wake_up` decides who is alive, not the library's expiry. */
const longestJobSeconds = 23 * 3600

export interface EngineQueue {
  /** Makes the queues; from then on wake-ups can be written. Needed in every process. */
  open(): Promise<void>
  /** Begins to run what is due. */
  start(): Promise<void>
  /** Fetches nothing more, aborts what runs and waits for it, at most `graceMs`. */
  stop(graceMs: number): Promise<void>
}

export interface QueueParts {
  readonly core: Core
  readonly pool: Pool
  readonly listener: Listener
  readonly log: Log
}

interface Fetched {
  id: string
  retryCount: number
  data: { key: string }
}

export function engineQueue({ core, pool, listener, log }: QueueParts): EngineQueue {
  const db: Db = core.db
  const boss = new PgBoss({
    schema,
    // What the driver answers, as it is: for several statements in one text the library expects a list of results.
    db: { executeSql: (text, values) => pool.query(text, values) },
    schedule: false,
    // Its supervision has nothing to tidy up, because no job is ever left completed or failed. And it notes which keys ran while it counted jobs: those are
    // then passed over by every fetch for up to two minutes, however soon they are due.
    supervise: false,
  })
  boss.on('error', (error) => log.warn('queue.trouble', { error }))
  boss.on('warning', (warning) => log.debug('queue.warning', { text: warning.message }))

  const shutdown = new AbortController()
  const active = new Set<Promise<void>>()
  const perQueue = new Map<string, number>()
  /** Objects of this process, from before they are taken until they are released, with how many runs each has: one that was overtaken may still be ending. */
  const holding = new Map<string, number>()
  const hold = (queue: string, key: string, by: 1 | -1) => {
    const count = (holding.get(`${queue} ${key}`) ?? 0) + by
    if (count > 0) holding.set(`${queue} ${key}`, count)
    else holding.delete(`${queue} ${key}`)
  }
  const isHeld = ({ queue, key }: Work) => holding.has(`${queue} ${key}`)
  let wakeLoop: () => void = () => undefined
  let sweepSoon: () => void = () => undefined

  const schedule = async (tx: Tx, queue: string, key: string, due: Date): Promise<void> => {
    const on = fromKysely(tx)
    const sent = await boss.send(queue, { key }, { singletonKey: key, startAfter: due, db: on })
    // One is waiting already: it must not wait for longer than what is wanted now.
    if (sent === null) {
      const [waiting] = await boss.findJobs<{ key: string }>(queue, { key, queued: true, db: on })
      if (waiting && waiting.startAfter > due) await boss.update(queue, undefined, { id: waiting.id, startAfter: due, db: on })
    }
    await sql`select pg_notify(${wakeChannel}, ${queue})`.execute(tx)
  }
  core.useDispatcher({ now: () => sql<Date>`now()`, schedule })

  const runJob = async (queue: string, fetched: Fetched): Promise<void> => {
    const { key } = fetched.data
    const attempt = { id: fetched.id, retryCount: fetched.retryCount }
    const take = async (tx: Tx) => {
      const on = fromKysely(tx)
      const mine = await core.take(tx, queue, key, fetched.id)
      // Nothing to take, or held by a run that is alive: that run schedules what comes next.
      if (!mine) await boss.deleteJob(queue, attempt, { db: on })
      // Asked for between the fetch and now: this run sees it. Left there, it would stand in the way of every other job of the queue.
      const waiting = await boss.findJobs(queue, { key, queued: true, db: on })
      if (waiting.length > 0)
        await boss.deleteJob(
          queue,
          waiting.map((w) => w.id),
          { db: on },
        )
      return mine
    }
    const taken = await untilDatabase(() => inTransaction(db, take), shutdown.signal)
    if (!taken) return
    await core.run(taken, shutdown.signal, async (tx) => {
      await boss.deleteJob(queue, attempt, { db: fromKysely(tx) })
    })
  }

  const fetchQueue = async (queue: string, room: number): Promise<void> => {
    const jobs = (await boss.fetch<{ key: string }>(queue, { batchSize: room, includeMetadata: true })) as Fetched[]
    for (const job of jobs) {
      perQueue.set(queue, (perQueue.get(queue) ?? 0) + 1)
      hold(queue, job.data.key, 1)
      const run: Promise<void> = runJob(queue, job)
        .catch((error: unknown) => log.error('run.unreleased', { queue, key: job.data.key, error }))
        .finally(() => {
          active.delete(run)
          hold(queue, job.data.key, -1)
          perQueue.set(queue, perQueue.get(queue)! - 1)
          wakeLoop()
        })
      active.add(run)
    }
  }

  const fetchLoop = async (): Promise<void> => {
    while (!shutdown.signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs)
        wakeLoop = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      try {
        for (const { queue, concurrency = defaultConcurrency } of core.reconcilers.values()) {
          const room = concurrency - (perQueue.get(queue) ?? 0)
          if (room > 0) await fetchQueue(queue, room)
        }
      } catch (error) {
        if (!isDatabaseGone(error)) log.error('queue.fetch_failed', { error })
      }
      await woken
    }
  }

  /** Resolves early at shutdown, and where what `early` was handed is called. */
  const pause = (ms: number, early?: (end: () => void) => void): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(done, ms)
      function done() {
        clearTimeout(timer)
        shutdown.signal.removeEventListener('abort', done)
        resolve()
      }
      shutdown.signal.addEventListener('abort', done)
      early?.(done)
    })

  /**
   * Says that this process lives; what it no longer holds is ended here. It waits for a row only while it holds no other: transactions that wake
   * several objects lock their rows in orders of their own, and a statement that held some and waited for others could dead-lock with any of them.
   */
  const beat = async (): Promise<void> => {
    const running = core.running()
    if (running.length === 0) return
    // Only what runs: an object whose release was lost with the database is to be found by the sweep, not to be kept alive by the others.
    const runs = JSON.stringify(running.map(({ queue, key, fence }) => ({ queue, key, fence })))
    const { rows } = await sql<{ queue: string; key: string; fence: number }>`
      with free as (
        select w.queue, w.key from wake_up w join json_to_recordset(${runs}) as r (queue text, key text, fence bigint) using (queue, key, fence)
        where w.owner = ${core.owner} for update of w skip locked)
      update wake_up w set beat_at = now() from free f where w.queue = f.queue and w.key = f.key returning w.queue, w.key, w.fence`.execute(db)
    const held = new Set(rows.map((r) => `${r.queue} ${r.key} ${r.fence}`))
    for (const run of running) {
      if (held.has(`${run.queue} ${run.key} ${run.fence}`)) continue
      const { queue, key, fence } = run
      const { rows: mine } = await sql<{ fence: number }>`
        update wake_up set beat_at = now() where queue = ${queue} and key = ${key} and fence = ${fence} and owner = ${core.owner} returning fence`.execute(db)
      if (mine.length === 0) core.lose(run)
    }
  }

  /** Frees objects and makes them due at once. */
  const free = (tx: Tx, rows: readonly { queue: string; key: string; job_id: string | null }[]) =>
    Promise.all(
      rows.map(async ({ queue, key, job_id }) => {
        if (!core.reconcilers.has(queue)) return
        if (job_id) await boss.deleteJob(queue, job_id, { db: fromKysely(tx) })
        await tx.updateTable('wake_up').set({ owner: null, job_id: null, beat_at: null }).where('queue', '=', queue).where('key', '=', key).execute()
        await core.wake(tx, queue, key)
      }),
    )

  /** What this process held when it was killed is nobody's: a restart goes on at once, not after the lease. */
  const freeOwn = () =>
    inTransaction(db, async (tx) => {
      const rows = await tx.selectFrom('wake_up').select(['queue', 'key', 'job_id']).where('owner', '=', core.owner).forUpdate().execute()
      await free(tx, rows)
      return rows.length
    })

  /** What is this process's by the database's account and held by none of its runs: the answer to a `take` was lost with the connection. Nobody else need wait for the lease. */
  const freeForgotten = async (): Promise<void> => {
    const rows = await db.selectFrom('wake_up').select(['queue', 'key', 'fence']).where('owner', '=', core.owner).execute()
    for (const { queue, key, fence } of rows.filter((row) => !isHeld(row)))
      await inTransaction(db, async (tx) => {
        const row = await tx
          .selectFrom('wake_up')
          .select(['queue', 'key', 'job_id'])
          .where('queue', '=', queue)
          .where('key', '=', key)
          .where('fence', '=', fence)
          .where('owner', '=', core.owner)
          .forUpdate()
          .executeTakeFirst()
        if (row && !isHeld(row)) await free(tx, [row])
      })
  }

  const sweep = async (): Promise<void> => {
    await freeForgotten()
    await inTransaction(db, async (tx) => {
      const stale = await tx
        .selectFrom('wake_up')
        .select(['queue', 'key', 'job_id', 'owner'])
        .where('owner', 'is not', null)
        .where('beat_at', '<', sql<Date>`now() - ${`${leaseMs} milliseconds`}::interval`)
        .forUpdate()
        .skipLocked()
        .execute()
      if (stale.length > 0) log.warn('run.taken_over', { count: stale.length })
      await free(tx, stale)
    })
    // Fetched by a process that was killed before it took the object: running for the library, held by nobody. Where the database itself was, all that was fetched before.
    const { rows: orphans } = await sql<{ name: string; id: string; key: string }>`
      select j.name, j.id, j.singleton_key as key from ${sql.id(schema, 'job')} j
      where j.state = 'active' and j.started_on < greatest(now() - ${`${orphanMs} milliseconds`}::interval, pg_postmaster_start_time())
        and not exists (select 1 from wake_up w where w.job_id = j.id)`.execute(db)
    for (const { name, id, key } of orphans.filter((o) => !isHeld({ queue: o.name, key: o.key })))
      await inTransaction(db, async (tx) => {
        const held = await tx.selectFrom('wake_up').select('job_id').where('queue', '=', name).where('key', '=', key).forUpdate().executeTakeFirst()
        // Taken since by a process that was only slow: it is nobody's to free.
        if (held?.job_id !== id) await free(tx, [{ queue: name, key, job_id: id }])
      })
    // Due for a while, held by nobody: its job was lost, or only waits for a free place, where sending again changes nothing.
    const overdue = await db
      .selectFrom('wake_up')
      .select(['queue', 'key'])
      .where('owner', 'is', null)
      .where('due_at', '<', sql<Date>`now() - interval '30 seconds'`)
      .limit(1000)
      .execute()
    for (const { queue, key } of overdue) if (core.reconcilers.has(queue)) await inTransaction(db, (tx) => core.wake(tx, queue, key))
  }

  const every = async (ms: number, what: string, act: () => Promise<void>, early?: (end: () => void) => void): Promise<void> => {
    while (!shutdown.signal.aborted) {
      await pause(ms, early)
      if (shutdown.signal.aborted) return
      try {
        await act()
      } catch (error) {
        if (!isDatabaseGone(error)) log.error(what, { error })
      }
    }
  }

  /** What supervision noted in a database that it was once used on would be passed over for ever. Before the library reads its queues. */
  const forgetCounted = async (client: PoolClient): Promise<void> => {
    const column = `select 1 from information_schema.columns where table_schema = $1 and table_name = 'queue' and column_name = 'singletons_active'`
    const { rowCount } = await client.query(column, [schema])
    if (rowCount) await client.query(`update ${schema}.queue set singletons_active = null where singletons_active is not null`)
  }

  let loops: Promise<unknown> = Promise.resolve()
  let unlisten: () => void = () => undefined
  return {
    async open() {
      // Two processes that start at once on an empty database: one makes the library's tables, the other finds them.
      const client = await pool.connect()
      try {
        await client.query('select pg_advisory_lock($1)', [openLock])
        await forgetCounted(client)
        await boss.start()
        for (const queue of core.reconcilers.keys()) {
          await boss.createQueue(queue, {
            policy: 'stately',
            retryLimit: 0,
            expireInSeconds: longestJobSeconds,
            retentionSeconds: 365 * 86_400,
            deleteAfterSeconds: 3600,
          })
        }
      } finally {
        await client.query('select pg_advisory_unlock($1)', [openLock])
        client.release()
      }
    },
    async start() {
      const freed = await freeOwn()
      if (freed > 0) log.info('engine.resumed', { count: freed })
      unlisten = listener.on(wakeChannel, (payload) => {
        // The connection was made anew: the database may have been away, and answers lost with it.
        if (payload === '') sweepSoon()
        wakeLoop()
      })
      // What was fetched by a process that was killed waits no longer than its restart took.
      await sweep()
      loops = Promise.all([fetchLoop(), every(beatMs, 'engine.beat_failed', beat), every(sweepMs, 'engine.sweep_failed', sweep, (end) => (sweepSoon = end))])
    },
    async stop(graceMs) {
      unlisten()
      shutdown.abort(new Error('Steelyard is stopping'))
      wakeLoop()
      await loops
      await Promise.race([Promise.allSettled(active), new Promise((resolve) => setTimeout(resolve, graceMs).unref())])
      await boss.stop({ graceful: false })
    },
  }
}
