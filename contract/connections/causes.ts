/**
 * Why a connection failed. The cause is read from the type and the codes of an error, never from a
 * text that has a code. Sentences for each cause are in `words.ts`.
 */

/** What an error of a connection means. */
export const connectionCauses = [
  /** Nothing listens at the port, or a firewall refuses. */
  'refused',
  /** The connection was there and was cut. */
  'lost',
  /** The name has no address. */
  'unknown_name',
  /** The name server does not answer, so it isn't known whether the name has an address. */
  'no_name_server',
  'no_route',
  'no_network',
  /** This machine has no such address to begin from. */
  'no_address',
  /** No answer in time: by the limit of the network, or by the program's own. */
  'late',
  /** TLS was begun, and the other side answered in plain text. */
  'plain',
  /** A plain connection was begun, and the other side speaks TLS. */
  'wants_tls',
  /** STARTTLS was demanded and isn't offered. */
  'no_starttls',
  /** Plain text that isn't HTTP. */
  'not_http',
  'not_http2',
  /** The two sides have no version or cipher of TLS in common. */
  'tls_versions',
  /** TLS failed in another way. */
  'tls',
  /** The other side doesn't accept the certificate of the caller, or wants one. */
  'own_certificate',
  /** The other side says that the certificate of the caller is out of its time. */
  'own_expired',
  /** A certificate that is signed by itself. */
  'self_signed',
  'unknown_authority',
  'expired',
  'not_yet_valid',
  'wrong_name',
  /** A certificate that is refused for another reason, such as its purpose. */
  'untrusted',
  /** The proxy wants the caller to prove who it is (407). */
  'proxy_user',
  /** The proxy refuses the connection with another status. */
  'proxy_refused',
  /** The caller ended the call itself. */
  'ended',
] as const
export type ConnectionCause = (typeof connectionCauses)[number]

export interface ConnectionFault {
  readonly cause: ConnectionCause
  /** Of `late`: the program's own limit in ms, if it was that one. */
  readonly limitMs?: number
  /** Of `wrong_name`: the names of the certificate, if it was seen. */
  readonly names?: readonly string[]
  /** Of a proxy. */
  readonly proxy?: ProxyRefused
}

/**
 * The program's own time limit is over. The reason of the signal that ends a call, so that the call
 * says how long it has waited, and not that it was cancelled.
 */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
  readonly limitMs: number
  constructor(limitMs: number) {
    super(lateBy(limitMs))
    this.limitMs = limitMs
  }
}

/** "did not answer within 4 s" @param limitMs in ms */
export const lateBy = (limitMs: number): string =>
  `did not answer within ${limitMs < 1000 ? `${limitMs} ms` : `${Math.round(limitMs / 100) / 10} s`}`

/** A mail server doesn't offer STARTTLS, which is demanded. */
export class NoStarttls extends Error {
  override readonly name = 'NoStarttls'
}

/** A proxy answered a request for a connection (CONNECT) with a status other than 200. */
export class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused'
  readonly status: number
  /**
   * The methods of `Proxy-Authenticate` (RFC 9110, 11.7.1), such as `Basic`, as the proxy wrote
   * them.
   */
  readonly methods: readonly string[]
  /** The proxy was told a user. */
  readonly hasUser: boolean
  constructor(status: number, challenges: readonly string[], hasUser: boolean) {
    super(`the proxy answered ${status}`)
    this.status = status
    this.hasUser = hasUser
    this.methods = methodsOf(challenges)
  }
}

/**
 * The schemes of challenges (RFC 9110, 11.6.1). Between commas are challenges and the parameters of
 * the last one; a scheme is a token without `=` behind it.
 */
