/** The result of an attempt to send a message. */

export interface Outcome {
  /** Why the message did not arrive; null if it did. */
  readonly problem: string | null
  /** Of HTTP or SMTP. */
  readonly status: number | null
  readonly answer: string
  /** Of a mail: what became of each recipient that was tried. */
  readonly recipients?: readonly RecipientOutcome[]
  /** How long the receiver asks to wait, in ms (`Retry-After`). */
  readonly waitMs?: number
  /** The receiver says that it is gone for good (410). */
  readonly isGone?: true
}

export interface RecipientOutcome {
  readonly address: string
  /** Of the reply of SMTP; null if there was none. */
  readonly status: number | null
  /** Null if it got the mail. */
  readonly problem: string | null
  /** No further attempt changes it (5yz). */
  readonly isFinal: boolean
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
