import { hasEnded, isScheduled, type Operation } from '#contract/operations.ts'

/**
 * The operation that a cluster's timeline shows: the one that runs, else the last one. One that waits
 * for its time hides neither, because a failed one is tried again here.
 */
export const shownFirst = (
  operations: readonly Operation[],
  current: string | null,
): string | undefined => {
  const begun = operations.filter((o) => !isScheduled(o))
  return begun.find((o) => !hasEnded(o))?.id ?? current ?? begun[0]?.id ?? operations[0]?.id
}
