/**
 * Processor time in ms that this thread uses while `act` runs. Unlike the time on the clock it
 * doesn't grow because other processes have the processor, so a test may limit it. Work of other
 * threads and processes is not in it.
 */
export async function processorMs(act: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await act()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
