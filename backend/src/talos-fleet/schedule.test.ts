import { expect, test } from 'vitest'
import type { Watched } from './contact.ts'
import { inGroups, upcoming } from './schedule.ts'

interface State {
  server: Watched
  nextAt: number
  misses: number
  isBusy: boolean
}

/** Numbers from 0 to 1 that are the same in each run (Lehmer's generator). */
function numbers(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

test('the states that are looked at are contacted as if all were looked at', () => {
  const random = numbers(7)
  const all = new Map<string, State>()
  const soon = upcoming(all, 1)
  const change = (state: State, nextAt: number) => {
    state.nextAt = nextAt
    soon.changed(state)
  }
  const add = (id: string, now: number) => {
    const state = {
      server: { id, live: random() < 0.2 } as Watched,
      nextAt: 0,
      misses: random() < 0.1 ? 1 : 0,
      isBusy: false,
    }
    all.set(id, state)
    change(state, now + random() * 120_000)
  }
  for (let i = 0; i < 500; i++) add(`${i}`, 0)
  let contacted = 0
  for (let now = 0; now < 300_000; now += 500) {
    const times = { now, untilMs: 500, pace: 1 }
    const found = inGroups(soon.at(now, 500), times).flat()
    const expected = inGroups(all.values(), times).flat()
    expect(new Set(found)).toEqual(new Set(expected))
    expect(found).toHaveLength(expected.length)
    contacted += found.length
    for (const state of found) change(state, now + (state.server.live ? 3_000 : 120_000))
    // A server that has moved is due at once, one is removed, and one is new.
    const [moved, removed] = [...all.values()].filter(() => random() < 0.01)
    if (moved) change(moved, now)
    if (removed) {
      all.delete(removed.server.id)
      soon.changed(removed)
      add(`new-${now}`, now)
    }
  }
  expect(contacted).toBeGreaterThan(5_000)
})
