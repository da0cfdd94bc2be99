/**
 * Detects wrong server clocks from certificates. Talos issues a control plane's certificate at
 * boot, when the clock is set, and again after 12 of 24 hours, with `notBefore` = now (Talos
 * `secrets/api.go`; crypto `x509.NewDefaultOptions`). So the machine's clock lies between the
 * beginning and the end of the certificate that the machine presents. A worker's certificate is
 * issued by a control plane, but only if the clocks of the two machines agree.
 */
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { TalosError, talosError } from './errors.ts'

const minuteMs = 60_000

/** "1 minute", "61 minutes", "3 hours", "2 days". */
function spanOf(ms: number): string {
  const minutes = Math.round(ms / minuteMs)
  if (minutes < 120) return minutes === 1 ? '1 minute' : `${minutes} minutes`
  return minutes < 48 * 60
    ? `${Math.round(minutes / 60)} hours`
    : `${Math.round(minutes / 1_440)} days`
}

/**
 * Throws TalosError if TLS doesn't accept that `shown` belongs to `host` (an IP literal) and is
 * signed by `authority`. The kind is `clock` if only the time is wrong.
 */
export function demandSigned(
  socket: TLSSocket,
  shown: X509Certificate,
  authority: X509Certificate,
  host: string,
): void {
  if (socket.authorized) return
  const verdict: unknown = socket.authorizationError
  const code = verdict instanceof Error && 'code' in verdict ? verdict.code : verdict
  if (code !== 'CERT_NOT_YET_VALID' && code !== 'CERT_HAS_EXPIRED')
    throw talosError(coded(String(code)), 0)
  // OpenSSL reports only the last problem, and Node.js then skips the name check, so a time error
  // may hide a wrong authority or name.
  if (!shown.checkIssued(authority) || !shown.verify(authority.publicKey))
    throw talosError(coded('CERT_UNTRUSTED'), 0)
  if (shown.checkIP(host) === undefined) throw talosError(coded('ERR_TLS_CERT_ALTNAME_INVALID'), 0)
  throw certificateOutOfTime(shown, Date.now())
}

const coded = (code: string) => Object.assign(new Error(code), { code })

/**
 * Interprets the end of a connection before the first response. In TLS 1.3 a server checks our
 * certificate only after we consider the connection ready, so a server that hangs up at that point
 * has refused the certificate, even without an alert (the alert is lost if the server had not read
 * everything).
 */
export function refusalOf(
  error: unknown,
  shown: X509Certificate,
  authority: X509Certificate,
): TalosError | undefined {
  const told =
    error === undefined
      ? new TalosError('refused', 'server hung up when it saw our certificate')
      : talosError(error, 0)
  const isOfTime = told.kind === 'clock' || told.kind === 'refused' || told.kind === 'unavailable'
  return (isOfTime ? certificateOfThePast(shown, authority, Date.now()) : undefined) ?? told
}

/**
 * The error for a server certificate that is expired or not yet valid by our clock. `nowMs`:
 * milliseconds since 1970.
 */
function certificateOutOfTime(shown: X509Certificate, nowMs: number): TalosError {
  const aheadMs = shown.validFromDate.getTime() - nowMs
  const behindMs = nowMs - shown.validToDate.getTime()
  if (aheadMs > 0) return skewed(`at least ${spanOf(aheadMs)} ahead of ours`)
  if (behindMs > 0) return skewed(`at least ${spanOf(behindMs)} behind ours`)
  return new TalosError('clock', 'its clock and ours differ')
}

/**
 * The error for a server whose clock is slow: the server's certificate begins before the
 * certificate of its authority. The server refuses all our certificates as not valid yet. Undefined
 * if the server's certificate doesn't begin earlier.
 */
function certificateOfThePast(
  shown: X509Certificate,
  authority: X509Certificate,
  nowMs: number,
): TalosError | undefined {
  const began = shown.validFromDate.getTime()
  const authorityBegan = authority.validFromDate.getTime()
  if (began >= authorityBegan) return undefined
  const [least, most] = [spanOf(authorityBegan - began), spanOf(nowMs - began)]
  return skewed(`${least === most ? most : `between ${least} and ${most}`} behind ours`)
}

const skewed = (how: string) => new TalosError('clock', `by its certificate its clock is ${how}`)
