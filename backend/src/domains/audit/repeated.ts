/**
 * Records what a stranger can cause any number of times, such as wrong passwords, without filling
 * the audit log. The first ones of a key (an account, a source) get entries of their own. The
 * others are counted, and get one entry when the window ends. If so many keys appear that the
 * hourly number of entries is used up, the further keys are counted together. Entries are written
 * in batches, one batch at a time. A crash loses only counts that no entry contains yet.
 */
import type { Clock } from '../../clock.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { bucket } from '../../http/limits.ts'
import type { Log } from '../../log.ts'
import { sourceOf } from '../../network.ts'

/**
 * Fields of an entry that stands for several. Their names are the same in all entries of the audit
 * log.
 */
export interface Several {
  readonly count: number
  readonly first_at: string
  readonly last_at: string
  /** Number of source addresses; for IPv6 of networks. */
  readonly addresses: number | string
}
/** What is written: one item, or the last of several. */
export interface Entry<T> {
  readonly item: T
  readonly several?: Several
}

export interface RepeatedParts<T> {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** Writes a batch of entries. */
  readonly write: (tx: Tx, batch: readonly Entry<T>[]) => Promise<void>
  /** The item that stands for items of several keys of the same group. */
  readonly merged: (item: T) => T
  readonly groupOf: (item: T) => string
}

export interface RepeatedLimits {
  /** How long a key's items are counted before they get an entry. */
  readonly windowMs: number
  /**
   * Entries of their own that all keys get together: in a burst, and per hour. A key with such an
   * entry gets at most one more per window.
   */
  readonly burst: number
  readonly perHour: number
}

/** Addresses of one entry that are told apart. */
const mostAddresses = 1_000
/**
 * Maximum number of entries kept while the database is unavailable. Past this limit the oldest are
 * dropped, and their number is logged.
 */
const mostWaiting = 1_000
const perBatch = 100

interface Tally<T> {
  last: T
  listed: number
  count: number
  firstAt: number
  lastAt: number
  readonly addresses: Set<string>
}

export interface Repeated<T> {
  /**
   * Resolves after the write of the item's own entry, if it gets one. `listed`: the number of the
   * key's items in a window that get entries of their own, by default 1.
   */
  readonly note: (key: string, item: T, from: { ip: string; listed?: number }) => Promise<void>
  /** Writes everything that isn't written yet; called when the program stops. */
  readonly close: () => Promise<void>
}

export function repeated<T>(
  { db, clock, log, write, merged, groupOf }: RepeatedParts<T>,
  { windowMs, burst, perHour }: RepeatedLimits,
): Repeated<T> {
  const budget = bucket({ perSecond: perHour / 3600, burst, clock })
  const stop = new AbortController()
  let keys: Map<string, Tally<T>> | undefined
  /** By group: items whose key got no entry of its own. */
  let others = new Map<string, Tally<T>>()
  let waiting: Entry<T>[] = []
  let writing: Promise<void> | undefined

  const writeAll = async (): Promise<void> => {
    try {
      while (waiting.length > 0) {
        const batch = waiting.slice(0, perBatch)
        await inTransaction(db, (tx) => write(tx, batch))
        waiting = waiting.filter((entry) => !batch.includes(entry))
      }
    } catch (error) {
      log.warn('audit.refusals_waiting', { count: waiting.length, error })
    } finally {
      // In the turn in which the loop saw that nothing waits.
      writing = undefined
    }
  }
  const add = (entries: readonly Entry<T>[]): Promise<void> => {
    waiting.push(...entries)
    if (waiting.length > mostWaiting) {
      log.warn('audit.refusals_dropped', { count: waiting.length - mostWaiting })
      waiting = waiting.slice(-mostWaiting)
    }
    return (writing ??= writeAll())
  }
  const start = (item: T): Tally<T> => ({
    last: item,
    listed: 0,
    count: 0,
    firstAt: 0,
    lastAt: 0,
    addresses: new Set(),
  })
  const count = (tally: Tally<T>, item: T, ip: string): void => {
    const now = clock.now()
    tally.last = item
    tally.firstAt = tally.count === 0 ? now : Math.min(tally.firstAt, now)
    tally.lastAt = now
    tally.count += 1
    if (tally.addresses.size < mostAddresses) tally.addresses.add(sourceOf(ip))
  }
  const entryOf = ({ last: item, count: n, firstAt, lastAt, addresses }: Tally<T>): Entry<T> => ({
    item,
    several: {
      count: n,
      first_at: new Date(firstAt).toISOString(),
      last_at: new Date(lastAt).toISOString(),
      addresses: addresses.size < mostAddresses ? addresses.size : `${mostAddresses} or more`,
    },
  })
  const closeWindow = (): Promise<void> => {
    const counted = [...(keys?.values() ?? []), ...others.values()].filter(
      (tally) => tally.count > 0,
    )
    keys = undefined
    others = new Map()
    return counted.length > 0 || waiting.length > 0 ? add(counted.map(entryOf)) : Promise.resolve()
  }

  return {
    async note(key, item, { ip, listed = 1 }) {
      if (!keys) {
        keys = new Map()
        // `sleep` rejects when the program stops; `close` then closes the window.
        void clock.sleep(windowMs, stop.signal).then(closeWindow, () => undefined)
      }
      const known = keys.get(key)
      if ((known?.listed ?? 0) < listed && budget.take('') === 0) {
        const tally = known ?? start(item)
        tally.listed += 1
        keys.set(key, tally)
        return add([{ item }])
      }
      const group = groupOf(item)
      const tally = known ?? others.get(group) ?? start(merged(item))
      if (!known) others.set(group, tally)
      count(tally, known ? item : merged(item), ip)
    },
    async close() {
      stop.abort(new Error('Steelyard is stopping'))
      await writing
      await closeWindow()
    },
  }
}
