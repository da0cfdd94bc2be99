// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { followReleases, isMissingCode } from './release.ts'

const page = (entry: string) =>
  `<!doctype html><script src="/early.js"></script><script type="module" crossorigin src="${entry}" nonce="x"></script>`
const reload = vi.fn<() => void>()
let answer: () => Promise<Response>
let stop: () => void

beforeEach(() => {
  // A script that is set as text isn't run.
  document.head.innerHTML = '<script type="module" src="/assets/index-old.js"></script>'
  history.replaceState(null, '')
  vi.stubGlobal('fetch', () => answer())
  stop = followReleases(reload)
})
afterEach(() => {
  stop()
  reload.mockReset()
  vi.unstubAllGlobals()
})

/**
 * Fails to import a file, as the console's build does. Returns the error and whether it is thrown
 * on.
 */
async function fail() {
  const error = new TypeError('Failed to fetch dynamically imported module')
  const isThrown = window.dispatchEvent(
    Object.assign(new Event('vite:preloadError', { cancelable: true }), { payload: error }),
  )
  await new Promise((resolve) => setTimeout(resolve))
  return { error, isThrown }
}

test('a file that fails to load fires the preload error, which is thrown on, because nothing handles it', async () => {
  answer = () => Promise.reject(new TypeError('away'))
  const { error, isThrown } = await fail()
  expect([isThrown, isMissingCode(error), isMissingCode(new TypeError('x'))]).toEqual([
    true,
    true,
    false,
  ])
})

test('after a new release, a page whose file is gone reloads once', async () => {
  answer = () => Promise.resolve(new Response(page('/assets/index-new.js')))
  await fail()
  await fail()
  expect(reload).toHaveBeenCalledTimes(1)
  expect(history.state).toEqual({ reloadedFor: '/assets/index-new.js' })
})

test('a page is not reloaded for a file that is gone from the release that it runs, or while the server does not answer', async () => {
  for (const response of [
    () => Promise.resolve(new Response(page('/assets/index-old.js'))),
    () => Promise.resolve(new Response('Bad gateway', { status: 502 })),
    () => Promise.reject(new TypeError('away')),
  ]) {
    answer = response
    await fail()
  }
  expect(reload).not.toHaveBeenCalled()
})
