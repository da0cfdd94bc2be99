import type { Fence } from './engine.ts'

/** Writes of a run that come many at once, in turn: they need one connection of the pool instead of all, and don't wait for each other's locks there. */
export function oneByOne(fence: Fence): Fence['write'] {
  let last: Promise<unknown> = Promise.resolve()
  return (change) => {
    const mine = last.then(() => fence.write(change))
    last = mine.catch(() => undefined)
    return mine
  }
}
