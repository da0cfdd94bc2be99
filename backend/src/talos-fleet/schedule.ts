/** When servers are contacted: the intervals of contacts, and the order of those that are due. */
import type { Clock } from '../clock.ts'
import type { Watched } from './contact.ts'

const everyMs = 120_000
const retriesMs = [20_000, 40_000]
/** Interval of full readings: hardware, versions, addresses. */
const everythingMs = 600_000
const liveMs = 3_000
const liveRetryMs = 500
export const missesToUnreachable = 3
/** After a start, the contacts of overdue servers are spread over this many ms per server. */
const firstContactMs = 10
/**
 * A server that is new to this process and was contacted within this time has probably just been
 * registered, perhaps with a thousand others. Without a spread, all of them would be contacted
 * within the same 24 seconds of every two minutes, as far as the jitter reaches.
 */
const registeredMs = 10_000
/**
 * So many contacts begin together, because a contact that is alone takes twice the processor time
 * of one in a group of sixteen: the processor sleeps and wakes up some ten times for it. Forty at
 * once would block the thread, and their objects would outlive the collections of young objects.
 */
const mostTogether = 16
/** How much earlier than due a contact may begin to be part of a group. Retries begin in time. */
const idleEarlyMs = 2_000
const liveEarlyMs = 100
/** How far ahead `upcoming` looks each time that it passes through all states. */
const aheadMs = 10_000

/**
 * What the order of contacts depends on. `nextAt` is a monotonic time, so that setting back the
 * wall clock doesn't delay the next contact.
 */
interface Due {
  readonly server: Watched
  readonly nextAt: number
  /** Failed contacts in a row. */
  readonly misses: number
  /** A contact is under way. */
  readonly isBusy: boolean
}

/** @param pace factor for all intervals; all times are in ms of the monotonic clock */
export function schedule({
  clock,
  random,
  pace,
}: {
  readonly clock: Clock
  readonly random: () => number
  readonly pace: number
}) {
  const jittered = (ms: number) => ms * pace * (0.9 + 0.2 * random())
  return {
    /**
     * Time of the first contact with one of so many servers that are new to this process; later if
     * it was contacted less than an interval ago.
     */
    firstAt: (server: Watched, now: number, count: number): number => {
      if (server.lastContactAt === null || server.live || server.reachable === false)
        return now + random() * Math.min(5_000, everyMs * pace)
      // After a start, overdue servers are contacted about as fast as usual. Ten thousand contacts
      // at once would take too much processor time and memory.
      const spreadMs = Math.min(everyMs, Math.max(5_000, count * firstContactMs))
      // A time in the future was written before the clock was set back.
      const agoMs = Math.max(0, clock.now() - server.lastContactAt)
      if (agoMs < registeredMs * pace) return now + random() * everyMs * pace
      return now + Math.max(random() * spreadMs * pace, jittered(everyMs) - agoMs)
    },
    /** Time until the next contact, after so many misses in a row. */
    nextMs: (server: Watched, misses: number): number => {
      if (server.live)
        return misses > 0 && misses < missesToUnreachable ? liveRetryMs * pace : jittered(liveMs)
      const retry = misses > 0 ? retriesMs[misses - 1] : undefined
      return retry === undefined ? jittered(everyMs) : retry * pace
    },
    /** Time of the first full reading of a server that is new to this process. */
    firstReadingAt: (server: Watched, now: number): number =>
      server.hasHardware ? now + random() * everythingMs * pace : 0,
    nextReadingMs: (): number => jittered(everythingMs),
  }
}

/**
 * The states that may be due soon, so that a look every half second doesn't pass through all of ten
 * thousand states, which lie scattered in memory.
 * @param all states by the id of their server
 */
export function upcoming<T extends Due>(all: ReadonlyMap<string, T>, pace: number) {
  const soon = new Set<T>()
  let untilAt = -Infinity
  return {
    /** At least the states that `inGroups` needs for the same times. */
    at(now: number, untilMs: number): Iterable<T> {
      const neededAt = now + untilMs + idleEarlyMs * pace
      if (neededAt > untilAt) {
        untilAt = neededAt + aheadMs * pace
        soon.clear()
        for (const one of all.values()) if (one.nextAt <= untilAt) soon.add(one)
      }
      return soon
    },
    /**
     * Called after each change that makes a state due at another time. A removed state isn't kept.
     */
    changed(one: T): void {
      if (one.nextAt <= untilAt && all.get(one.server.id) === one) soon.add(one)
      else soon.delete(one)
    },
  }
}

/**
 * The states that are due until `untilMs` from now, in groups that begin together when their first
 * one is due
 */
export function inGroups<T extends Due>(
  states: Iterable<T>,
  { now, untilMs, pace }: { readonly now: number; readonly untilMs: number; readonly pace: number },
): T[][] {
  const earlyMs = ({ server, misses }: Due) =>
    (misses > 0 ? 0 : server.live ? liveEarlyMs : idleEarlyMs) * pace
  const groups: T[][] = []
  let group: T[] = []
  const due: T[] = []
  for (const one of states)
    if (!one.isBusy && one.nextAt <= now + untilMs + earlyMs(one)) due.push(one)
  for (const one of inOrder(due, now)) {
    const first = group[0]
    if (
      !first ||
      group.length === mostTogether ||
      one.nextAt > Math.max(now, first.nextAt) + earlyMs(one)
    ) {
      // The others are left for the next look.
      if (one.nextAt > now + untilMs) continue
      group = [one]
      groups.push(group)
    } else group.push(one)
  }
  return groups
}

/**
 * Overdue servers first, of these the live ones, so that each gets its turn if the servers answer
 * more slowly than contacts are due.
 */
function inOrder<T extends Due>(due: readonly T[], now: number): T[] {
  const isLate = ({ nextAt }: Due) => Number(nextAt <= now)
  const isLiveLate = (one: Due) => Number(one.server.live) * isLate(one)
  return due.toSorted(
    (a, b) => isLate(b) - isLate(a) || isLiveLate(b) - isLiveLate(a) || a.nextAt - b.nextAt,
  )
}
