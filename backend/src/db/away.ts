/**
 * The types of errors that mean that the database is away. The driver throws plain errors, whose
 * texts alone say it, so each error gets its type where the connection is known.
 */
import { Client, DatabaseError, type Pool, type PoolClient } from 'pg'
import { sentenceOf } from './sentence.ts'

/** There is no connection to the database, or it was lost. `cause`: the error of the driver. */
export class DatabaseAway extends Error {
  override readonly name: string = 'DatabaseAway'
}

/** No connection of the pool became free in time: too much work, or a database that hangs. */
export class DatabaseSilent extends DatabaseAway {
  override readonly name: string = 'DatabaseSilent'
}

/** The connection was lost during a commit, so the change may be stored. */
export class CommitUnknown extends DatabaseAway {
  override readonly name: string = 'CommitUnknown'
}

const socketErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EACCES',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/**
 * Whether an error of a connection says that the server can't be reached. A host with several
 * addresses has an error for each.
 */
const isUnreached = (error: unknown): boolean =>
  error instanceof AggregateError
    ? error.errors.some(isUnreached)
    : error instanceof Error &&
      'syscall' in error &&
      'code' in error &&
      socketErrors.has(String(error.code))

/**
 * Clients that have told of the loss of their connection. Their socket may still be open then: the
 * server has said that it ends the session, and closes it in a moment.
 */
const lost = new WeakSet<Client>()

/**
 * Gives an error of a connection its type: `DatabaseAway` if the connection has ended. Answers of
 * the server keep theirs (`DatabaseError`), and so do errors of this program, such as a value that
 * can't be read.
 */
export function typedError(client: Client, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseAway || error instanceof DatabaseError)
    return error
  return isUnreached(error) || lost.has(client) || client.connection.stream.destroyed
    ? new DatabaseAway(sentenceOf(error), { cause: error })
    : error
}

/**
 * Takes a client of the pool. @throws DatabaseAway, DatabaseSilent: whatever the server says to a
 * new connection, it can't be used
 */
export async function takeClient(pool: Pool): Promise<PoolClient> {
  const waits = pool.idleCount === 0 && pool.totalCount >= pool.options.max
  try {
    return await pool.connect()
  } catch (error) {
    if (error instanceof DatabaseAway || !(error instanceof Error)) throw error
    // The pool's own limit has neither a code nor a cause.
    throw waits && !('code' in error) && error.cause === undefined
      ? new DatabaseSilent('No connection to the database became free in time', { cause: error })
      : new DatabaseAway(sentenceOf(error), { cause: error })
  }
}

/** Lets the queries of a client fail with typed errors. */
export function typeErrors(client: Client): void {
  client.on('error', () => void lost.add(client))
  const typed = (...args: unknown[]): unknown => {
    const query = Reflect.get(Client.prototype, 'query') as (...args: unknown[]) => unknown
    const answer = query.apply(client, args)
    return answer instanceof Promise
      ? answer.catch((error: unknown) => {
          throw typedError(client, error)
        })
      : answer
  }
  Object.assign(client, { query: typed })
}
