import { type Caller, system } from '../http/caller.ts'

/**
 * For whom a text is read. `from`: who wrote it, if Steelyard reads it for itself: a machine or
 * cluster, which then delays only itself. `signal` aborts when nobody waits for the result any
 * more.
 */
export interface For {
  readonly caller: Caller
  readonly from?: string
  readonly signal?: AbortSignal | undefined
}

/** For reads of Steelyard itself, which limits how many it does at once. */
export const ours: For = { caller: system }
/** For bytes that a machine or cluster sent. */
export const sentBy = (from: string): For => ({ caller: system, from })
