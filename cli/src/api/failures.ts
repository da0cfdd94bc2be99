/** Why a call failed, in words, and what to do. */
import * as z from 'zod/mini'
import { OutOfTime } from '#contract/connections/causes.ts'
import { connectionReason, wayOut } from '#contract/connections/words.ts'
import { CliError, exitOfStatus, Refusal } from '../exit.ts'
import { oneLine } from '../text.ts'

/** What makes an authority known to this program. */
const authority = (caFile: string | undefined): string =>
  caFile === undefined
    ? 'give its PEM file with --ca-file or STEELYARD_CA_FILE'
    : `${oneLine(caFile)} doesn't have it: give the file of the authority itself, not of the certificate that it signed`

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** @param timeoutMs the time limit of the call, for the sentence */
export function unreachable(
  url: string,
  e: unknown,
  { timeoutMs, caFile }: { timeoutMs: number; caFile: string | undefined },
): CliError {
  if (e instanceof CliError) return e
  const isOwnLimit = e instanceof Error && e.name === 'TimeoutError'
  const error = isOwnLimit ? new OutOfTime(timeoutMs) : e
  const way = wayOut(error, {
    by: url.startsWith('https:') ? 'https' : 'http',
    authority: authority(caFile),
    now: new Date(),
    url: oneLine(url),
  })
  return new CliError('unreachable', `${url} could not be reached: ${connectionReason(error)}`, {
    cause: e,
    hint: way === undefined ? 'Set the address with --url or STEELYARD_URL' : capital(way),
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
