/** Settings of one connection to PostgreSQL, as plain data that can cross threads. */
import type { ClientConfig } from 'pg'

/** How a connection is encrypted. */
export interface Tls {
  /** What of the server's certificate is verified: nothing, its authority, or its name as well. */
  readonly verifies: 'nothing' | 'authority' | 'name'
  /** PEM of the authorities; without it those that Node.js trusts. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export interface Connection {
  /** Name, address, or the folder of a unix socket. */
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly database?: string | undefined
  /** Start options of the server process (`-c name=value`). */
  readonly options?: string | undefined
  readonly tls?: Tls | undefined
}

/** The longest time of a statement, and of a transaction that waits for its next statement, in ms. */
export const statementMs = 25_000
export const idleInTransactionMs = 15_000

/** How long connecting may take, in ms. */
export const connectMs = 5_000

/** The settings as `pg` takes them. */
export function clientConfig({ tls, ...connection }: Connection): ClientConfig {
  const given = Object.fromEntries(
    Object.entries(connection).filter(([, value]) => value !== undefined),
  )
  return {
    application_name: 'steelyard',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    ...given,
    ssl:
      tls === undefined
        ? false
        : {
            rejectUnauthorized: tls.verifies !== 'nothing',
            ...(tls.ca !== undefined && { ca: tls.ca }),
            ...(tls.cert !== undefined && { cert: tls.cert }),
            ...(tls.key !== undefined && { key: tls.key }),
            // libpq's `verify-ca` accepts any name.
            ...(tls.verifies === 'authority' && { checkServerIdentity: () => undefined }),
          },
  }
}

/** `db-a:5432`, or the folder of a socket. */
export const placeOf = ({ host = 'localhost', port = 5432 }: Connection): string =>
  host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`

/**
 * What every new session begins with. The time limits are set by a statement, not as start
 * parameters, because pgbouncer refuses start parameters that it doesn't know. A statement that
 * runs longer counts as stuck: the statements of requests, of the engine and of migrations are
 * short. A process that hangs inside a transaction keeps its row locks until the second limit; its
 * lease expires after about the same time.
 */
export const beginSession = `set statement_timeout = ${statementMs}; set idle_in_transaction_session_timeout = ${idleInTransactionMs}`

/** Asks whether the server accepts writes. The result is one row of `ServerState`. */
export const askState = `select pg_is_in_recovery() as standby, current_setting('default_transaction_read_only') = 'on' as read_only`
export interface ServerState {
  readonly standby: boolean
  readonly read_only: boolean
}

/** Why a server can't be used; null if it accepts writes. */
export const unusable = ({ standby, read_only }: ServerState): string | null =>
  standby
    ? 'is a standby, which accepts no writes'
    : read_only
      ? 'accepts no writes (default_transaction_read_only is on)'
      : null
