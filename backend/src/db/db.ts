/** The connection to PostgreSQL: one pool per process. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isDeepStrictEqual } from 'node:util'
import { Kysely, type LogEvent, PostgresDialect, sql, type Transaction } from 'kysely'
import {
  Client,
  type ClientBase,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  types as pgTypes,
} from 'pg'
import { isDatabaseAway } from '../causes/causes.ts'
import { CommitUnknown, DatabaseAway, DatabaseSilent, takeClient, typeErrors } from './away.ts'
import {
  askState,
  beginSession,
  clientConfig,
  type Connection,
  type ServerState,
  unusable,
} from './connection.ts'
import { comparePosition, type Missing, missingSentence, type Position } from './position.ts'
import { beginWork, OutsideWork } from './shortly.ts'
import type { Tables } from './tables.gen.ts'

export type Db = Kysely<Tables>
export type Tx = Transaction<Tables>

/**
 * Reads int8 as a number: counters and byte sizes stay below 2^53. A larger value throws instead of
 * being rounded.
 */
function readInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw new RangeError(
      `The database returned ${text}, which is larger than the largest safe integer`,
    )
  return value
}

const int8 = 20
const types: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary'
      ? readInt8
      : (pgTypes.getTypeParser as (oid: number, format?: string) => unknown)(
          oid,
          format,
        )) as CustomTypesConfig['getTypeParser'],
}

export type Database = ReturnType<typeof connect>

export interface ConnectOptions {
  /** Of the embedded PostgreSQL the socket's folder; of DATABASE_URL what `find` has found. */
  readonly connection: Connection
  /** Finds the host that accepts writes, after a connection was lost. */
  readonly find?: () => Promise<Connection>
  readonly poolSize?: number
  /** Called when an idle connection breaks. The pool replaces the connection. */
  readonly onIdleError?: (error: Error) => void
  /** Called after each statement, in the context of its caller. */
  readonly onStatement?: ((event: LogEvent) => void) | undefined
}

/** The database went back in time. It counts as unavailable until everything is held. */
class WentBack extends DatabaseAway {
  override readonly name = 'WentBack'
}

/**
 * Opens a pool, which connects at the first query. Also returns `connection`: settings for a
 * connection outside of the pool.
 */
export function connect({
  connection,
  find,
  poolSize = 16,
  onIdleError,
  onStatement,
}: ConnectOptions) {
  const settings = { ...connection }
  let seen: Position | undefined
  let onBack: ((seen: Position) => void) | undefined
  let missing: Missing | undefined

  /** @throws WentBack if the database lacks what this process has seen */
  const compare = async (client: ClientBase): Promise<void> => {
    if (seen === undefined) return
    const { now, missing: found } = await comparePosition(client, seen)
    if (missing === undefined) {
      if (found === null) {
        // Events that were published meanwhile may be known already.
        const next = { ...now, event: Math.max(now.event, seen.event) }
        if (now.audit >= seen.audit && !isDeepStrictEqual(next, seen)) seen = next
        return
      }
      missing = found
      onBack?.(seen)
    }
    throw new WentBack(`The database went back in time and lacks ${missingSentence(missing)}`)
  }
  /** Before the first query of each connection. */
  const begin = async (client: ClientBase): Promise<void> => {
    // Ignores the error event of a checked-out connection that ends between two queries: its next
    // query fails and reports the error.
    client.on('error', () => undefined)
    if (client instanceof Client) typeErrors(client)
    await client.query(beginSession)
    if (find !== undefined) {
      const { rows } = await client.query<ServerState>(askState)
      const why = unusable(rows[0]!)
      if (why !== null) throw new DatabaseAway(`The database ${why}`)
    }
    await compare(client)
  }
  const pool = new Pool({
    ...clientConfig(settings),
    types,
    max: poolSize,
    idleTimeoutMillis: 30_000,
    onConnect: begin,
  })
  pool.on('error', (error) => onIdleError?.(error))

  /** Later connections go to this host. */
  const moveTo = (next: Connection): void => {
    Object.assign(settings, next)
    const { host, port, ssl } = clientConfig(settings)
    Object.assign(pool.options, { host, port, ssl })
  }
  let finding: Promise<void> | undefined
  /** Looks once for all callers that wait. */
  const findAgain = (): Promise<void> =>
    (finding ??= find!()
      .then(moveTo)
      .finally(() => (finding = undefined)))
  const connecting = async (): Promise<PoolClient> => {
    try {
      return await takeClient(pool)
    } catch (error) {
      if (!find || error instanceof WentBack || error instanceof DatabaseSilent) throw error
    }
    await findAgain()
    return takeClient(pool)
  }
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: { options: pool.options, connect: connecting, end: () => pool.end() },
    }),
    ...(onStatement && { log: onStatement }),
  })
  const clients = new Set<PoolClient>()
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))
  return {
    db,
    pool,
    connection: settings,
    moveTo,
    /** Looks for the host that accepts writes. Does nothing without DATABASE_URL. */
    findAgain: async (): Promise<void> => (find === undefined ? undefined : findAgain()),
    /**
     * Ends every connection at once, for a server that no longer answers on them: a machine that
     * has lost its power closes no connection.
     */
    cut(): void {
      for (const client of clients)
        client.connection.stream.destroy(
          new Error('Connection terminated: the database has not answered'),
        )
    },
    /**
     * From now on, every connection is checked against the highest position that was seen
     * (`position.ts`). If the database lacks some of it, every query fails as if the database were
     * unavailable.
     * @param back called once, with the highest position that was seen
     */
    guard(position: Position, back: (seen: Position) => void): void {
      seen = position
      onBack = back
    },
    /** Notes an event that was published. */
    saw({ event }: Pick<Position, 'event'>): void {
      if (seen !== undefined && event > seen.event) seen = { ...seen, event }
    },
    /** Compares now. Returns the highest position that was seen; undefined without `guard`. */
    async check(): Promise<Position | undefined> {
      const client = await connecting()
      try {
        await compare(client)
        return seen
      } finally {
        client.release()
      }
    },
    close: () => db.destroy(),
  }
}

