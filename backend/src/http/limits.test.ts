import { expect, test } from 'vitest'
import { testClock } from '../testing/clock.ts'
import { bucket } from './limits.ts'
import { processorMs } from '../../../tools/testing/processor-time.ts'

test('each source may send a burst of requests, and after that only as many per second as its rate allows', () => {
  const clock = testClock()
  const pace = bucket({ perSecond: 2, burst: 3, clock })
  for (let n = 0; n < 3; n++) expect(pace.take('a')).toBe(0)
  expect(pace.take('a')).toBe(500)
  expect(pace.take('b')).toBe(0)
  clock.advance(500)
  expect(pace.take('a')).toBe(0)
  expect(pace.take('a')).toBe(500)
  clock.advance(3600_000)
  for (let n = 0; n < 3; n++) expect(pace.take('a')).toBe(0)
  expect(pace.take('a')).toBe(500)
})

test('setting the clock back a day does not delay anybody by a day', () => {
  const clock = testClock()
  const pace = bucket({ perSecond: 2, burst: 1, clock })
  expect(pace.take('a')).toBe(0)
  clock.jump(-86_400_000)
  expect(pace.take('a')).toBe(500)
  clock.advance(500)
  expect(pace.take('a')).toBe(0)
})

test('each new source in a flood costs constant time, and recent sources are still remembered', async () => {
  const pace = bucket({ perSecond: 0.5, burst: 1, clock: testClock() })
  let refused = 0
  const usedMs = await processorMs(() => {
    for (let n = 0; n < 200_000; n++) if (pace.take(`source ${n}`) > 0) refused++
  })
  expect(refused).toBe(0)
  expect(usedMs).toBeLessThan(5_000)
  expect(pace.take('source 199999')).toBeGreaterThan(0)
  expect(pace.take('source 190000')).toBeGreaterThan(0)
})
