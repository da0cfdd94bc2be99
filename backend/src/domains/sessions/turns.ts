/**
 * Decides whose password is hashed next. A hash takes a core some 20 ms and needs 19 MiB, so few run at once, and many guessing clients must not lock out
 * everybody else: known devices go first, then the source with the fewest requests in the last minutes. Of requests with equal rank, the oldest and the
 * newest are served alternately: if very many come at once, some are then served quickly instead of all waiting long.
 */
import { performance } from 'node:perf_hooks'

/** Too many requests wait already, or this request has waited too long. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
  /** Whether the source itself has too many waiting requests. */
  readonly byItself: boolean

  constructor(byItself: boolean) {
    super('Too many passwords wait to be hashed')
    this.byItself = byItself
  }
}

export interface Source {
  /** Turns are distributed among sources: an address, a /64 of IPv6, a device or a signed-in person. */
  readonly source: string
  /** The source is a device from which the account has signed in before. */
  readonly isKnown?: boolean
}

export interface TurnLimits {
  readonly atOnce: number
  /** Maximum number of waiting requests of all sources; past this limit the request that would be served last is refused. */
  readonly mostWaiting: number
  /** Maximum number of waiting requests of one source. */
  readonly mostOfOne: number
  readonly longestWaitMs: number
}

/** Length of a counting window. The current and the previous window count, so a request counts for one to two windows. */
const rememberedMs = 5 * 60_000
const mostRemembered = 10_000
/** Added to the ranks of unknown devices; more than the number of requests that a source can make in the remembered time. */
const afterKnown = 1_000_000_000

interface Waiting {
  readonly source: string
  /** A lower rank goes first. Each request gets its rank on arrival, from the number of requests that its source has made recently. */
  readonly rank: number
  readonly go: () => void
  readonly refuse: () => void
}

export function turns({ atOnce, mostWaiting, mostOfOne, longestWaitMs }: TurnLimits) {
  let free = atOnce
  /** Waiting requests in the order of arrival. */
  let line: Waiting[] = []
  let isNewestNext = false
  let lately = new Map<string, number>()
  let before = new Map<string, number>()
  let since = performance.now()

  /** Counts a request of the source. Returns the number of its recent requests before this one. */
  const ask = (source: string): number => {
    const times = (lately.get(source) ?? 0) + (before.get(source) ?? 0)
    lately.set(source, (lately.get(source) ?? 0) + 1)
    if (lately.size >= mostRemembered || performance.now() - since >= rememberedMs) {
      before = lately
      lately = new Map()
      since = performance.now()
    }
    return times
  }
  const equals = (better: (a: number, b: number) => boolean): Waiting[] => {
    let found: Waiting[] = []
    let best: number | undefined
    for (const one of line) {
      if (best !== undefined && !better(one.rank, best) && one.rank !== best) continue
      if (one.rank !== best) found = []
      best = one.rank
      found.push(one)
    }
    return found
  }
  const leave = (one: Waiting) => {
    line = line.filter((other) => other !== one)
  }
  const next = (): void => {
    if (free === 0 || line.length === 0) return
    const first = equals((a, b) => a < b)
    const one = (isNewestNext ? first.at(-1) : first[0])!
    isNewestNext = !isNewestNext
    leave(one)
    free -= 1
    one.go()
  }
  const enter = (source: string, isKnown: boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const rank = (isKnown ? 0 : afterKnown) + ask(source)
      if (line.filter((one) => one.source === source).length >= mostOfOne) return reject(new PasswordsBusy(true))
      if (line.length >= mostWaiting) {
        // Requests are taken from both ends of the queue, so the one in the middle would wait longest.
        const last = equals((a, b) => a > b)
        const hopeless = last[Math.floor(last.length / 2)]!
        if (hopeless.rank < rank) return reject(new PasswordsBusy(false))
        hopeless.refuse()
      }
      const one: Waiting = {
        source,
        rank,
        go: () => {
          clearTimeout(timer)
          resolve()
        },
        refuse: () => {
          clearTimeout(timer)
          leave(one)
          reject(new PasswordsBusy(false))
        },
      }
      const timer = setTimeout(one.refuse, longestWaitMs)
      line.push(one)
      return next()
    })

  return {
    /** @throws PasswordsBusy if no turn came in time; `act` was not called then */
    async take<T>({ source, isKnown = false }: Source, act: () => Promise<T>): Promise<T> {
      await enter(source, isKnown)
      try {
        return await act()
      } finally {
        free += 1
        next()
      }
    },
  }
}
