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
