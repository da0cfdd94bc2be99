/**
 * Finds the server of DATABASE_URL that accepts writes. All hosts are asked at once: one that has
 * lost its power would otherwise delay each failover by the time limit of connecting.
 */
import { readFile } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { homedir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { DatabaseAway, typedError } from './away.ts'
import {
  askState,
  clientConfig,
  type Connection,
  connectMs,
  placeOf,
  type ServerState,
  type Tls,
  unusable,
} from './connection.ts'
import { sentenceOf } from './sentence.ts'
import type { DatabaseHost, DatabaseUrl } from './url.ts'

/** No host can be used. The message has a reason for each. `cause`: the error of the first. */
export class NoServer extends DatabaseAway {
  override readonly name = 'NoServer'
  /** Every host was reached, and is a standby or read-only. */
  readonly isReadOnly: boolean
  constructor(message: string, options: { cause: unknown; isReadOnly: boolean }) {
    super(message, { cause: options.cause })
    this.isReadOnly = options.isReadOnly
  }
}

class ReadOnlyServer extends Error {}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** The authorities of libpq: the named file, or ~/.postgresql/root.crt if there is one. */
async function authorities({ rootCert }: DatabaseUrl): Promise<string | undefined> {
  if (rootCert === 'system') return undefined
  if (rootCert !== undefined) return readFile(rootCert, 'utf8')
  try {
    return await readFile(path.join(homedir(), '.postgresql', 'root.crt'), 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** TLS of each attempt, in the order of libpq. `undefined` is a connection without TLS. */
async function attempts(url: DatabaseUrl): Promise<readonly (Tls | undefined)[]> {
  if (url.tls === 'disable') return [undefined]
  const own =
    url.cert === undefined
      ? {}
      : { cert: await readFile(url.cert, 'utf8'), key: await readFile(url.key!, 'utf8') }
  const ca = await authorities(url)
  // libpq: with a file of authorities, `require` verifies like `verify-ca`.
  const verifies =
    url.tls === 'verify-full'
      ? 'name'
      : url.tls === 'verify-ca' || (url.tls === 'require' && url.rootCert !== undefined)
        ? 'authority'
        : 'nothing'
  const tls: Tls = { verifies, ...(verifies !== 'nothing' && ca !== undefined && { ca }), ...own }
  if (url.tls === 'prefer') return [tls, undefined]
  if (url.tls === 'allow') return [undefined, tls]
  return [tls]
}

/** Whether the same host may be asked again, with TLS or without. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error &&
  (/does not support SSL|SSL connection|TLS|certificate/i.test(error.message) ||
    ('code' in error && error.code === '28000'))

async function ask(connection: Connection): Promise<void> {
  // The limit of the driver has no type.
  const client = new Client({ ...clientConfig(connection), connectionTimeoutMillis: 0 })
  client.on('error', () => undefined)
  const limit = setTimeout(
    () =>
      client.connection.stream.destroy(new DatabaseAway(`no answer within ${connectMs / 1_000} s`)),
    connectMs,
  )
  try {
    await client.connect()
    const { rows } = await client.query<ServerState>(askState)
    const why = unusable(rows[0]!)
    if (why !== null) throw new ReadOnlyServer(why)
  } catch (error) {
    throw typedError(client, error)
  } finally {
    clearTimeout(limit)
    await client.end().catch(() => undefined)
  }
}

async function askHost(
  url: DatabaseUrl,
  host: DatabaseHost | undefined,
  ways: readonly (Tls | undefined)[],
): Promise<Connection> {
  const { user, password, database, options } = url
  const isSocket = host?.host.startsWith('/') === true
  for (const [i, tls] of (isSocket ? [undefined] : ways).entries()) {
    const connection = { ...host, user, password, database, options, tls }
    try {
      await ask(connection)
      return connection
    } catch (error) {
      if (i === ways.length - 1 || isSocket || !isRefused(error)) throw error
    }
  }
  throw new Error('There was no attempt')
}

/**
 * The connection to the host that accepts writes.
 * @throws NoServer with the reason of each host
 */
export async function findServer(url: DatabaseUrl): Promise<Connection> {
  const ways = await attempts(url)
  const hosts = url.hosts.length === 0 ? [undefined] : url.hosts
  try {
    return await Promise.any(hosts.map((host) => askHost(url, host, ways)))
  } catch (error) {
    const errors = (error as AggregateError).errors as unknown[]
    const reasons = errors.map((each, i) =>
      errors.length === 1 && !(each instanceof ReadOnlyServer)
        ? sentenceOf(each)
        : `${placeOf(hosts[i] ?? {})} ${each instanceof ReadOnlyServer ? each.message : `does not answer: ${sentenceOf(each)}`}`,
    )
    throw new NoServer(reasons.join('; '), {
      cause: errors.find((each) => !(each instanceof ReadOnlyServer)) ?? errors[0],
      isReadOnly: errors.every((each) => each instanceof ReadOnlyServer),
    })
  }
}

/** The request for TLS that begins a connection (PostgreSQL, "Message Formats", SSLRequest). */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Whether the server of a connection without TLS offers TLS. False if it doesn't answer. */
export function offersTls({ host = 'localhost', port = 5432 }: Connection): Promise<boolean> {
  if (host.startsWith('/')) return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = connectTcp({ host, port, timeout: connectMs }, () => socket.write(tlsRequest))
    const end = (offers: boolean) => {
      socket.destroy()
      resolve(offers)
    }
    socket.once('data', (answer) => end(answer.toString('latin1', 0, 1) === 'S'))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
    socket.once('close', () => resolve(false))
  })
}

/**
 * Whether two sessions share a process of the server, so that settings, locks and notifications of a
 * session would reach another: pgbouncer in transaction or statement mode.
 */
export async function sharesSessions(connection: Connection): Promise<boolean> {
  const clients: Client[] = []
  try {
    const processes = new Set<number>()
    for (let n = 0; n < 3; n++) {
      const client = new Client(clientConfig(connection))
      client.on('error', () => undefined)
      clients.push(client)
      await client.connect()
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      processes.add(rows[0]!.pid)
    }
    return processes.size < clients.length
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)))
  }
}
