import { expect, test, vi } from 'vitest'
import { watchTurns } from './turns.ts'

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
