import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { gathering, type Gathered } from './gather.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('window', globalThis)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Fetches take `ms`. */
function gatheringFor(ms: number) {
  const fetched: (readonly string[] | null)[] = []
  const fetch = (changed: Gathered) => {
    fetched.push(
      changed && [...changed].flatMap(([kind, ids]) => [...ids].map((id) => `${kind} ${id}`)),
    )
    return new Promise((resolve) => setTimeout(resolve, ms))
  }
  return { fetched, ...gathering(fetch) }
}

test('a change is fetched soon, together with those that follow at once', async () => {
  const { fetched, changed } = gatheringFor(10)
  changed('server', 'a')
  changed('server', 'b')
  changed('cluster')
  await vi.advanceTimersByTimeAsync(100)
  expect(fetched).toEqual([])
  await vi.advanceTimersByTimeAsync(50)
  expect(fetched).toEqual([['server a', 'server b', 'cluster *']])
})

test('a thousand servers that change within a second are fetched once', async () => {
  const { fetched, changed } = gatheringFor(10)
  for (let n = 0; n < 1000; n++) {
    changed('server', String(n))
    await vi.advanceTimersByTimeAsync(1)
  }
  await vi.advanceTimersByTimeAsync(1_200)
  expect(fetched.map((ids) => ids?.length)).toEqual([1000])
})

test('a fetch ends before the next one begins, and the page rests as long again', async () => {
  const { fetched, changed } = gatheringFor(500)
  changed('server', 'a')
  await vi.advanceTimersByTimeAsync(120)
  expect(fetched).toEqual([['server a']])
  changed('server', 'b')
  await vi.advanceTimersByTimeAsync(990)
  expect(fetched).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(20)
  expect(fetched).toEqual([['server a'], ['server b']])
})

test('a fetch without an answer delays the next one for three seconds at most', async () => {
  const { fetched, changed } = gatheringFor(60_000)
  changed('server', 'a')
  await vi.advanceTimersByTimeAsync(120)
  changed('server', 'b')
  await vi.advanceTimersByTimeAsync(6_000)
  expect(fetched).toEqual([['server a'], ['server b']])
})

test('if anything may have changed, everything is fetched once', async () => {
  const { fetched, changed, stop } = gatheringFor(10)
  changed('server', 'a')
  changed()
  changed()
  await vi.advanceTimersByTimeAsync(1_900)
  expect(fetched).toEqual([])
  await vi.advanceTimersByTimeAsync(200)
  expect(fetched).toEqual([null])
  changed('server', 'b')
  stop()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(fetched).toEqual([null])
})
