/** Long work on the main thread in slices, between which others are served. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Length of a slice, in ms. */
const sliceMs = 10

export interface Slices {
  /** Whether the slice has lasted long enough. Asked between pieces of work of at most 1 ms. */
  readonly isOver: () => boolean
  /** Begins the next slice, after others were served. */
  readonly next: () => Promise<void>
}

/** Work that begins now. */
export function slices(): Slices {
  let began = performance.now()
  return {
    isOver: () => performance.now() - began >= sliceMs,
    async next() {
      await nextTurn()
      began = performance.now()
    },
  }
}

/** Those of `all` that pass, looked at in slices. `passes` takes at most 1 ms. */
export async function passing<T>(all: readonly T[], passes: (one: T) => boolean): Promise<T[]> {
  const slice = slices()
  const found: T[] = []
  for (const one of all) {
    if (passes(one)) found.push(one)
    if (slice.isOver()) await slice.next()
  }
  return found
}
