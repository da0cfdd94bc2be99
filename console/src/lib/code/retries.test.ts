import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { patiently } from './retries.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('a failed dynamic import is retried until it succeeds', async () => {
  const importer = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new TypeError('Failed to fetch'))
    .mockResolvedValue('the code')
  const code = patiently(importer)()
  await vi.runAllTimersAsync()
  expect(await code).toBe('the code')
  expect(importer).toHaveBeenCalledTimes(2)
})

test('an import of a missing file fails within a minute', async () => {
  const began = Date.now()
  const fetching = patiently(() => Promise.reject(new TypeError('Failed to fetch')))
  await Promise.all([expect(fetching()).rejects.toThrow('Failed to fetch'), vi.runAllTimersAsync()])
  expect(Date.now() - began).toBeLessThan(60_000)
})
