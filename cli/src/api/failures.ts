/** Why a call failed, in words, and what to do. */
import * as z from 'zod/mini'
import { CliError, exitOfStatus, Refusal } from '../exit.ts'
import { oneLine } from '../text.ts'

const network: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'no route to the address',
  ENETUNREACH: 'no route to the address',
}

/** A fault of the certificate, or of the protocol, by the code of OpenSSL or Node.js. */
interface Fault {
  readonly why: string
  readonly hint: string
}
const authorityHint = (caFile: string | undefined) =>
  caFile === undefined
    ? 'Give the PEM file of that authority with --ca-file or STEELYARD_CA_FILE'
    : `${oneLine(caFile)} doesn't have it: give the file of the authority itself, not of the certificate that it signed`

function faultOf(
  code: string,
  error: Error,
  caFile: string | undefined,
  url: string,
): Fault | null {
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT')
    return {
      why: 'its certificate is signed by itself, so nobody vouches for it',
      hint: 'If it is yours, give its PEM file with --ca-file or STEELYARD_CA_FILE',
    }
  if (
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_SIGNATURE_FAILURE)$/.test(
      code,
    )
  )
    return {
      why: "its certificate is signed by an authority that this machine doesn't know",
      hint: authorityHint(caFile),
    }
  if (code === 'CERT_HAS_EXPIRED')
    return {
      why: 'its certificate has expired',
      hint: `Renew the certificate of Steelyard, or set the clock of this machine: it says ${new Date().toISOString()}`,
    }
  if (code === 'CERT_NOT_YET_VALID')
    return {
      why: 'its certificate is not valid yet',
      hint: `Set the clock of this machine: it says ${new Date().toISOString()}`,
    }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const cert =
      'cert' in error ? (error.cert as { subjectaltname?: string } | undefined) : undefined
    const names = (cert?.subjectaltname ?? '').replaceAll(/\b(?:DNS|IP Address):/g, '')
    return {
      why: `its certificate is for ${names === '' ? 'no name' : oneLine(names)}`,
      hint: 'Use one of these names with --url, or give Steelyard a certificate for this one',
    }
  }
  if (/wrong version number|packet length too long/.test(error.message))
    return {
      why: 'it answers without TLS',
      hint: `Use ${url.replace(/^https:/, 'http:')}, or another port`,
    }
  if (code.startsWith('HPE_'))
    return {
      why: "its answer isn't HTTP",
      hint: `Use ${url.replace(/^http:/, 'https:')}, or another port`,
    }
  if (/CERT|ERR_TLS|ERR_SSL/.test(code))
    return {
      why: oneLine(error.message),
      hint: 'The certificate of Steelyard is at fault, or a device between: openssl s_client -connect HOST:PORT shows it',
    }
  return null
}

/** @param timeoutMs the time limit of the call, for the sentence */
export function unreachable(
  url: string,
  e: unknown,
  { timeoutMs, caFile }: { timeoutMs: number; caFile: string | undefined },
): CliError {
  if (e instanceof CliError) return e
  const error = e instanceof Error ? e : new Error(String(e))
  // Several addresses of a host: the error has one error for each.
  const first =
    error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const code = 'code' in first ? String(first.code) : ''
  const fault = faultOf(code, first, caFile, url)
  const why =
    error.name === 'TimeoutError'
      ? `no answer within ${timeoutMs / 1000} s`
      : (fault?.why ?? network[code] ?? oneLine(first.message))
  return new CliError('unreachable', `${url} could not be reached: ${why}`, {
    cause: e,
    hint: fault?.hint ?? 'Set the address with --url or STEELYARD_URL',
  })
}

/** Converts an error response of the API to a CliError. */
export function refusal(url: string, status: number, text: string): CliError {
  let read
  try {
    read = z.safeParse(Refusal, JSON.parse(text))
  } catch {
    read = null
  }
  if (!read?.success)
    return new CliError(
      exitOfStatus(status),
      `${url} answered ${status}, which is not a response of Steelyard`,
    )
  const body = read.data
  const details = Object.entries(body.fields ?? {}).filter(
    ([, sentence]) => !body.error.includes(sentence),
  )
  const message = [body.error, ...details.map(([path, sentence]) => `  ${path}: ${sentence}`)]
    .map(oneLine)
    .join('\n')
  if (status >= 500)
    return new CliError(exitOfStatus(status), message, {
      body,
      hint: `Request ${oneLine(body.request_id)}`,
    })
  return new CliError(exitOfStatus(status), message, {
    body,
    ...(status === 403 && {
      hint: 'Ask an administrator for the role, and sign in again after you have received it',
    }),
  })
}
