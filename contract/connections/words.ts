/**
 * One sentence for each cause of a failed connection, and the way out of it: for channels, stores,
 * the image factory, the identity provider, Talos, Kubernetes and the command line.
 */
import {
  type ConnectionCause,
  connectionFault,
  type ConnectionFault,
  lateBy,
  type ProxyRefused,
} from './causes.ts'

interface Words {
  /** What the other side does, after its name. */
  readonly says: string
  /** The same without its name, after a colon. */
  readonly reason: string
  /** It may be over in a moment, so the call may be repeated. */
  readonly passes?: true
}

const table: Readonly<Record<ConnectionCause, Words>> = {
  refused: { says: 'refuses connections', reason: 'connection refused', passes: true },
  lost: { says: 'broke the connection off', reason: 'the connection was lost', passes: true },
  unknown_name: {
    says: "can't be found: its name has no address",
    reason: 'its name has no address',
  },
  no_name_server: {
    says: "can't be found now: the name server does not answer",
    reason: 'the name server does not answer',
    passes: true,
  },
  no_route: {
    says: "can't be reached: there is no route to it",
    reason: 'no route to the server',
    passes: true,
  },
  no_network: {
    says: "can't be reached: there is no route to its network",
    reason: 'no route to the network',
    passes: true,
  },
  no_address: {
    says: "can't be reached: this machine has no address to begin from",
    reason: 'the address is not available',
  },
  late: { says: 'did not answer in time', reason: 'did not answer in time', passes: true },
  plain: { says: 'answers without TLS', reason: 'it answers without TLS' },
  wants_tls: { says: 'wants TLS', reason: 'it wants TLS' },
  no_starttls: { says: 'does not offer STARTTLS', reason: 'it does not offer STARTTLS' },
  not_http: { says: 'sent an answer that is not HTTP', reason: 'its answer is not HTTP' },
  not_http2: { says: 'does not speak HTTP/2', reason: 'it does not speak HTTP/2' },
  tls_versions: {
    says: 'shares no version or cipher of TLS with this machine',
    reason: 'it shares no version or cipher of TLS with this machine',
  },
  tls: { says: 'failed to begin TLS', reason: 'it failed to begin TLS' },
  own_certificate: {
    says: 'does not accept our certificate',
    reason: 'it does not accept our certificate',
  },
  own_expired: {
    says: 'says that our certificate has expired',
    reason: 'it says that our certificate has expired',
  },
  self_signed: {
    says: 'has a certificate that is not trusted (it is signed by itself, so nobody vouches for it)',
    reason: 'its certificate is signed by itself, so nobody vouches for it',
  },
  unknown_authority: {
    says: "has a certificate that is not trusted (this machine doesn't know its authority)",
    reason: "its certificate is signed by an authority that this machine doesn't know",
  },
  expired: {
    says: 'has a certificate that is not trusted (it has expired)',
    reason: 'its certificate has expired',
  },
  not_yet_valid: {
    says: 'has a certificate that is not trusted (it is not valid yet)',
    reason: 'its certificate is not valid yet',
  },
  wrong_name: {
    says: 'has a certificate that is not trusted (it is for another name)',
    reason: 'its certificate is for another name',
  },
  untrusted: {
    says: 'has a certificate that is not trusted (it is not meant for this)',
    reason: 'its certificate is not meant for this',
  },
  proxy_user: {
    says: 'is behind a proxy that wants a user',
    reason: 'the proxy wants a user',
  },
  proxy_refused: {
    says: 'is behind a proxy that refuses the connection',
    reason: 'the proxy refuses the connection',
  },
  ended: { says: 'was not waited for', reason: 'nobody waited for the answer' },
}

/** For an error that no cause is known for. Its code is shown, never its text. */
const unknown = (error: unknown): Words => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const shown = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,47}$/.test(code) ? ` (${code})` : ''
  return { says: `can't be reached${shown}`, reason: `the connection failed${shown}` }
}

/** At most this much of the names of a certificate is shown, in characters. */
const mostNames = 200

/** Names come from a certificate of a stranger. */
const shown = (names: readonly string[]): string =>
  names
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '\u{fffd}')
    .slice(0, mostNames)

const withNames = (names: readonly string[]): Words => {
  const list = names.length === 0 ? 'no name' : shown(names)
  return {
    says: `has a certificate that is not trusted (it is for ${list})`,
    reason: `its certificate is for ${list}`,
  }
}