/** Waits for the advisory lock of this name and holds it until the transaction ends. */
export async function lock(tx: Tx, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx)
}

/** Like `lock`, without waiting. False: another transaction holds the lock. */
export async function tryLock(tx: Tx, name: string): Promise<boolean> {
  const { rows } = await sql<{
    mine: boolean
  }>`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as mine`.execute(tx)
  return rows[0]!.mine
}

/** Notifies all listeners on the channel (`db/listen.ts`) when the transaction commits. */
export async function notify(tx: Tx, channel: string, payload: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${payload})`.execute(tx)
}

/** SQLSTATE of an error that the database returned; undefined for other errors. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? error.code : undefined

/** Name of the violated constraint, for errors of class 23. */
export const violatedConstraint = (error: unknown): string | undefined =>
  error instanceof DatabaseError && error.code?.startsWith('23') === true
    ? error.constraint
    : undefined

const retryable = new Set(['40001', '40P01'])

/**
 * Retries a database call while the database is unavailable. @throws the last error if `signal`
 * aborts
 */
export async function untilDatabase<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(500, 2 * pauseMs)) {
    try {
      return await act()
    } catch (error) {
      if (signal.aborted || !isDatabaseAway(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

/**
 * A hook for writes that belong to a change: called with the transaction and the result of
 * `change`, right before the commit.
 */
export const beforeCommit = new AsyncLocalStorage<(tx: Tx, result: unknown) => Promise<void>>()

const atCommits = new WeakMap<Tx, (() => Promise<void>)[]>()

/** Calls `act` when the transaction's change has returned, right before the commit. */
export function atCommit(tx: Tx, act: () => Promise<void>): void {
  const known = atCommits.get(tx)
  if (known) known.push(act)
  else atCommits.set(tx, [act])
}

/**
 * Runs `change` in one transaction. It runs `change` again after a serialization failure or deadlock,
 * at most three times, and after work outside the database that takes long (`shortly.ts`): `change`
 * must therefore do nothing outside of `tx`.
 */
export async function inTransaction<T>(db: Db, change: (tx: Tx) => Promise<T>): Promise<T> {
  const outside = new OutsideWork()
  for (let failures = 0; ;) {
    let isCommitting = false
    try {
      return await db.transaction().execute(async (tx) => {
        beginWork(tx, outside)
        const result = await change(tx)
        outside.demandDone()
        for (const act of atCommits.get(tx) ?? []) await act()
        await beforeCommit.getStore()?.(tx, result)
        isCommitting = true
        return result
      })
    } catch (error) {
      if (await outside.wasLong()) continue
      if (retryable.has(sqlState(error) ?? '') && ++failures < 3) continue
      throw isCommitting && error instanceof DatabaseAway
        ? new CommitUnknown('The database was lost during a commit', { cause: error })
        : error
    }
  }
}

/** A LIKE pattern that finds the search text literally, anywhere in a value. */
export const likePattern = (text: string): string =>
  `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
