/** For tests that hold the program to a time while they attack it. */
import { existsSync, readFileSync } from 'node:fs'
import { env } from 'node:process'

/** Within which `/healthz` answers whatever goes on. The machine of a CI run is shared. */
export const longestHealthMs = env['CI'] === 'true' ? 400 : 100

/** Time in milliseconds that the kernel had this process's main thread wait for a processor while others had it: no part of how long an answer took. */
function waitedMs(): number {
  const file = '/proc/self/schedstat'
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) / 1e6 : 0
}

/** Starts a watch; what it answers is how many milliseconds have passed, without those in which the main thread waited for a processor. */
export function stopwatch(): () => number {
  const [began, waitedBefore] = [performance.now(), waitedMs()]
  return () => performance.now() - began - (waitedMs() - waitedBefore)
}

/** Milliseconds of processor time that this process takes for a piece of work, whatever else the machine does meanwhile. */
export function processorMs(act: () => unknown): number {
  const before = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
