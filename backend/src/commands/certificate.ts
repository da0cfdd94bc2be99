import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { minuteOf } from '#contract/words.ts'

const dayMs = 24 * 3_600_000
/** A certificate that ends within this time is warned of. */
const soonMs = 14 * dayMs

export interface CertificateSaid {
  readonly verdict: 'good' | 'warning' | 'bad'
  readonly text: string
}

/**
 * What `doctor` says of the certificate in STEELYARD_TLS_CERT: whether it is valid now and for how
 * long, and whether it is for the host of `publicUrl`. Without a `publicUrl` the host is not
 * compared: behind a proxy, browsers see the certificate of the proxy.
 */
export function certificateSaid(
  pem: Buffer,
  { publicUrl, now }: { readonly publicUrl: string | null; readonly now: Date },
): CertificateSaid {
  const certificate = new X509Certificate(pem)
  const [from, until] = [certificate.validFromDate, certificate.validToDate]
  if (until <= now)
    return {
      verdict: 'bad',
      text: `The certificate in STEELYARD_TLS_CERT ended on ${minuteOf(until)}: browsers and booting servers refuse it. Renew it: Steelyard answers with the new one within a minute`,
    }
  if (from > now)
    return {
      verdict: 'bad',
      text: `The certificate in STEELYARD_TLS_CERT is valid only from ${minuteOf(from)}: compare this machine's clock with another one`,
    }
  const host = publicUrl === null ? null : new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')
  if (host !== null && !isFor(certificate, host))
    return {
      verdict: 'warning',
      text: `The certificate in STEELYARD_TLS_CERT is not for ${host}, the host of STEELYARD_PUBLIC_URL: browsers and booting servers refuse it there. Set STEELYARD_PUBLIC_URL to a name in the certificate, or have one issued for ${host}`,
    }
  if (until.getTime() - now.getTime() < soonMs)
    return {
      verdict: 'warning',
      text: `The certificate in STEELYARD_TLS_CERT ends on ${minuteOf(until)}. Renew it: Steelyard answers with the new one within a minute`,
    }
  return {
    verdict: 'good',
    text: `The certificate in STEELYARD_TLS_CERT is valid${host === null ? '' : ` for ${host}`} until ${minuteOf(until)}`,
  }
}

const isFor = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined
