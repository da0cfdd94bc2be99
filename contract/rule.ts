/**
 * Whether something is allowed and, if not, the reason. The backend puts the reason in the error,
 * the console on the disabled control, the CLI prints it.
 */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export const yes: Verdict = { ok: true }
export const no = (reason: string): Verdict => ({ ok: false, reason })

/** The first refusal, or yes. */
export const all = (...verdicts: readonly Verdict[]): Verdict => verdicts.find((v) => !v.ok) ?? yes
