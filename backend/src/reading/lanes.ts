/** A fair queue for one thread: owners take turns, so that a busy owner delays only themselves. */
import { Problem } from '#contract/errors.ts'

/** Whose work it is: a user, an address, or a machine or cluster that has sent the bytes. */
export interface Owner {
  readonly name: string
  /** Steelyard's own work isn't refused: it limits how much it asks for at once. */
  readonly isLimited: boolean
}

/** @param most maximum number of waiting items of all limited owners; `mostOfOne`: of one owner */
export function lanes<T>({ most, mostOfOne }: { most: number; mostOfOne: number }) {
  /** Waiting items by owner, in the order of the owners' turns. No list is empty. */
  const waiting = new Map<string, { readonly items: T[]; readonly isLimited: boolean }>()
  const count = (): number =>
    [...waiting.values()].reduce(
      (sum, { items, isLimited }) => sum + (isLimited ? items.length : 0),
      0,
    )
  return {
    /** @throws Problem `throttled` */
    push({ name, isLimited }: Owner, item: T): void {
      const own = waiting.get(name)?.items ?? []
      if (isLimited && own.length >= mostOfOne)
        throw new Problem(
          'throttled',
          'Too many of your texts are waiting to be read. Please wait for their results, then try again.',
          undefined,
          1,
        )
      if (isLimited && count() >= most)
        throw new Problem(
          'throttled',
          'Too many texts are waiting to be read. Please try again in a moment.',
          undefined,
          1,
        )
      waiting.set(name, { items: [...own, item], isLimited })
    },
    /** The next item, or undefined. */
    next(): T | undefined {
      for (const [name, { items, isLimited }] of waiting) {
        const [first, ...rest] = items
        // Moves an owner with further items to the end of the queue.
        waiting.delete(name)
        if (rest.length > 0) waiting.set(name, { items: rest, isLimited })
        return first
      }
      return undefined
    },
    /** Removes all items of an owner, and returns them. */
    take({ name }: Owner): readonly T[] {
      const items = waiting.get(name)?.items ?? []
      waiting.delete(name)
      return items
    },
    /** Removes an item that nobody waits for any more. */
    drop(item: T): void {
      for (const [name, { items, isLimited }] of waiting) {
        const rest = items.filter((other) => other !== item)
        if (rest.length > 0) waiting.set(name, { items: rest, isLimited })
        else waiting.delete(name)
      }
    },
  }
}
