/**
 * Pages in a browser whose processor is slowed, as a user's slow laptop is, and what a user does on
 * them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { inPage } from './in-page.ts'
import { median } from './numbers.ts'

export const throttle = 4

/** A page in a new browser context, in which nothing is cached. */
export async function slowedPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ ...options, viewport: { width: 1280, height: 900 } })
  await context.addInitScript(inPage)
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: throttle })
  return page
}

/**
 * Waits until the page has sent its last request, which opens the stream of events, and nothing
 * changes any more.
 */
export async function settle(page: Page): Promise<void> {
  await page.getByRole('contentinfo').getByText('Live', { exact: true }).waitFor()
  await page.evaluate('bench.rests()')
}

/** What a user opens above the list: the type of the input, and the element that appears. */
interface Opening {
  type: string
  selector: string
  prepare: (page: Page, time: number) => Promise<void>
  open: (page: Page, time: number) => Promise<void>
}
const actionsOf = (page: Page, row: number) =>
  page
    .locator('tbody tr[data-row]')
    .nth(row)
    .getByRole('button', { name: /^Actions for/ })
export const openings = {
  palette: {
    type: 'keydown',
    selector: '[role="dialog"] input',
    prepare: () => Promise.resolve(),
    open: (page) => page.keyboard.press('Control+k'),
  },
  menu: {
    type: 'click',
    selector: '[role="menu"]',
    // The pointer rests on the button first, as a user's does; the menu's code is loaded meanwhile.
    prepare: (page, row) => actionsOf(page, row).hover(),
    open: (page, row) => actionsOf(page, row).click(),
  },
} as const satisfies Record<string, Opening>

export async function close(page: Page, { selector }: Opening): Promise<void> {
  await page.keyboard.press('Escape')
  await page.locator(selector).waitFor({ state: 'detached' })
}

/** The median time of four openings, in ms. */
export async function openingTime(page: Page, opening: Opening): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < 4; time++) {
    await opening.prepare(page, time)
    await settle(page)
    await page.evaluate(`bench.expect('${opening.type}', '${opening.selector}')`)
    await opening.open(page, time)
    times.push(await page.evaluate<number>('bench.opened'))
    await close(page, opening)
  }
  return median(times)
}

/**
 * Starts the measurement of keystrokes, and types and deletes at a pace of 8 keys a second, at
 * which the answer comes after the last key.
 */
export async function typeInSearch(page: Page): Promise<void> {
  await page.getByRole('searchbox', { name: 'Search servers' }).click()
  await settle(page)
  await page.evaluate('bench.keystroke = 0')
  for (const key of [...Array.from('amber-fal'), ...Array.from('amber-fal', () => 'Backspace')]) {
    await page.keyboard.press(key, { delay: 30 })
    await pause(90)
  }
  await settle(page)
}
