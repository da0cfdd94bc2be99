/**
 * Looks at a screen at several widths, dark and light: axe finds nothing, nothing is wider than the
 * page, no word of a status is cut, lists can be read, and there are few controls.
 */
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { longTests } from '../../tools/testing/length.ts'
import { expectAccessible, shot, type Theme, widths } from '../browser.ts'
import { until } from '../installation.ts'
import { tooMuch } from './calm.ts'
import { listWidths, unreadable } from './cut.ts'
import type { Screen, World } from './screen.ts'
import { screens } from './screens.ts'

/** Pictures are taken of all screens. */
export const isFull = longTests || process.env['STEELYARD_SHOTS'] !== undefined
const sizes = isFull ? widths : ([375, 1280] as const)
const height = 900

/** Waits until nothing on the page is busy. */
export const settled = (page: Page) =>
  until(
    'the page is settled',
    async () => (await page.locator('[aria-busy="true"]:visible').count()) === 0,
  )

const pathOf = ({ path }: Screen, world: World): string =>
  typeof path === 'string' ? path : path(world)

/** The screens of these names. */
export const named = (names: readonly string[]): Screen[] =>
  screens.filter(({ name }) => names.includes(name))

/** Paths of the screens of signed-in users, each once. */
export const pathsOf = (shown: readonly Screen[], world: Partial<World>): string[] => [
  ...new Set(
    shown.filter(({ signedOut }) => !signedOut).map((screen) => pathOf(screen, world as World)),
  ),
]

async function enter(page: Page, screen: Screen, world: World): Promise<void> {
  await page.goto(pathOf(screen, world))
  await screen.ready(page, world)
  await settled(page)
}

const wear = (page: Page, theme: Theme) =>
  page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
const tooWide = (page: Page) =>
  page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )

/** Whether exactly `count` dialogs are visible and have stopped moving. */
const stand = (dialogs: Locator, count: number) =>
  dialogs.evaluateAll(
    (all, wanted) =>
      all.length === wanted.count &&
      all.every((dialog) => {
        const place = dialog.getBoundingClientRect()
        return (
          place.height > 0 &&
          place.top < wanted.height &&
          dialog
            .getAnimations()
            .every(({ playState }: { playState: string }) => playState === 'finished')
        )
      }),
    { count, height },
  )

/** Waits for the next frame, when the page has adapted to a new width. */
const drawn = (page: Page) =>
  page.evaluate('new Promise((heard) => requestAnimationFrame(() => heard()))')

/**
 * The themes in which axe checks a screen at a width, and the rules; without them, all. In full:
 * both themes at every width; only the colours differ. Otherwise once in each theme: all rules at
 * the greater width, and what a narrow screen changes, colours and sizes, at the smaller one.
 */
const checksAt = (screen: Screen, width: number): { theme: Theme; rules?: string[] }[] => {
  if (isFull || screen.only !== undefined)
    return [{ theme: 'light', rules: ['color-contrast'] }, { theme: 'dark' }]
  return width === 375
    ? [{ theme: 'light', rules: ['color-contrast', 'target-size', 'scrollable-region-focusable'] }]
    : [{ theme: 'dark' }]
}

/** `count`: the number of dialogs when the screen was opened. */
async function lookNow(page: Page, screen: Screen, width: number, count: number): Promise<void> {
  const dialogs = page.getByRole('dialog')
  // On narrow screens a dialog is a sheet that slides in. Its code may still be loading; until it
  // is visible, everything else on the page is hidden.
  await until('the dialogs stand where they can be seen', () => stand(dialogs, count))
  const what = `${screen.name} at ${width}`
  // Key presses may have scrolled the page. Scroll to the top: of an element partly under the
  // header, axe would check only the visible part.
  await page.evaluate('scrollTo(0, 0)')
  expect(await tooWide(page), `${what} is wider than the screen by`).toBeLessThanOrEqual(0)
  if (count === 0) expect(await tooMuch(page, width), `${what} has too much`).toEqual([])
  for (const { theme, rules } of checksAt(screen, width)) {
    await wear(page, theme)
    await shot(page, `${screen.name}-${width}-${theme}`)
    await expectAccessible(page, `${what}, ${theme}`, rules)
  }
}

/** Fails if a list of the screen can't be read, at a width. */
async function readLists(page: Page, screen: Screen): Promise<void> {
  const found: string[] = []
  for (const width of isFull ? listWidths : sizes) {
    await page.setViewportSize({ width, height })
    await drawn(page)
    for (const text of await unreadable(page)) found.push(`at ${width}: ${text}`)
  }
  expect(found, `${screen.name}: what can't be read`).toEqual([])
}

/** Fails if the screen can't be read or used at one of the widths, in one of the themes. */
export async function lookAt(page: Page, screen: Screen, world: World): Promise<void> {
  const ownSizes = sizes.filter((width) => screen.only === undefined || screen.only === width)
  let count: number | undefined
  for (const width of ownSizes.toReversed()) {
    await page.setViewportSize({ width, height })
    if (count === undefined || screen.anew) {
      await enter(page, screen, world)
      count = await page.getByRole('dialog').count()
    } else await drawn(page)
    await lookNow(page, screen, width, count)
  }
  if (screen.only === undefined && screen.anew === undefined && count === 0)
    await readLists(page, screen)
}

/**
 * Looks at screens in the middle of a journey, which has made what they show: `world`. The page gets
 * its usual width again.
 */
export async function lookAtEach(
  page: Page,
  names: readonly string[],
  world: Partial<World>,
): Promise<void> {
  for (const screen of named(names)) await lookAt(page, screen, world as World)
  await page.setViewportSize({ width: 1280, height })
}