function methodsOf(challenges: readonly string[]): string[] {
  const bare = challenges.map((one) => one.slice(0, 2000).replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'))
  const found = bare
    .flatMap((one) => one.split(','))
    .flatMap((part) => /^\s*([A-Za-z][A-Za-z0-9._-]{0,31})(?:\s|$)(?!\s*=)/.exec(part)?.[1] ?? [])
  return [...new Set(found)].slice(0, 8)
}

/** Codes of Node.js (libuv, c-ares) and of undici, which is `fetch`. */
const socketCodes: Readonly<Record<string, ConnectionCause>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ECONNABORTED: 'lost',
  ERR_STREAM_PREMATURE_CLOSE: 'lost',
  ERR_HTTP2_STREAM_CANCEL: 'lost',
  ERR_HTTP2_GOAWAY_SESSION: 'lost',
  ERR_HTTP2_INVALID_SESSION: 'lost',
  UND_ERR_SOCKET: 'lost',
  ENOTFOUND: 'unknown_name',
  ENODATA: 'unknown_name',
  EAI_AGAIN: 'no_name_server',
  EHOSTUNREACH: 'no_route',
  EHOSTDOWN: 'no_route',
  ENETUNREACH: 'no_network',
  ENETDOWN: 'no_network',
  EADDRNOTAVAIL: 'no_address',
  ETIMEDOUT: 'late',
  ESOCKETTIMEDOUT: 'late',
  UND_ERR_CONNECT_TIMEOUT: 'late',
  UND_ERR_HEADERS_TIMEOUT: 'late',
  UND_ERR_BODY_TIMEOUT: 'late',
  // nodemailer.
  ECONNECTION: 'lost',
  ETLS: 'tls',
  // oauth4webapi, which openid-client uses.
  OAUTH_TIMEOUT: 'late',
}

/** Codes of a certificate that isn't accepted (OpenSSL x509_vfy.h, as Node.js names them). */
const certificateCodes: Readonly<Record<string, ConnectionCause>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self_signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'unknown_authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unknown_authority',
  UNABLE_TO_GET_ISSUER_CERT: 'unknown_authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unknown_authority',
  CERT_SIGNATURE_FAILURE: 'unknown_authority',
  CERT_UNTRUSTED: 'unknown_authority',
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not_yet_valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'wrong_name',
  HOSTNAME_MISMATCH: 'wrong_name',
}
/** Other reasons of X.509: `CERT_REVOKED`, `INVALID_CA`, `INVALID_PURPOSE`, … */
const isCertificateCode = (code: string): boolean =>
  /^(?:CERT_|CRL_|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|UNABLE_TO_(?:GET|DECODE|DECRYPT)_)/.test(
    code,
  )

/**
 * Reasons of OpenSSL (sslerr.h) of an answer that isn't TLS: `WRONG_VERSION_NUMBER`,
 * `PACKET_LENGTH_TOO_LONG`, `HTTP_REQUEST`. The number is that of the error, the name that of
 * Node.js's code.
 */
const plainReasons: ReadonlySet<number> = new Set([267, 198, 156])
const plainName = /_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/
/** Reasons of OpenSSL of which the number 1000 is taken are alerts of TLS (RFC 8446, 6). */
const alertBase = 1000
const handshakeAlerts: ReadonlySet<number> = new Set([40, 70, 71, 86])
/** `bad_certificate` to `unknown_ca`, `access_denied`, `certificate_required`. */
const certificateAlerts: ReadonlySet<number> = new Set([41, 42, 43, 44, 46, 48, 49, 116])
/**
 * Go, and so Talos, sends it for a certificate that is not yet valid too (crypto/tls,
 * `processCertsFromClient`).
 */
const expiredAlert = 45
const versionsName =
  /_(?:UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE|NO_SHARED_CIPHER|NO_CIPHERS_AVAILABLE|VERSION_TOO_LOW|ALERT_PROTOCOL_VERSION|ALERT_HANDSHAKE_FAILURE|ALERT_INSUFFICIENT_SECURITY)$/
/**
 * OpenSSL names alerts after the protocol that introduced them: `SSLV3` (since 3.2 `SSL/TLS`) or
 * `TLSV1`.
 */
const isCertificateAlert = (code: string): boolean => {
  const name = code.slice(code.indexOf('_ALERT_'))
  return (
    name.startsWith('_ALERT_') &&
    (name.includes('CERTIFICATE') || /^_ALERT_(?:UNKNOWN_CA|ACCESS_DENIED)$/.test(name))
  )
}
const expiredAlertName = /_ALERT_CERTIFICATE_EXPIRED$/

