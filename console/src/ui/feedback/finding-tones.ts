import type { Said } from '#contract/findings/findings.ts'
import type { FindingSeverity } from '#contract/findings/kinds.ts'
import type { Tone } from './tone.ts'

export const findingTones: Readonly<Record<FindingSeverity, Tone>> = {
  down: 'danger',
  degraded: 'warn',
  attention: 'attention',
}

/** A state as a screen shows it: a shape, a word, and a reason. */
export interface Marked {
  tone: Tone
  word: string
  why: string | null
}

/**
 * What is said of a cluster or a server, with its shape. What only needs attention leaves the shape
 * of the word: the server is Ready, and the reason says what should be done in time.
 * @param usual the shape of the word if the object is not down or degraded
 */
export const marked = ({ word, severity, sentence }: Said, usual: Tone = 'ok'): Marked => ({
  tone: severity === null || severity === 'attention' ? usual : findingTones[severity],
  word,
  why: sentence,
})
