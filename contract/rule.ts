/**
 * Whether something is allowed and, if not, the reason. The backend puts the reason in the error,
 * the console on the disabled control, the CLI prints it.
 */
import { count } from './words.ts'

/**
 * `final`: a rule says no, and it says so until a person changes something. `for_now`: a server is
 * silent, or something is busy or not ready yet, which may end by itself. Work that begins without
 * a person (a scheduled change, the next server of a roll-out, a bulk act, a scheduled snapshot,
 * `apply --wait`) waits for the end of such a refusal, for as long as `waitLimits` allows, and ends at once on a final
 * one. The API says the kind in the field `for_now` of errors and of checks.
 */
export type RefusalKind = 'final' | 'for_now'
/** Without `kind` the refusal is final. */
export interface Refusal {
  readonly ok: false
  readonly reason: string
  readonly kind?: RefusalKind
}
export type Verdict = { readonly ok: true } | Refusal

export const yes: Verdict = { ok: true }
/** A final refusal. */
export const no = (reason: string): Refusal => ({ ok: false, reason })
/** A refusal that may end by itself. */
export const forNow = (reason: string): Refusal => ({ ok: false, reason, kind: 'for_now' })

/**
 * The refusal that counts, or yes: the first final one, because no wait helps against it, else the
 * first.
 */
export const all = (...verdicts: readonly Verdict[]): Verdict =>
  verdicts.find((v) => !v.ok && v.kind !== 'for_now') ?? verdicts.find((v) => !v.ok) ?? yes

/** The same order of refusals for the checks of a plan; undefined if all of them are `ok`. */
export const firstFailed = <
  C extends { readonly ok: boolean; readonly for_now?: true | undefined },
>(
  checks: readonly C[],
): C | undefined => checks.find((c) => !c.ok && c.for_now !== true) ?? checks.find((c) => !c.ok)

/** The refusal that a failed check is. */
export const refusalBy = ({
  message,
  for_now,
}: {
  readonly message: string
  readonly for_now?: true | undefined
}): Refusal => (for_now === true ? forNow(message) : no(message))

/**
 * How long work that nobody watches waits for the end of a refusal that is only for now, in ms,
 * from the moment at which it was first refused. A change in the maintenance window waits until
 * the window closes instead.
 */
export const waitLimits = {
  /** A scheduled change without a maintenance window. */
  scheduled: 3_600_000,
  /** Each server of a roll-out of a shared patch. */
  rollOut: 3_600_000,
  /** Each server of a bulk act, or each cluster of an upgrade of many. */
  bulk: 3_600_000,
  /** A scheduled snapshot or backup. */
  snapshot: 3_600_000,
  /** Each line of `apply --wait`. */
  apply: 3_600_000,
} as const
/** "1 h", for the sentences of plans and steps. */
export const waitLimitText = (limitMs: number): string =>
  limitMs % 3_600_000 === 0 ? `${limitMs / 3_600_000} h` : `${Math.round(limitMs / 60_000)} min`

/** What is waited for, and the limit of the wait: "Waits, at most until 14:06 UTC: …". */
export const waitingText = (until: Date, reason: string): string =>
  `Waits, at most until ${until.toISOString().slice(11, 16)} UTC: ${reason}`
/** Why work ended after the limit of its wait. */
export const waitedText = (limitMs: number, reason: string): string =>
  `${reason.replace(/\.$/, '')}. Waited ${waitLimitText(limitMs)} for that`

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
