/** Measures what an attack costs the main thread and the process. */

export interface Cost {
  /**
   * Upper bound of the processor time in ms of the main thread's longest turn: the time between two
   * looks, which short turns may share. Processor time doesn't grow if other processes have the
   * processor, and work of other threads isn't in it. It is that of a usual machine: a slow one, or
   * one whose caches others use, needs more for the same work.
   */
  readonly longestTurnMs: number
  /** By how much the memory of the process grew meanwhile, at most. */
  readonly grownBytes: number
}

/** Limit of a turn of the main thread, in ms of its own processor time. */
export const longestTurnMs = 200
/** Limit of the growth of memory. */
export const mostGrownBytes = 100 * 1024 * 1024

const betweenLooksMs = 1

/** A piece of work that takes `referenceMs` on a usual machine. */
const reference = `[${'{"a":["b",1]},'.repeat(50_000)}1]`
const referenceMs = 5
const references = 3

/** How many times as much processor time the same work takes now as on a usual machine, at least 1. */
function slowness(): number {
  const before = process.threadCpuUsage()
  for (let n = 0; n < references; n++) JSON.parse(reference)
  const { user, system } = process.threadCpuUsage(before)
  return Math.max(1, (user + system) / 1000 / references / referenceMs)
}

/**
 * Watches the main thread and the memory, between the turns of the main thread. The returned
 * function ends that and gives the cost until then.
 */
export function watchTurns(): () => Cost {
  const slownessBefore = slowness()
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let [longest, largest] = [0, before]
  let used = process.threadCpuUsage()
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(used)
    longest = Math.max(longest, (user + system) / 1000)
    largest = Math.max(largest, process.memoryUsage.rss())
    used = process.threadCpuUsage()
  }
  const timer = setInterval(look, betweenLooksMs)
  return () => {
    clearInterval(timer)
    look()
    return {
      longestTurnMs: longest / Math.max(slownessBefore, slowness()),
      grownBytes: largest - before,
    }
  }
}

/** The cost of a piece of work. */
export async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  const end = watchTurns()
  try {
    await act()
    // The turn that ended the work counts as well.
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs))
  } catch (error) {
    end()
    throw error
  }
  return end()
}