const withProxy = (words: Words, { status }: ProxyRefused): Words =>
  status === 407
    ? words
    : { says: `${words.says} (${status})`, reason: `${words.reason} (${status})` }

function wordsOf({ cause, limitMs, names, proxy }: ConnectionFault): Words {
  const words = table[cause]
  if (limitMs !== undefined) return { ...words, says: lateBy(limitMs), reason: lateBy(limitMs) }
  if (names !== undefined) return withNames(names)
  return proxy === undefined ? words : withProxy(words, proxy)
}

/** What was tried. */
export interface Attempt {
  /** `mail_silent`: a connection without TLS, on which the mail server said nothing. */
  readonly by: 'http' | 'https' | 'mail_tls' | 'mail_starttls' | 'mail_plain' | 'mail_silent'
  /** What makes an authority known, as a clause: "set … to its PEM file". */
  readonly authority: string
  /** What the clock of this machine says. */
  readonly now: Date
  /** The URL that the caller wrote, without a secret. */
  readonly url?: string
}

type Way = (attempt: Attempt, fault: ConnectionFault) => string | undefined

const isMail = (by: Attempt['by']): boolean => by.startsWith('mail_')
const setClock = ({ now }: Attempt): string =>
  `set the clock of this machine: it says ${now.toISOString()}`

/** What a person does about each cause; undefined: there is nothing that this program knows. */
const ways: Readonly<Partial<Record<ConnectionCause, Way>>> = {
  plain: ({ by, url }) =>
    isMail(by)
      ? 'choose STARTTLS, or the port for TLS (usually 465)'
      : `use ${url?.replace(/^https:/, 'http:') ?? 'http://'}, or another port`,
  wants_tls: ({ by }) =>
    isMail(by)
      ? 'choose TLS, or the port for STARTTLS (usually 587)'
      : 'use https://, or another port',
  no_starttls: () => 'choose TLS with its port (usually 465), or offer STARTTLS there',
  not_http: ({ by }) => (by === 'http' ? 'use https://, or another port' : 'use another port'),
  late: ({ by }) =>
    by === 'mail_silent' ? 'if this port is for TLS (usually 465), choose TLS' : undefined,
  lost: ({ by }) =>
    by === 'http'
      ? 'if this port is for TLS, use https://'
      : by === 'mail_silent'
        ? 'if this port is for TLS (usually 465), choose TLS'
        : undefined,
  self_signed: ({ authority }) => `if it is yours, ${authority}`,
  unknown_authority: ({ authority }) => `if the authority is yours, ${authority}`,
  expired: (attempt) => `renew it, or ${setClock(attempt)}`,
  not_yet_valid: setClock,
  wrong_name: () => 'use one of its names, or give the other side a certificate for this one',
  proxy_user: (_attempt, { proxy }) => {
    if (proxy === undefined) return undefined
    const { methods, hasUser } = proxy
    if (methods.length > 0 && !methods.some((one) => one.toLowerCase() === 'basic'))
      return `it offers ${methods.join(', ')}, of which only Basic is supported here. NO_PROXY may name the host, if it can be reached without the proxy`
    return hasUser
      ? 'check the user and the password in HTTPS_PROXY'
      : 'set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT'
  },
  proxy_refused: () => 'NO_PROXY names the hosts that are reached without the proxy',
}

/** What a person does about a failed connection; undefined if that isn't known. */
export const wayOut = (error: unknown, attempt: Attempt): string | undefined => {
  const fault = connectionFault(error)
  return fault && ways[fault.cause]?.(attempt, fault)
}

/** Why a connection failed, without the name of the other side: "connection refused". */
export const connectionReason = (error: unknown): string => {
  const fault = connectionFault(error)
  return (fault ? wordsOf(fault) : unknown(error)).reason
}

/**
 * Why a connection failed, with the way out if there is one: "The store s3.example.com refuses
 * connections".
 * @param place the name of the other side
 */
export function connectionSentence(place: string, error: unknown, attempt: Attempt): string {
  const fault = connectionFault(error)
  const { says } = fault ? wordsOf(fault) : unknown(error)
  const way = wayOut(error, attempt)
  return `${place} ${says}${way === undefined ? '' : `: ${way}`}`
}

/** Whether a connection that failed may succeed in a moment. */
export const mayPass = (error: unknown): boolean => {
  const fault = connectionFault(error)
  return fault !== undefined && table[fault.cause].passes === true
}
