/** Measures what a piece of work costs the main thread and the process, for tests of attacks. */

export interface Cost {
  /**
   * Processor time in ms of the main thread between two looks, at most: no turn took longer. Processor time doesn't grow if other processes have the processor, and
   * work of other threads isn't in it.
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

/** Does the work, and looks at the main thread between its turns. */
export async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let [longest, largest] = [0, before]
  let used = process.threadCpuUsage()
  let timer: NodeJS.Timeout
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(used)
    longest = Math.max(longest, (user + system) / 1000)
    largest = Math.max(largest, process.memoryUsage.rss())
    used = process.threadCpuUsage()
    timer = setTimeout(look, betweenLooksMs)
  }
  timer = setTimeout(look, betweenLooksMs)
  try {
    await act()
    // The turn that ended the work counts as well.
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs))
  } finally {
    look()
    clearTimeout(timer!)
  }
  return { longestTurnMs: longest, grownBytes: largest - before }
}
