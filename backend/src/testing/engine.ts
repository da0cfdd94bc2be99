/**
 * An engine process in a test: its own pool, listener and queue on a given database, with the
 * test's reconciler.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { systemClock } from '../clock.ts'
import type { Connection } from '../db/connection.ts'
import { connect, type Db, inTransaction } from '../db/db.ts'
import { listener as makeListener } from '../db/listen.ts'
import { Engine, type Reconciler, type Taken } from '../engine/engine.ts'
import { failpoint } from '../engine/failpoint.ts'
import { engineQueue } from '../engine/queue.ts'
import { type Log, silent } from '../log.ts'
import { whenOver } from './ending.ts'

export interface EngineProcess {
  readonly db: Db
  readonly owner: string
  wake(key: string, afterMs?: number): Promise<void>
  /** Resumes a halted object. */
  resume(key: string): Promise<boolean>
  start(): Promise<void>
  stop(graceMs?: number): Promise<void>
  /** Ends everything at once without releasing claims, like a kill. */
  die(): Promise<void>
}

export function engineProcess(
  connection: Connection,
  reconcile: Reconciler['reconcile'],
  {
    owner = `engine ${randomUUID()}`,
    concurrency = 8,
    log = silent,
    isCarried = false,
  }: { owner?: string; concurrency?: number; log?: Log; isCarried?: boolean } = {},
): EngineProcess {
  const database = connect({ connection, poolSize: 10 })
  const { db } = database
  const listener = makeListener({ connection: database.connection, log: silent })
  const never = (): never => {
    throw new Error('unreachable')
  }
  const core = new Engine({
    db,
    clock: systemClock,
    random: Math.random,
    log,
    owner,
    failpoint: failpoint(undefined, never),
  })
  core.register({ queue: 'test', reconcile, concurrency })
  core.carriedBy({
    carried: () => sql<boolean>`${isCarried}::boolean`,
    halted: async () => undefined,
    resumed: async () => undefined,
  })
  const queue = engineQueue(core, { listener, log })
  listener.start()
  const close = async () => {
    await listener.stop()
    await database.close()
  }
  whenOver(async () => {
    await queue.stop(0)
    await close()
  })
  return {
    db,
    owner,
    wake: (key, afterMs = 0) => inTransaction(db, (tx) => core.wake(tx, 'test', key, { afterMs })),
    resume: (key) => inTransaction(db, (tx) => core.resume(tx, [{ queue: 'test', key }])),
    start: async () => queue.start(),
    async stop(graceMs = 5_000) {
      await queue.stop(graceMs)
      await close()
    },
    async die() {
      // The connections close first, so running objects can't write or release.
      await close()
      await queue.stop(0)
    },
  }
}

/** Whether no object except `except` is due at `now` or running. */
export async function isQuiet(db: Db, now: Date, except = ''): Promise<boolean> {
  const { rows } = await sql`
    select 1 from wake_up where key <> ${except} and (owner is not null or due_at <= ${now}) limit 1`.execute(
    db,
  )
  return rows.length === 0
}

/** When the next run of an object is due; null while it runs, or if nothing is due. */
export async function nextRunAt(db: Db, queue: string, key: string): Promise<Date | null> {
  const row = await db
    .selectFrom('wake_up')
    .select('due_at')
    .where('queue', '=', queue)
    .where('key', '=', key)
    .where('owner', 'is', null)
    .executeTakeFirst()
  return row?.due_at ?? null
}

/** Claims an object that no process runs, due or not. It stays claimed until the test runs it. */
export async function claimNow(
  { db, owner, instance }: Engine,
  queue: string,
  key: string,
): Promise<Taken | undefined> {
  const { rows } = await sql<Taken>`
    update wake_up set fence = fence + 1, owner = ${owner}, instance = ${instance}, taken_at = now(), beat_at = now() where queue = ${queue} and key = ${key} and owner is null
    returning queue, key, fence, failures, crashes, trying, last_error as trouble`.execute(db)
  return rows[0]
}
