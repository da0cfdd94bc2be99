/** Measures what an attack costs the main thread and the process. */

export interface Cost {
  /**
   * Upper bound of the processor time in ms of the main thread's longest turn: the time between two
   * looks, which short turns may share. Processor time doesn't grow if other processes have the
   * processor, and work of other threads isn't in it.
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

/**
 * Watches the main thread and the memory, between the turns of the main thread. The returned
 * function ends that and gives the cost until then.
 */
export function watchTurns(): () => Cost {
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
    return { longestTurnMs: longest, grownBytes: largest - before }
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
