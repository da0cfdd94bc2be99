/** The result of an attempt to send a message. */
import { text as printable } from '#talos/client/text.ts'

export interface Outcome {
  /** Why the message did not arrive; null if it did. */
  readonly problem: string | null
  /** Of HTTP or SMTP. */
  readonly status: number | null
  readonly answer: string
  /**
   * Some of the recipients got it, although there is a problem. It is not sent again, because those
   * would get it again and again.
   */
  readonly partly?: true
}

/** Bytes that are kept of an answer. */
export const mostAnswerBytes = 64 * 1024
/** Time limit in ms of an attempt. A receiver that accepts and says nothing holds it no longer. */
export const attemptMs = 30_000

/**
 * The answer as text that can be stored and shown. An answer may repeat what was sent, so the
 * secrets are taken out.
 */
export function shownAnswer(bytes: Uint8Array, secrets: readonly string[]): string {
  let text = Buffer.from(bytes).toString('utf8')
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, '•••')
  return text.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, '\u{fffd}')
}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ENOTFOUND: "can't be found: the name has no address",
  EAI_AGAIN: "can't be found now: the name server does not answer",
  ECONNRESET: 'broke the connection off',
  EPIPE: 'broke the connection off',
  EHOSTUNREACH: "can't be reached",
  ENETUNREACH: "can't be reached",
  ETIMEDOUT: 'did not answer in time',
}

/** Why no answer came. `place`: the host. */
export function whyNoAnswer(place: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = sentences[code]
  if (known !== undefined) return `${place} ${known}`
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL/.test(code))
    return `${place} has a certificate that is not trusted (${code})`
  return `${place} can't be reached (${printable(error instanceof Error ? error.message : String(error), 200)})`
}

export const tooLate = (place: string, limitMs = attemptMs): string =>
  `${place} did not answer within ${limitMs / 1000} s`
