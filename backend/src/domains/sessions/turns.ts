/**
 * Decides who hashes next. A password costs a core some 20 ms and 19 MiB, so few are hashed at once, and a crowd that guesses must not lock out everybody
 * else: known devices go first, then the source that asked least in the last minutes. Among equals the turns go alternately to the one that waits longest
 * and to the one that came last; in a crowd that comes at once everybody would otherwise wait for all the others.
 */
import { performance } from 'node:perf_hooks'

/** Too many wait already, or this one has waited too long. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
  /** Whether it is the source itself that has too many waiting. */
  readonly byItself: boolean

  constructor(byItself: boolean) {
    super('Too many passwords wait to be hashed')
    this.byItself = byItself
  }
}

export interface Source {
  /** What turns are shared among: an address, a /64 of IPv6, a device, a signed-in person. */
  readonly source: string
  /** A device that its account has signed in from before. */
  readonly isKnown?: boolean
}

export interface TurnLimits {
  readonly atOnce: number
  /** Waiting requests of all sources; past this limit the one with the worst chance is refused. */
  readonly mostWaiting: number
  /** Waiting at once, of one source. */
  readonly mostOfOne: number
  readonly longestWaitMs: number
}

/** Requests of a source are remembered for this time at least, and for twice the time at most. */
const rememberedMs = 5 * 60_000
const mostRemembered = 10_000
/** More than a source can ask in that time. */
const afterKnown = 1_000_000_000

interface Waiting {
  readonly source: string
  /** A lower rank goes first. It is fixed on arrival, so a source that gave up and asks again comes after new ones. */
  readonly rank: number
  readonly go: () => void
  readonly refuse: () => void
}

export function turns({ atOnce, mostWaiting, mostOfOne, longestWaitMs }: TurnLimits) {
  let free = atOnce
  /** In the order of arrival. */
  let line: Waiting[] = []
  let isNewestNext = false
  let lately = new Map<string, number>()
  let before = new Map<string, number>()
  let since = performance.now()

  /** How often the source has asked lately, before this time. */
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
        // Turns come from both ends, so the one in the middle would wait longest.
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
    /** @throws PasswordsBusy where no turn came in time; `act` was not called then */
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
