import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { patiently } from './code.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('code that can’t be fetched is asked for again until it comes', async () => {
  const importer = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new TypeError('Failed to fetch')).mockResolvedValue('the code')
  const code = patiently(importer)()
  await vi.runAllTimersAsync()
  expect(await code).toBe('the code')
  expect(importer).toHaveBeenCalledTimes(2)
})

test('code that is gone fails within a minute', async () => {
  const began = Date.now()
  const fetching = patiently(() => Promise.reject(new TypeError('Failed to fetch')))
  await Promise.all([expect(fetching()).rejects.toThrow('Failed to fetch'), vi.runAllTimersAsync()])
  expect(Date.now() - began).toBeLessThan(60_000)
})
