import { type ConnectionCause, connectionFault, lateBy } from '#contract/connections/causes.ts'
import { connectionReason } from '#contract/connections/words.ts'
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
  if (signal?.aborted === true) return endedBy(signal, reason)
  const transport = transportError(reason)
  if (transport !== undefined) return transport
  if (!(reason instanceof GrpcStatus))
    return new TalosError(
      'other',
      sentence(reason instanceof Error ? reason.message : String(reason)),
      { cause: reason },
    )
  if (reason.code === deadlineExceeded)
    return new TalosError('timeout', lateBy(timeoutMs), { cause: reason })
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

/** The error of a call that the caller has ended: by its own time limit, or because it needs it no longer. */
export const endedBy = (signal: AbortSignal, reason?: unknown): TalosError =>
  connectionFault(signal.reason)?.cause === 'late'
    ? new TalosError('timeout', connectionReason(signal.reason), { cause: signal.reason })
    : new TalosError('cancelled', 'nobody waited for the answer', { cause: reason })

/**
 * What a cause means of a machine. A machine's certificate is valid from its boot on, and ours since
 * a moment, so one that is out of its time means that a clock is wrong.
 */
const kinds: Readonly<Record<ConnectionCause, TalosErrorKind>> = {
  refused: 'unreachable',
  unknown_name: 'unreachable',
  no_name_server: 'unreachable',
  no_route: 'unreachable',
  no_network: 'unreachable',
  no_address: 'unreachable',
  proxy_user: 'unreachable',
  proxy_refused: 'unreachable',
  late: 'unreachable',
  ended: 'cancelled',
  lost: 'unavailable',
  expired: 'clock',
  not_yet_valid: 'clock',
  own_expired: 'clock',
  own_certificate: 'refused',
  wrong_name: 'certificate',
  self_signed: 'certificate',
  unknown_authority: 'certificate',
  untrusted: 'certificate',
  plain: 'invalid_data',
  wants_tls: 'invalid_data',
  no_starttls: 'invalid_data',
  not_http: 'invalid_data',
  not_http2: 'invalid_data',
  tls_versions: 'invalid_data',
  tls: 'invalid_data',
}

const clocks = 'its clock and ours differ'
const otherAuthority = 'its certificate is not signed by the expected authority'
/**
 * What says more about a machine than the sentence of its cause. The authority of a machine is that
 * of its cluster, which nobody has to make known.
 */
const ofMachine: Readonly<Partial<Record<ConnectionCause, string>>> = {
  expired: clocks,
  not_yet_valid: clocks,
  own_expired: clocks,
  self_signed: otherAuthority,
  unknown_authority: otherAuthority,
  untrusted: otherAuthority,
}

/** The first error of ours, or of a connection, in the chain of causes; undefined if there is none. */
function transportError(reason: unknown): TalosError | undefined {
  for (let at = reason; at instanceof Error; at = at.cause) if (at instanceof TalosError) return at
  const fault = connectionFault(reason)
  if (fault === undefined) return undefined
  return new TalosError(kinds[fault.cause], ofMachine[fault.cause] ?? connectionReason(reason), {
    cause: reason,
  })
}

function sentence(text: string): string {
  const clean = messageText(text).trim()
  return clean === '' ? 'unknown error' : clean
}
