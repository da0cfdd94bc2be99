/** A fair queue for one worker: users take turns, so that a busy user delays only themselves. */
import { Problem } from '#contract/errors.ts'

export interface LanesOptions {
  /** Texts that wait, of all people and of one. */
  readonly most: number
  readonly mostOfOne: number
}

const retrySeconds = 1

export function lanes<T>({ most, mostOfOne }: LanesOptions) {
  /** In the order of their turns; none is empty. */
  const waiting = new Map<string | null, T[]>()
  const count = (): number => [...waiting].reduce((sum, [owner, items]) => sum + (owner === null ? 0 : items.length), 0)
  return {
    /**
     * @param owner the user, or null for Steelyard itself, which is never refused
     * @throws Problem `throttled`
     */
    push(owner: string | null, item: T): void {
      const own = waiting.get(owner) ?? []
      if (owner !== null && own.length >= mostOfOne)
        throw new Problem('throttled', 'Too many of your patches wait to be read. Please wait for their answers, then try again.', undefined, retrySeconds)
      if (owner !== null && count() >= most)
        throw new Problem('throttled', 'Too many patches wait to be read. Please try again in a moment.', undefined, retrySeconds)
      waiting.set(owner, [...own, item])
    },
    /** The next item, or undefined. */
    next(): T | undefined {
      for (const [owner, [first, ...rest]] of waiting) {
        // To the end of the line if there is more.
        waiting.delete(owner)
        if (rest.length > 0) waiting.set(owner, rest)
        return first
      }
      return undefined
    },
    /** Nobody waits for it any more. */
    drop(item: T): void {
      for (const [owner, items] of waiting) {
        const rest = items.filter((other) => other !== item)
        if (rest.length > 0) waiting.set(owner, rest)
        else waiting.delete(owner)
      }
    },
  }
}
