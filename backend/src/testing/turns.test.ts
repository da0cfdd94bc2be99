import { expect, test, vi } from 'vitest'
import { longestTurnMs, watchTurns } from './turns.ts'

test('a watch of turns that has ended leaves no timer behind', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  try {
    const end = watchTurns()
    vi.advanceTimersByTime(5)
    expect(vi.getTimerCount()).toBe(1)
    end()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('a turn that takes a second of a usual machine is too long, on a slow one too', () => {
  const text = `[${'{"a":["b",1]},'.repeat(50_000)}1]`
  const end = watchTurns()
  for (let n = 0; n < 200; n++) JSON.parse(text)
  expect(end().longestTurnMs).toBeGreaterThan(longestTurnMs)
})
