import { messageText } from './text.ts'

export type TalosErrorKind =
  /** No connection: refused, no route, reset, or forbidden by the dial check. */
  | 'unreachable'
  | 'timeout'
  /** The caller's signal was aborted, or the client was closed. */
  | 'cancelled'
  /** The server's certificate isn't the expected one. */
  | 'certificate'
  /** The server doesn't accept our certificate. */
  | 'refused'
  /**
   * The server's certificate or ours is expired or not yet valid, so one of the clocks is wrong.
   */
  | 'clock'
  | 'permission_denied'
  | 'unimplemented'
  | 'invalid_argument'
  | 'failed_precondition'
  | 'already_exists'
  | 'not_found'
  /** The connection was lost, or the server reports that it can't answer now. */
  | 'unavailable'
  /** Not a valid Talos response: garbage, too large, or with impossible values. */
  | 'invalid_data'
  | 'other'

/**
 * Every error of the client. `message` is part of a sentence, without the server's name:
 * "connection refused".
 */
export class TalosError extends Error {
  readonly kind: TalosErrorKind

  constructor(kind: TalosErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TalosError'
    this.kind = kind
  }
}

/**
 * A server's own report that a call failed: the `grpc-status` and `grpc-message` of its response.
 */
export class GrpcStatus extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'GrpcStatus'
    this.code = code
  }
}

/** Codes of gRPC (google/rpc/code.proto). */
const unknown = 2
const deadlineExceeded = 4
const codes: Readonly<Record<number, TalosErrorKind>> = {
  3: 'invalid_argument',
  5: 'not_found',
  6: 'already_exists',
  7: 'permission_denied',
  9: 'failed_precondition',
  12: 'unimplemented',
  14: 'unavailable',
  // UNAUTHENTICATED
  16: 'permission_denied',
}

/**
 * Converts any error of a call or a connection to a TalosError. `timeoutMs` is the deadline, for
 * the message.
 */
export function talosError(reason: unknown, timeoutMs: number, signal?: AbortSignal): TalosError {
  if (signal?.aborted === true) return new TalosError('cancelled', 'cancelled', { cause: reason })
  const transport = transportError(reason)
  if (transport !== undefined) return transport
  if (!(reason instanceof GrpcStatus))
    return new TalosError(
      'other',
      sentence(reason instanceof Error ? reason.message : String(reason)),
      { cause: reason },
    )
  if (reason.code === deadlineExceeded)
    return new TalosError('timeout', tooLate(timeoutMs), { cause: reason })
  if (noEndpoints.test(reason.message))
    return new TalosError('unavailable', withoutEndpoints, { cause: reason })
  return new TalosError(codes[reason.code] ?? kindOfPlainError(reason), sentence(reason.message), {
    cause: reason,
  })
}

/**
 * Talos knows other control planes from discovery and from Kubernetes (Talos
 * `internal/pkg/etcd/endpoints.go`). The removal of a member of etcd, and the upgrade before 1.13,
 * need one. The cause ends by itself, so this is no refusal.
 */
const noEndpoints = /\bno controlplane endpoints discovered yet\b/
const withoutEndpoints =
  'it knows no control plane of its cluster yet: discovery is off or shows none, and it has had no answer from the Kubernetes API. Bring the Kubernetes API back, or turn discovery on'

/**
 * Many of Talos's errors are plain Go errors, which gRPC sends as Unknown. Only the text
 * distinguishes them (Talos `logging/circular.go`).
 */
const kindOfPlainError = ({ code, message }: GrpcStatus): TalosErrorKind =>
  code === unknown && /\blog "[^"]*" was not registered$/.test(message.trimEnd().slice(-300))
    ? 'not_found'
    : 'other'

export function tooLate(timeoutMs: number): string {
  return `did not answer within ${timeoutMs < 1000 ? `${timeoutMs} ms` : `${Math.round(timeoutMs / 100) / 10} s`}`
}

const unreachable: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to the server',
  ENETUNREACH: 'no route to the network',
  EHOSTDOWN: 'no route to the server',
  EADDRNOTAVAIL: 'the address is not available',
  ETIMEDOUT: 'the server did not answer',
}

const lost = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_HTTP2_STREAM_CANCEL',
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_INVALID_SESSION',
])

/** The first recognised error in the chain of causes (ours, socket, TLS, HTTP/2), or undefined. */
function transportError(reason: unknown): TalosError | undefined {
  for (let at = reason; at instanceof Error; at = at.cause) {
    if (at instanceof TalosError) return at
    const code = (at as NodeJS.ErrnoException).code
    if (typeof code !== 'string') continue
    if (code in unreachable)
      return new TalosError('unreachable', unreachable[code]!, { cause: reason })
    if (isOutOfTime(code))
      return new TalosError('clock', 'its clock and ours differ', { cause: reason })
    if (isRefusal(code))
      return new TalosError('refused', 'server does not accept our certificate', { cause: reason })
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return new TalosError('certificate', "the server's certificate is for another address", {
        cause: reason,
      })
    if (untrusted.has(code))
      return new TalosError(
        'certificate',
        "the server's certificate is not signed by the expected authority",
        { cause: reason },
      )
    if (lost.has(code))
      return new TalosError('unavailable', 'the connection was lost', { cause: reason })
    if (code.startsWith('ERR_SSL_') || code === 'EPROTO')
      return new TalosError('invalid_data', 'server does not speak TLS as Talos does', {
        cause: reason,
      })
    if (code.startsWith('ERR_HTTP2_'))
      return new TalosError('invalid_data', 'server does not speak HTTP/2 as Talos does', {
        cause: reason,
      })
  }
  return undefined
}

/**
 * Whether a certificate is expired or not yet valid. Talos sends the same alert for both, as Go
 * does (crypto/tls, `processCertsFromClient`).
 */
const isOutOfTime = (code: string) =>
  code === 'CERT_HAS_EXPIRED' ||
  code === 'CERT_NOT_YET_VALID' ||
  /^ERR_SSL_.*_ALERT_CERTIFICATE_EXPIRED$/.test(code)

/**
 * TLS alerts about our certificate. OpenSSL names them after the protocol that introduced them:
 * `SSLV3` (since 3.2 `SSL/TLS`) or `TLSV1`.
 */
const isRefusal = (code: string) =>
  code.startsWith('ERR_SSL_') &&
  /CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED/.test(code.split('_ALERT_', 2)[1] ?? '')

const untrusted = new Set(
  (
    'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY ' +
    'CERT_SIGNATURE_FAILURE CERT_UNTRUSTED INVALID_PURPOSE INVALID_CA CERT_REJECTED'
  ).split(' '),
)

function sentence(text: string): string {
  const clean = messageText(text).trim()
  return clean === '' ? 'unknown error' : clean
}
