import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CallError, isUndecided, noAnswer } from './http.ts'
import { patience, patiently, undecided } from './patience.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const away = new CallError(noAnswer, { status: 0 })

test('no response, 5xx and 429 do not count as a decision of the server; every other error does', () => {
  const of = (status: number) => isUndecided(new CallError('x', { status }))
  expect([0, 200, 429, 500, 502, 503].map(of)).toEqual([true, true, true, true, true, true])
  expect([400, 401, 403, 404, 409, 422].map(of)).toEqual([false, false, false, false, false, false])
  expect(isUndecided(new TypeError('x'))).toBe(false)
})

test('a call that the server refused is not retried', async () => {
  const attempt = vi.fn<() => Promise<never>>(() =>
    Promise.reject(new CallError('Session expired.', { status: 401 })),
  )
  await expect(patiently(patience(), attempt)).rejects.toThrow('Session expired.')
  expect(attempt).toHaveBeenCalledTimes(1)
})

test('calls are retried until the server accepts or refuses them, and the user sees that the console is waiting', async () => {
  const attempt = vi
    .fn<() => Promise<string>>(() => Promise.resolve('in'))
    .mockRejectedValueOnce(away)
    .mockRejectedValueOnce(new CallError('Busy.', { status: 503 }))
  const done = patiently(patience(), attempt)
  await vi.advanceTimersByTimeAsync(0)
  expect(undecided.get()).toEqual({ until: Date.now() + 30_000, reason: noAnswer })
  await vi.advanceTimersByTimeAsync(1_500)
  expect(undecided.get()?.reason).toBe('Busy.')
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await done).toBe('in')
  expect(undecided.get()).toBeNull()
})

test('a hanging attempt is shown, and all attempts end after 30 s', async () => {
  const began = Date.now()
  const limits: number[] = []
  const hangs = (limitMs: number) =>
    new Promise<never>((_, reject) => {
      limits.push(limitMs)
      setTimeout(() => reject(away), limitMs)
    })
  const over = patiently(patience(), hangs).then(
    () => 0,
    () => Date.now() - began,
  )
  await vi.advanceTimersByTimeAsync(3_500)
  expect(undecided.get()?.reason).toBe(noAnswer)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await over).toBeGreaterThan(24_000)
  expect(await over).toBeLessThanOrEqual(30_000)
  expect(Math.max(...limits)).toBeLessThanOrEqual(8_000)
  expect(undecided.get()).toBeNull()
})

test('two calls with one budget share a time limit of 30 s', async () => {
  const budget = patience()
  const first = patiently(
    budget,
    vi
      .fn<() => Promise<string>>(() => Promise.resolve('in'))
      .mockRejectedValueOnce(away)
      .mockRejectedValueOnce(away),
  )
  await vi.advanceTimersByTimeAsync(3_000)
  expect([await first, budget.leftMs]).toEqual(['in', 27_000])
  const began = Date.now()
  const second = patiently(budget, () => Promise.reject(away)).catch(() => Date.now() - began)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await second).toBeLessThanOrEqual(27_000)
})

test('time during which the computer slept does not count', async () => {
  let tries = 0
  const done = patiently(patience(), () => {
    tries++
    if (tries > 1) return Promise.resolve('in')
    vi.setSystemTime(Date.now() + 8 * 3_600_000)
    return Promise.reject(away)
  })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await done).toBe('in')
})
