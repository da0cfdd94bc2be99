/** The checks of a plan. */
import type { PlanCheck } from '#contract/clusters/changes/changes.ts'
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import type { Check } from '#contract/clusters/clusters.ts'

/**
 * A check of a plan. `message`: what was found; for a failed check also what to do. `remedies`:
 * changes that settle the reason of a failed check.
 */
export const check = (
  name: string,
  ok: boolean,
  message: string,
  remedies: readonly Remedy[] = [],
): PlanCheck => ({
  check: name,
  ok,
  message,
  ...(!ok && remedies.length > 0 && { remedies: [...remedies] }),
})

/**
 * The check, of which a failure is only for now if `isPassing`: what is silent, busy or not ready may
 * end by itself, so that work that nobody watches waits for it.
 */
export const forNowIf = <C extends Check>(isPassing: boolean, one: C): C =>
  isPassing && !one.ok ? { ...one, for_now: true } : one