/**
 * The cause of an error of OpenSSL. Node.js gives it a code of its own, but an error while it writes
 * has only `EPROTO`; then the number of OpenSSL's error is the code, which only its message has
 * (`error:0A00010B:`).
 */
function tlsCause(code: string, message: string): ConnectionCause | undefined {
  if (code.startsWith('ERR_SSL_')) {
    if (plainName.test(code)) return 'plain'
    if (versionsName.test(code)) return 'tls_versions'
    if (expiredAlertName.test(code)) return 'own_expired'
    return isCertificateAlert(code) ? 'own_certificate' : 'tls'
  }
  if (code !== 'EPROTO') return undefined
  const reason = Number.parseInt(/error:0A([0-9A-F]{6}):/.exec(message)?.[1] ?? '', 16)
  if (plainReasons.has(reason)) return 'plain'
  if (handshakeAlerts.has(reason - alertBase)) return 'tls_versions'
  if (reason - alertBase === expiredAlert) return 'own_expired'
  return certificateAlerts.has(reason - alertBase) ? 'own_certificate' : 'tls'
}

/** Whether the first bytes of an answer are a record of TLS: an alert (RFC 8446, 5.1). */
const isTlsRecord = (bytes: unknown): boolean =>
  bytes instanceof Uint8Array && bytes[0] === 0x15 && bytes[1] === 0x03

/** What is read from an error; every field comes from elsewhere. */
interface Raised {
  readonly code?: unknown
  readonly originalCode?: unknown
  readonly rawPacket?: unknown
  readonly cert?: unknown
}

const namesOf = ({ cert }: Raised): string[] => {
  const text: unknown =
    typeof cert === 'object' && cert !== null && 'subjectaltname' in cert
      ? cert.subjectaltname
      : undefined
  return typeof text === 'string' && text !== ''
    ? text
        .slice(0, 2000)
        .split(', ')
        .map((one) => one.replace(/^(?:DNS|IP Address):/, ''))
    : []
}

function ofCode(code: string, error: Error & Raised): ConnectionCause | undefined {
  const known = socketCodes[code] ?? certificateCodes[code] ?? tlsCause(code, error.message)
  if (known !== undefined) return known
  if (code.startsWith('HPE_')) return isTlsRecord(error.rawPacket) ? 'wants_tls' : 'not_http'
  if (code.startsWith('ERR_HTTP2_')) return 'not_http2'
  return isCertificateCode(code) ? 'untrusted' : undefined
}

/** The fault that one error tells, without those that it wraps. */
function ofOne(error: Error & Raised): ConnectionFault | undefined {
  if (error instanceof OutOfTime) return { cause: 'late', limitMs: error.limitMs }
  if (error instanceof NoStarttls) return { cause: 'no_starttls' }
  if (error instanceof ProxyRefused)
    return { cause: error.status === 407 ? 'proxy_user' : 'proxy_refused', proxy: error }
  // nodemailer puts a code of its own above that of the connection.
  for (const code of [error.originalCode, error.code]) {
    const cause = typeof code === 'string' ? ofCode(code, error) : undefined
    if (cause !== undefined)
      return { cause, ...(cause === 'wrong_name' && 'cert' in error && { names: namesOf(error) }) }
  }
  return undefined
}

/** An error wraps no more errors than this below each other. */
const deepest = 16

function search(error: unknown, depth: number): ConnectionFault | undefined {
  if (!(error instanceof Error) || depth > deepest) return undefined
  const own = ofOne(error)
  if (own !== undefined) return own
  // One error for each address of a host.
  const inner: unknown[] = error instanceof AggregateError ? error.errors : []
  for (const one of [...inner, error.cause]) {
    const fault = search(one, depth + 1)
    if (fault !== undefined) return fault
  }
  if (error.name === 'TimeoutError') return { cause: 'late' }
  return error.name === 'AbortError' ? { cause: 'ended' } : undefined
}

/**
 * Why a connection failed; undefined if the error isn't one of a connection. Wrapped errors are
 * looked through, the outer ones first.
 */
export const connectionFault = (error: unknown): ConnectionFault | undefined => search(error, 0)
