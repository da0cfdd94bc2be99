import type { Fence } from './engine.ts'

/** Serialises concurrent writes of a run, so that they use one pool connection and don't wait for each other's locks. */
export function oneByOne(fence: Fence): Fence['write'] {
  let last: Promise<unknown> = Promise.resolve()
  return (change) => {
    const mine = last.then(() => fence.write(change))
    last = mine.catch(() => undefined)
    return mine
  }
}
