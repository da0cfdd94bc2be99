/** Timing for tests that measure the program during an attack. */
import { existsSync, readFileSync } from 'node:fs'
import { env } from 'node:process'

/** The time limit of `/healthz`, in ms. CI machines are shared. */
export const longestHealthMs = env['CI'] === 'true' ? 400 : 100

/**
 * Milliseconds that this process's main thread waited for a processor, which don't count as
 * response time.
 */
function waitedMs(): number {
  const file = '/proc/self/schedstat'
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) / 1e6 : 0
}

/**
 * Starts a stopwatch. The returned function gives the passed milliseconds without those spent
 * waiting for a processor.
 */
export function stopwatch(): () => number {
  const [began, waitedBefore] = [performance.now(), waitedMs()]
  return () => performance.now() - began - (waitedMs() - waitedBefore)
}

/** Processor time of a piece of work in this process, in ms. */
export function processorMs(act: () => unknown): number {
  const before = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
