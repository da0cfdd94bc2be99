import { expect, test } from 'vitest'
import { createClock, Interrupted } from './clock.ts'

const took = async (work: Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work
  return performance.now() - begun
}

test('simulated time passes faster than real time by the factor of the speed', async () => {
  const clock = createClock(100)
  const realMs = await took(clock.sleep(60_000))
  expect(clock.elapsed()).toBeGreaterThan(59_000)
  expect(realMs).toBeLessThan(50_000)
})

test('a new speed also applies to sleeps in progress', async () => {
  const clock = createClock(1)
  const sleeping = took(clock.sleep(60_000))
  clock.setSpeed(10_000)
  expect(await sleeping).toBeLessThan(50_000)
})

test('aborting the signal ends a running sleep, and a new sleep with that signal fails', async () => {
  const clock = createClock(1)
  const stop = new AbortController()
  const sleeping = clock.sleep(60_000, stop.signal)
  stop.abort()
  await expect(sleeping).rejects.toBeInstanceOf(Interrupted)
  await expect(clock.sleep(1, stop.signal)).rejects.toBeInstanceOf(Interrupted)
})

test('wall-clock times come from the injected clock, and invalid speeds are refused', () => {
  const clock = createClock(1, () => 42)
  expect(clock.now()).toBe(42)
  expect(() => clock.setSpeed(0)).toThrow(RangeError)
  expect(() => clock.setSpeed(Number.NaN)).toThrow(RangeError)
})
