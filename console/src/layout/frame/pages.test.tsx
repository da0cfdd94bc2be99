// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, test, vi } from 'vitest'
import { FailedPage } from './pages.tsx'

afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const gone = new TypeError(
  'Failed to fetch dynamically imported module: https://steelyard.example/assets/servers-1a2b.js',
)

/**
 * Clicks "Try again" while the server answers as given. Returns how often the browser's page and
 * the router's page were loaded again.
 */
async function tryAgain(
  error: Error,
  answer: () => Promise<Response>,
): Promise<{ reloads: number; resets: number }> {
  const reload = vi.spyOn(location, 'reload').mockImplementation(() => undefined)
  const reset = vi.fn<() => void>()
  vi.stubGlobal('fetch', answer)
  render(<FailedPage error={error} reset={reset} />)
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  // The first time, this loads the code of the query cache.
  await vi.waitFor(() => expect(reload.mock.calls.length + reset.mock.calls.length).toBe(1), {
    timeout: 30_000,
  })
  return { reloads: reload.mock.calls.length, resets: reset.mock.calls.length }
}

test('"Try again" loads the console anew if an update has removed a file of the page', async () => {
  expect(await tryAgain(gone, async () => new Response())).toEqual({ reloads: 1, resets: 0 })
})

test('"Try again" keeps the console while the server does not answer, and after other failures', async () => {
  expect(await tryAgain(gone, () => Promise.reject(new TypeError('offline')))).toEqual({
    reloads: 0,
    resets: 1,
  })
  cleanup()
  expect(await tryAgain(new Error('Server a is taken'), async () => new Response())).toEqual({
    reloads: 0,
    resets: 1,
  })
})
