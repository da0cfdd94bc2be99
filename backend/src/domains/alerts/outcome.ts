/** The result of an attempt to send a message. */

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
