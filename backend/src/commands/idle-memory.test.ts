import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { returnIdleMemory } from './idle-memory.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const mebibyte = 1024 ** 2

function watched({ quietMs }: { quietMs: number }) {
  const memory = { bytes: 200 * mebibyte, collections: 0 }
  const collect = () => {
    memory.collections++
    memory.bytes = 140 * mebibyte
  }
  return { memory, stop: returnIdleMemory({ collect, residentBytes: () => memory.bytes }, () => quietMs) }
}

test('garbage is collected once when the program is idle, and again only after its memory has grown', () => {
  const { memory, stop } = watched({ quietMs: 60_000 })
  vi.advanceTimersByTime(300_000)
  expect(memory.collections).toBe(1)
  memory.bytes = 151 * mebibyte
  vi.advanceTimersByTime(300_000)
  expect(memory.collections).toBe(1)
  memory.bytes = 153 * mebibyte
  vi.advanceTimersByTime(300_000)
  expect(memory.collections).toBe(2)
  stop()
  memory.bytes = 400 * mebibyte
  vi.advanceTimersByTime(300_000)
  expect(memory.collections).toBe(2)
})

test('garbage is not collected while requests come', () => {
  const { memory, stop } = watched({ quietMs: 1_000 })
  vi.advanceTimersByTime(300_000)
  expect(memory.collections).toBe(0)
  stop()
})
