/**
 * Limits what strangers can make the program store: per source, and in all, because an attack may
 * come from any number of addresses. So that an attack doesn't use up everything, a source that was
 * told to wait and came back later has a reserve, as users do and fresh addresses don't.
 */
import type { Clock } from '../../clock.ts'
import { sourceOf } from '../../network.ts'
import { bucket } from '../limits.ts'

interface Pace {
  readonly perSecond: number
  readonly burst: number
}
export interface StrangerLimits {
  readonly ofSource: Pace
  readonly inAll: Pace
  /** In addition to `inAll`, for all sources that came back. */
  readonly reserve: Pace
}

/** Sources that are remembered in each half, of which the older one is dropped as a whole. */
const mostTold = 10_000
const toldForMs = 3600_000

/**
 * Returns the milliseconds to wait, or 0 if the source may go on. `isOfAll`: the limit of all
 * sources is reached, not the source's own.
 */
export function strangers({ ofSource, inAll, reserve, clock }: StrangerLimits & { clock: Clock }) {
  const own = bucket({ ...ofSource, clock })
  const all = bucket({ ...inAll, clock })
  const spare = bucket({ ...reserve, clock })
  /** By source: until when it was told to wait. */
  let told = new Map<string, number>()
  let toldEarlier = new Map<string, number>()
  return (ip: string): { waitMs: number; isOfAll: boolean } => {
    const source = sourceOf(ip)
    const waitMs = own.take(source)
    if (waitMs > 0) return { waitMs, isOfAll: false }
    const allMs = all.take('')
    if (allMs === 0) return { waitMs: 0, isOfAll: false }
    const now = clock.monotonic()
    const until = told.get(source) ?? toldEarlier.get(source)
    if (until !== undefined && until <= now && now < until + toldForMs && spare.take('') === 0)
      return { waitMs: 0, isOfAll: false }
    if (until === undefined || until + toldForMs <= now) {
      if (told.size >= mostTold) {
        toldEarlier = told
        told = new Map()
      }
      told.set(source, now + allMs)
    }
    return { waitMs: Math.max(allMs, (until ?? now) - now), isOfAll: true }
  }
}
