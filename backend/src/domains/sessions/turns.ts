/**
 * Decides whose password is hashed next. A hash takes a core some 20 ms and needs 19 MiB, so few
 * run at once, and clients that guess must not keep the others waiting, even if each guess comes
 * from another address. So requests wait in lanes: see `laneNames`. A higher lane is served first,
 * but after some turns in a row one turn goes to a lower lane, and the lower lanes never hold all
 * places. Decision 019 has the reasons.
 */
import { crowded } from './crowded.ts'

/**
 * Too many requests wait already, this request has waited too long, or its client has disconnected.
 */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
  /** Whether the source itself has too many waiting requests. */
  readonly byItself: boolean

  constructor(byItself: boolean) {
    super('Too many passwords wait to be hashed')
    this.byItself = byItself
  }
}

/**
 * `known`: known devices, signed-in users, and links that are valid. `returning`: a source that got
 * a refusal for this account and came back. `stranger`: a source that is new for this account, as
 * each guess from a fresh address is. `slowed`: a source with so many wrong passwords that the
 * throttle slows it down.
 */
export const laneNames = ['known', 'returning', 'stranger', 'slowed'] as const
export type Lane = (typeof laneNames)[number]

export interface Source {
  readonly lane: Lane
  /**
   * The account that the request names. In a crowd, the account that the fewest requests name is
   * served first.
   */
  readonly account: string
  /** An address, a /64 of IPv6, a device, a session or a link. */
  readonly source: string
}

/** A request of a signed-in user, or with a valid link. @param by the session or link */
export const vouched = (by: string): Source => ({ lane: 'known', account: by, source: by })

export interface TurnLimits {
  readonly atOnce: number
  /**
   * Maximum number of places that strangers and slowed sources hold together, so that a place is
   * free for all others.
   */
  readonly atOnceOfStrangers: number
  /**
   * Maximum number of requests that wait in a lane; past this limit the one that would be served
   * last is refused.
   */
  readonly mostWaiting: number
  /**
   * Maximum number of waiting requests of one source, and of one source for one account. Many users
   * may share an address.
   */
  readonly mostOfSource: number
  readonly mostOfPair: number
  readonly longestWaitMs: number
}

/** After this number of turns that went to higher lanes, a turn goes to the lower lane. */
const patience = 3

interface Waiting extends Source {
  readonly go: () => void
  readonly refuse: () => void
}

export function turns({
  atOnce,
  atOnceOfStrangers,
  mostWaiting,
  mostOfSource,
  mostOfPair,
  longestWaitMs,
}: TurnLimits) {
  let free = atOnce
  let strangers = 0
  /** `passed`: turns that went to higher lanes while a request waited here. */
  const lanes = laneNames.map((name) => ({
    name,
    isOfStrangers: name === 'stranger' || name === 'slowed',
    line: crowded<Waiting>(),
    passed: 0,
  }))
  const laneOf = (source: Source) => lanes.find(({ name }) => name === source.lane)!

  const next = (): void => {
    if (free === 0) return
    const waiting = lanes.filter(
      ({ line, isOfStrangers }) =>
        line.size > 0 && !(isOfStrangers && strangers >= atOnceOfStrangers),
    )
    const lane = waiting.find(({ passed }) => passed >= patience) ?? waiting[0]
    if (!lane) return
    for (const lower of waiting.slice(waiting.indexOf(lane) + 1)) lower.passed += 1
    lane.passed = 0
    free -= 1
    if (lane.isOfStrangers) strangers += 1
    lane.line.take()!.go()
  }
  const enter = (from: Source, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const { line } = laneOf(from)
      if (signal?.aborted) return reject(new PasswordsBusy(false))
      if (line.count(({ source }) => source === from.source) >= mostOfSource)
        return reject(new PasswordsBusy(true))
      if (
        line.count(({ source, account }) => source === from.source && account === from.account) >=
        mostOfPair
      )
        return reject(new PasswordsBusy(true))
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', one.refuse)
      }
      const one: Waiting = {
        ...from,
        go: () => {
          done()
          resolve()
        },
        refuse: () => {
          done()
          line.remove(one)
          reject(new PasswordsBusy(false))
        },
      }
      const timer = setTimeout(one.refuse, longestWaitMs)
      signal?.addEventListener('abort', one.refuse, { once: true })
      line.add(one)
      if (line.size > mostWaiting) line.last()!.refuse()
      return next()
    })

  return {
    /**
     * @param signal ends the wait, because the client has disconnected
     * @throws PasswordsBusy if no turn came in time; `act` was not called then
     */
    async take<T>(from: Source, act: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      await enter(from, signal)
      try {
        return await act()
      } finally {
        free += 1
        if (laneOf(from).isOfStrangers) strangers -= 1
        next()
      }
    },
  }
}
