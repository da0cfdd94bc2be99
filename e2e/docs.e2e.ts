/** The documentation as readers see it, and the ways that lead to it. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { longTests } from '../tools/testing/length.ts'
import { closePages, expectAccessible, launch, open, shot, signIn, tell } from './browser.ts'
import { type Installation, sharedInstallation } from './installation.ts'

let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedInstallation(), launch()])
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
beforeEach(async () => {
  ;({ context, page, errors } = await open(browser, installation.url))
})
afterEach(async ({ task }) => {
  await tell(page, task)
  await context.close()
  expect(errors.splice(0)).toEqual([])
})

/** By how many pixels the page is wider than the screen. */
const tooWide = () =>
  page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )

/** The addresses of all pages, from the index. */
async function addresses(): Promise<string[]> {
  await page.goto('/docs')
  const links = await page
    .getByRole('link')
    .evaluateAll((all) => all.map((a) => (a as unknown as { pathname: string }).pathname))
  return ['/docs', ...new Set(links.filter((path) => /^\/docs\/[\w/-]+$/.test(path)))]
}

test('every page of the documentation is accessible and as wide as the screen, at 375 and 1280 px, dark and light', async () => {
  const all = await addresses()
  expect(all.length).toBeGreaterThan(30)
  const short = ['/docs', '/docs/operations', '/docs/connecting-servers', '/docs/search?q=key+file']
  for (const address of longTests ? all : short) {
    await page.goto(address)
    await page.getByRole('heading', { level: 1 }).waitFor()
    // At the smaller width what it changes; otherwise all rules.
    const narrow = ['color-contrast', 'target-size', 'scrollable-region-focusable']
    for (const [width, theme, rules] of [
      [375, 'light', narrow],
      [1280, 'dark', undefined],
    ] as const) {
      await page.emulateMedia({ colorScheme: theme })
      await page.setViewportSize({ width, height: 800 })
      const what = `${address} at ${width}`
      expect(await tooWide(), `${what} is wider than the screen by`).toBeLessThanOrEqual(0)
      await shot(page, `docs${address.slice(5).replaceAll('/', '-')}-${width}`)
      await expectAccessible(page, what, rules)
    }
  }
})

test('the profile menu leads to the documentation, the API and the command line', async () => {
  await signIn(page)
  const menu = async () => {
    await page.getByRole('button', { name: 'Profile' }).click()
    return page.getByRole('menu', { name: 'Profile' })
  }
  const follow = async (name: string) => (await menu()).getByRole('menuitem', { name }).click()
  await follow('Documentation')
  await page.getByRole('heading', { level: 1, name: 'Steelyard documentation' }).waitFor()
  await page.getByRole('link', { name: 'Console' }).click()
  await follow('API')
  await page.getByRole('heading', { level: 1, name: /^Steelyard API/ }).waitFor()
  await page.goto('/')
  const [download] = await Promise.all([page.waitForEvent('download'), follow('Command line')])
  expect(download.suggestedFilename()).toBe('steelyard.mjs')
})

test('a page that the documentation or the console lacks is Page Not Found with 404, a section is not', async () => {
  const status = async (path: string) => (await page.goto(path))?.status()
  expect(await status('/docs/nothing')).toBe(404)
  await page.getByRole('heading', { level: 1, name: 'Page Not Found' }).waitFor()
  expect(await status('/infra')).toBe(200)
  expect(await status('/admin')).toBe(200)
  expect(await status('/alerts')).toBe(200)
})
