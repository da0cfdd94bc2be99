/** What other code may call of measurements. */
import type { Usage } from '#talos/client/usage.ts'

export interface Measurements {
  /** Notes what a server has just said. Stored with the next `flush`. @param at in ms since 1970 */
  readonly note: (serverId: string, at: number, usage: Usage) => void
  /** Stores what was noted, at most every 10 s unless `isLast`. */
  readonly flush: (isLast: boolean) => Promise<void>
}
