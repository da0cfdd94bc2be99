/** Counts what contacts with a large fleet do, with the test's clock and without connections. */
import { getEventListeners } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { TalosClient } from '#talos/client/client.ts'
import { testClock } from '../testing/clock.ts'
import { budget } from './budget.ts'
import { type ContactParts, contacts, type Observation, type Watched } from './contact.ts'
import type { Fleet } from './fleet.ts'
import { readEverything } from './reading.ts'

const hourMs = 3_600_000

/**
 * Runs the contacts with `count` servers that answer at once, and were last contacted `agoMs` ago.
 */
function sweep(
  count: number,
  roster: (servers: readonly Watched[]) => readonly Watched[] = (servers) => servers,
  answers = (seen: Observation) => Promise.resolve(seen),
  agoMs = hourMs,
) {
  const clock = testClock()
  const servers = Array.from({ length: count }, (_, i): Watched => ({
    id: `${i}`,
    name: `server-${i}`,
    address: '127.20.0.1',
    uuid: null,
    serial: null,
    clusterId: null,
    isMember: false,
    live: false,
    reachable: true,
    lastContactAt: clock.now() - agoMs,
    fingerprint: 'f',
    hasHardware: true,
    stage: 'maintenance',
  }))
  /** Numbers of contacts by second, and by time. */
  const perSecond: number[] = []
  const atOnce = new Map<number, number>()
  const fleet = {
    budget: budget(),
    connection: ({ id }: Watched) => ({
      maintenance: async () => {
        const second = Math.floor((clock.monotonic() - 1) / 1_000)
        perSecond[second] = (perSecond[second] ?? 0) + 1
        atOnce.set(clock.monotonic(), (atOnce.get(clock.monotonic()) ?? 0) + 1)
        return answers({
          kind: 'seen',
          serverId: id,
          at: clock.now(),
          reading: null,
        } as Observation)
      },
    }),
  } as unknown as Fleet
  let [drawn, stored] = [0, 0]
  const parts: ContactParts = {
    fleet,
    clock,
    // Numbers that are spread evenly, so that the test always sees the same.
    random: () => (++drawn * 0.618_033_988_75) % 1,
    roster: async () => roster(servers),
    credentials: async () => null,
    pack: ({ status, secureBoot }) => ({ status, secureBoot, hardware: '{}' }),
    sink: async (batch) => {
      stored += batch.length
      return []
    },
    onError: (error) => {
      throw error
    },
  }
  const stop = new AbortController()
  const running = contacts(parts).run(stop.signal)
  onTestFinished(async () => {
    stop.abort(new Error('the test has ended'))
    await running
  })
  const pass = async (seconds: number, stepMs = 500) => {
    for (let ms = 0; ms < seconds * 1_000; ms += stepMs) {
      clock.advance(stepMs)
      await nextTurn()
      await nextTurn()
    }
  }
  return {
    perSecond,
    atOnce,
    pass,
    stored: () => stored,
    waiting: () => fleet.budget.state().waiting,
    listeners: () => getEventListeners(stop.signal, 'abort').length,
  }
}

test('after a start, ten thousand overdue servers are contacted at about a hundred a second', async () => {
  const { perSecond, pass, stored } = sweep(10_000)
  await pass(103)
  expect(stored()).toBe(10_000)
  expect(Math.max(...perSecond)).toBeLessThanOrEqual(160)
  for (const count of perSecond.slice(0, 99)) expect(count).toBeGreaterThanOrEqual(50)
})

test('the contacts of servers that were registered within a second are spread over the whole interval', async () => {
  const { perSecond, pass, stored } = sweep(1_200, undefined, undefined, 1_000)
  await pass(240)
  expect(stored()).toBeGreaterThan(2_200)
  for (let from = 0; from < 240; from += 20) {
    const inTwentySeconds = perSecond
      .slice(from, from + 20)
      .reduce((sum, count) => sum + (count ?? 0), 0)
    expect(inTwentySeconds).toBeGreaterThan(150)
    expect(inTwentySeconds).toBeLessThan(250)
  }
})

test('contacts with idle servers begin in groups of sixteen, and not all at once', async () => {
  const { atOnce, pass, stored } = sweep(10_000)
  await pass(10, 20)
  expect(stored()).toBeGreaterThan(800)
  // The simulated time advances by 20 ms, so two groups may begin at one time.
  const sizes = [...atOnce.values()]
  expect(Math.max(...sizes)).toBeLessThanOrEqual(32)
  expect(stored() / sizes.length).toBeGreaterThan(14)
})

test('a few idle servers are contacted together up to two seconds early', async () => {
  const { atOnce, pass, stored } = sweep(600)
  await pass(300, 20)
  expect(stored()).toBeGreaterThan(1_300)
  expect(stored() / atOnce.size).toBeGreaterThan(6)
})

test('if servers answer slowly, further due servers wait without a contact, and each gets its turn', async () => {
  const slow = new Set<() => void>()
  const { pass, stored, waiting } = sweep(
    1_000,
    undefined,
    (seen) => new Promise((resolve) => slow.add(() => resolve(seen))),
  )
  const answer = () => {
    for (const one of slow) one()
    slow.clear()
  }
  onTestFinished(() => void setInterval(answer, 1).unref())
  await pass(15)
  expect(waiting()).toBeLessThanOrEqual(64)
  for (let i = 0; i < 60; i++) {
    answer()
    await pass(1)
  }
  expect(stored()).toBe(1_000)
})

test('a thousand unfinished contacts add no listeners to the signal of the shutdown, because each would slow down the next', async () => {
  const answered = Promise.withResolvers<void>()
  const { pass, stored, listeners } = sweep(1_000, undefined, (seen) =>
    answered.promise.then(() => seen),
  )
  onTestFinished(() => answered.resolve())
  await pass(15)
  expect(stored()).toBe(0)
  expect(listeners()).toBeLessThanOrEqual(5)
  answered.resolve()
  await pass(5)
  expect(stored()).toBeGreaterThan(0)
})

test('after a start, a small fleet is contacted within five seconds', async () => {
  const { perSecond, pass, stored } = sweep(100)
  await pass(8)
  expect(stored()).toBe(100)
  expect(Math.max(...perSecond)).toBeLessThanOrEqual(40)
})

test('the contacts look at the servers of the roster only if it has changed', async () => {
  let reads = 0
  const counted = new WeakMap<readonly Watched[], readonly Watched[]>()
  const { pass } = sweep(50, (servers) => {
    const proxy =
      counted.get(servers) ??
      new Proxy(servers, {
        get: (all, key) => ((reads += key === Symbol.iterator ? 1 : 0), Reflect.get(all, key)),
      })
    counted.set(servers, proxy)
    return proxy
  })
  await pass(60)
  expect(reads).toBe(1)
})

test('a full reading after the stage asks for each resource once', async () => {
  const asked: string[] = []
  const note = (kind: { type: string }, id = '') => void asked.push(`${kind.type} ${id}`)
  const client = {
    get: async (kind: { type: string }, id: string) => note(kind, id),
    list: async (kind: { type: string }) => (note(kind), { items: [], truncated: false }),
  } as unknown as TalosClient
  await readEverything(client, { stage: 'maintenance', ready: true, unmet: [] })
  expect(asked.toSorted()).toEqual([...new Set(asked)].toSorted())
  expect(asked.filter((one) => one.startsWith('MachineStatuses'))).toEqual([])
})
