/**
 * Reads DATABASE_URL as libpq does: several hosts, `target_session_attrs`, and TLS by `sslmode` and
 * its files (PostgreSQL, "Connection URIs" and "Parameter Key Words" of libpq). A parameter that
 * Steelyard would ignore is a problem, so that nobody relies on it.
 */

export const tlsModes = [
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
] as const
export type TlsMode = (typeof tlsModes)[number]

export interface DatabaseHost {
  /** Name, address, or the folder of a unix socket. */
  readonly host: string
  readonly port: number
}

export interface DatabaseUrl {
  /** Empty: as `pg` means it, which is PGHOST or localhost. */
  readonly hosts: readonly DatabaseHost[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  readonly tls: TlsMode
  /** Whether the URL names `sslmode`; without it libpq means `prefer`. */
  readonly namesTls: boolean
  /** Paths of PEM files. `rootCert` may be `system`: the authorities that the system trusts. */
  readonly rootCert: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly options: string | undefined
}

export type ReadUrl =
  | { readonly ok: true; readonly url: DatabaseUrl }
  | { readonly ok: false; readonly problem: string }

/** Parameters of libpq that change nothing for Steelyard. */
const harmless = new Set([
  'application_name',
  'fallback_application_name',
  'connect_timeout',
  'keepalives',
  'keepalives_idle',
  'keepalives_interval',
  'keepalives_count',
  'tcp_user_timeout',
  'client_encoding',
  'uselibpqcompat',
])
const known = new Set([
  ...harmless,
  'host',
  'port',
  'user',
  'password',
  'dbname',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'target_session_attrs',
  'options',
])
const defaultPort = 5432
/** Steelyard writes, so these are the only servers that it can use. */
const writable = new Set(['read-write', 'primary', 'any'])

class Wrong extends Error {}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Wrong(`has a ${what} with a % that begins no two hexadecimal digits: write it as %25`)
  }
}

function portOf(text: string): number {
  if (text === '') return defaultPort
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535)
    throw new Wrong(`names the port ${text.slice(0, 20)}, which is not a number from 1 to 65535`)
  return port
}

/** `host`, `host:port`, `[address]:port`; an encoded path is the folder of a socket. */
function hostOf(text: string): DatabaseHost {
  const found = /^(?:\[([^\]]*)\]|([^:]*))(?::([^:]*))?$/.exec(text)
  if (!found) throw new Wrong('has a host that is not readable: write IPv6 addresses as [::1]')
  return { host: decoded(found[1] ?? found[2]!, 'host'), port: portOf(found[3] ?? '') }
}

/** Hosts and ports as parameters: lists of the same length, or one port for all. */
function listed(hosts: string, ports: string | undefined): DatabaseHost[] {
  const names = hosts.split(',')
  const numbers = ports === undefined ? [''] : ports.split(',')
  if (numbers.length !== 1 && numbers.length !== names.length)
    throw new Wrong(`names ${names.length} hosts and ${numbers.length} ports`)
  return names.map((host, i) => ({ host, port: portOf(numbers[i] ?? numbers[0]!) }))
}

function read(text: string): DatabaseUrl {
  const parts = /^postgres(?:ql)?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text)
  if (!parts) throw new Wrong('must be a URL that begins with postgresql://')
  const [, authority = '', name = '', query = ''] = parts
  const at = authority.lastIndexOf('@')
  const [user = '', ...rest] = at < 0 ? [] : authority.slice(0, at).split(':')
  const parameters = new Map<string, string>()
  for (const [key, value] of new URLSearchParams(query)) {
    if (!known.has(key))
      throw new Wrong(`has the parameter ${key.slice(0, 40)}, which Steelyard doesn't know`)
    parameters.set(key, value)
  }
  const given = (key: string): string | undefined => parameters.get(key) || undefined
  const tls = (given('sslmode') ?? 'prefer') as TlsMode
  if (!tlsModes.includes(tls))
    throw new Wrong(`has sslmode=${tls.slice(0, 20)}, which is none of ${tlsModes.join(', ')}`)
  const target = given('target_session_attrs') ?? 'any'
  if (!writable.has(target))
    throw new Wrong(
      `has target_session_attrs=${target.slice(0, 20)}: Steelyard writes, so it must be read-write or primary`,
    )
  const [cert, key] = [given('sslcert'), given('sslkey')]
  if ((cert === undefined) !== (key === undefined))
    throw new Wrong('must have sslcert and sslkey together')
  const inAuthority = authority.slice(at + 1)
  const hosts =
    given('host') === undefined
      ? inAuthority === ''
        ? []
        : inAuthority.split(',').map(hostOf)
      : listed(given('host')!, given('port'))
  if (hosts.some(({ host }) => host === '') && hosts.length > 1)
    throw new Wrong('has an empty host in its list')
  return {
    hosts: hosts.filter(({ host }) => host !== ''),
    user: given('user') ?? (user === '' ? undefined : decoded(user, 'user name')),
    password:
      given('password') ?? (rest.length === 0 ? undefined : decoded(rest.join(':'), 'password')),
    database: given('dbname') ?? (name === '' ? undefined : decoded(name, 'database name')),
    tls,
    namesTls: given('sslmode') !== undefined,
    rootCert: given('sslrootcert'),
    cert,
    key,
    options: given('options'),
  }
}

/** @returns the URL's parts, or the problem as the end of a sentence that begins with the setting */
export function readDatabaseUrl(text: string): ReadUrl {
  try {
    return { ok: true, url: read(text) }
  } catch (error) {
    if (error instanceof Wrong) return { ok: false, problem: error.message }
    throw error
  }
}
