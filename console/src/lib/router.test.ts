// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { navigate, pageShown, shown, startRouter } from './router.ts'

afterEach(() => void vi.useRealTimers())

test('a placeholder stays at least 200 ms, but the first page replaces it at once', async () => {
  vi.useFakeTimers()
  const Page = () => null
  // Each page takes longer than the 150 ms after which a placeholder is shown.
  startRouter(() => new Promise((resolve) => setTimeout(() => resolve({ Page }), 160)))
  await vi.advanceTimersByTimeAsync(155)
  expect(shown.get()?.state).toBe('pending')
  await vi.advanceTimersByTimeAsync(5)
  expect(shown.get()?.state).toBe('ready')
  pageShown('/')

  void navigate('/operations')
  await vi.advanceTimersByTimeAsync(155)
  expect(shown.get()?.state).toBe('pending')
  await vi.advanceTimersByTimeAsync(190)
  expect(shown.get()?.state).toBe('pending')
  await vi.advanceTimersByTimeAsync(10)
  expect(shown.get()).toMatchObject({ state: 'ready', pathname: '/operations' })
})
