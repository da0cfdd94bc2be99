/**
 * Whether something is allowed and, if not, the reason. The backend puts the reason in the error,
 * the console on the disabled control, the CLI prints it.
 */
import { count } from './words.ts'

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export const yes: Verdict = { ok: true }
export const no = (reason: string): Verdict => ({ ok: false, reason })

/** The first refusal, or yes. */
export const all = (...verdicts: readonly Verdict[]): Verdict => verdicts.find((v) => !v.ok) ?? yes

/**
 * The largest number of objects of a kind. No honest use reaches it: it keeps a list, and what is
 * computed over it, from growing without end.
 */
export interface Limit {
  readonly most: number
  /** The objects in the plural, and what makes room for one. */
  readonly nouns: string
  readonly remedy: string
}
/** Whether objects can be added to those that are there. */
export const canAdd = ({ most, nouns, remedy }: Limit, there: number, more = 1): Verdict =>
  there + more <= most
    ? yes
    : no(
        more === 1
          ? `There are ${count(there)} ${nouns}, and there can be no more: ${remedy} first`
          : `There are ${count(there)} ${nouns}, and there can be at most ${count(most)}, not ${count(more)} more: ${remedy} first`,
      )
