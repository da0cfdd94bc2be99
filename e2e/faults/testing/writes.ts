/** Writes one after another, to count what a failover loses and how long it lasts. */
import { setTimeout as pause } from 'node:timers/promises'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import type { Caller } from '../../../tools/api-client.ts'
import { patiently } from './world.ts'

const letter = (n: number) => String.fromCharCode(65 + (Math.floor(n) % 26))

/** Creates datacenters one after another until `stop`, and notes which were acknowledged. */
export function writes(call: () => Caller) {
  const acknowledged: { name: string; atMs: number }[] = []
  const stopped = new AbortController()
  let n = 0
  const run = (async () => {
    while (!stopped.signal.aborted) {
      n += 1
      const code = `${letter(n / 676)}${letter(n / 26)}${letter(n)}`
      try {
        await call()(datacenterCreate, {
          body: { country_code: 'DE', city_code: code, city_name: `Load ${n}` },
        })
        acknowledged.push({ name: `Load ${n}`, atMs: performance.now() })
      } catch {
        // Not acknowledged: it may exist or not.
      }
      await pause(50)
    }
  })()
  return {
    acknowledged,
    stop: async (): Promise<void> => {
      stopped.abort()
      await run
    },
    /** The longest time between two acknowledged writes, in seconds. */
    longestGapS: (): number =>
      Math.max(
        ...acknowledged.slice(1).map(({ atMs }, i) => (atMs - acknowledged[i]!.atMs) / 1000),
      ),
    /** Acknowledged writes that the database lacks. */
    async missing(now: Caller): Promise<string[]> {
      const present = await writtenNames(now)
      return acknowledged.flatMap(({ name }) => (present.has(name) ? [] : [name]))
    },
  }
}

export const writtenNames = async (call: Caller): Promise<ReadonlySet<string>> =>
  new Set(
    (await patiently(() => call(datacenterList, { query: { per_page: 1000 } }))).items.map(
      (d) => d.city_name,
    ),
  )
