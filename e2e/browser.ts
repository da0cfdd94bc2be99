/**
 * A real browser, and the checks for every page: no error on the console, no violation of the
 * content policy, no finding of axe.
 */
import AxeBuilder from '@axe-core/playwright'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterEach, beforeEach, expect, type TestContext } from 'vitest'
import { findTestBrowser } from '../tools/browsers.mjs'
import { admin } from './installation.ts'
import { watchSecrets } from './secrets.ts'

export const widths = [375, 744, 1280, 1920] as const
export type Theme = 'dark' | 'light'

let started: Promise<Browser> | undefined
/**
 * The browser of this worker, which all its test files use one after another. It ends with the
 * worker.
 */
export async function launch(): Promise<Browser> {
  if (!(await started)?.isConnected()) started = startBrowser()
  return started!
}

/** Closes the pages of a test file, which would otherwise look for its installation. */
export async function closePages(): Promise<void> {
  const browser = await started
  await Promise.all(browser?.contexts().map((context) => context.close()) ?? [])
}

function startBrowser(): Promise<Browser> {
  const executablePath = findTestBrowser()
  if (!executablePath)
    throw new Error('No browser found. Install it with: apt-get install chromium')
  return chromium.launch({
    executablePath,
    args: [
      // A page lives for seconds here. Most of its processor time was the optimizing compilers and
      // the collection of short-lived objects.
      '--js-flags=--no-turbofan,--no-maglev,--min-semi-space-size=32,--max-semi-space-size=32',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** A page and the errors that it has logged. */
export interface Watched {
  page: Page
  context: BrowserContext
  errors: string[]
}

export async function open(
  browser: Browser,
  url: string,
  options: { width?: number; height?: number; theme?: Theme } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    acceptDownloads: true,
    colorScheme: options.theme ?? 'dark',
    reducedMotion: 'reduce',
  })
  watchSecrets(context)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(`page error: ${error.message}`))
  // Ignore "Failed to load resource", which the browser logs for every error response: tests check
  // such responses themselves.
  page.on(
    'console',
    (message) =>
      message.type() === 'error' &&
      !message.text().startsWith('Failed to load resource') &&
      errors.push(`console: ${message.text()}`),
  )
  return { page, context, errors }
}

/**
 * Moves the mouse to the corner. Where it was, the next page may have a disabled control, whose
 * tooltip covers what a test clicks.
 */
export const restMouse = (page: Page): Promise<void> => page.mouse.move(0, 0)

export async function signIn(page: Page, who = admin): Promise<void> {
  await page.goto('/auth/login')
  await restMouse(page)
  await page.getByLabel('Email').fill(who.email)
  await page.getByLabel('Password', { exact: true }).fill(who.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((to) => !to.pathname.startsWith('/auth'))
}

/**
 * Replaces the text of the YAML editor by keyboard. `fill` would bypass the editor, and then
 * Chromium writes style attributes that the content policy blocks.
 */
export async function write(page: Page, text: string): Promise<void> {
  // Until the editor's code has loaded, a plain text area is shown in its place.
  await page
    .getByRole('textbox', { name: 'Patch body, YAML' })
    .and(page.locator('[contenteditable]'))
    .click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

/** The minified axe for pages. `AxeBuilder` would send twice as much code, and twice per check. */
const axe = readFileSync(
  createRequire(createRequire(import.meta.url).resolve('@axe-core/playwright')).resolve(
    'axe-core/axe.min.js',
  ),
  'utf8',
)

/**
 * Fails on violations of WCAG 2.2 AA that axe finds. `rules`: checks only these rules, for instance
 * in a second theme, which differs only in colours.
 */
export async function expectAccessible(page: Page, what: string, rules?: string[]): Promise<void> {
  if (!(await page.evaluate<boolean>(`typeof axe === 'object'`))) await page.evaluate(axe)
  // Legacy mode runs axe in the page itself instead of in a blank page; our pages have no frames.
  // axe is loaded already, so the source is empty.
  const judge = new AxeBuilder({ page, axeSource: 'void 0' })
    .setLegacyMode()
    .options({ resultTypes: ['violations'] })
  const judged = rules
    ? judge.withRules(rules)
    : judge.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
  const { violations } = await judged.analyze()
  const found = violations.flatMap((v) =>
    v.nodes.map((n) => `${what}: ${v.id} (${v.help}) at ${n.target.join(' ')}`),
  )
  expect(found).toEqual([])
}

declare module 'vitest' {
  interface TaskMeta {
    /** What a failed test's page showed, which `npm test` prints again at its very end. */
    page?: string
  }
}

/**
 * After a failed test: writes the page's address and its text to standard error. The report gets
 * the alerts, the open menus and the dialogs; without a dialog, the main part of the page.
 */
export async function tell(
  page: Page | undefined,
  task: Readonly<TestContext['task']>,
  failed = task.result?.state === 'fail',
): Promise<void> {
  if (!failed || page === undefined || page.isClosed()) return
  const textsOf = async (role: 'alert' | 'dialog' | 'main' | 'menu') =>
    (await Promise.all((await page.getByRole(role).all()).map((part) => part.ariaSnapshot()))).join(
      '\n',
    )
  const menus = await textsOf('menu')
  const dialogs = await textsOf('dialog')
  const body = await page.locator('body').ariaSnapshot()
  process.stderr.write(`The page was ${page.url()}\n${menus}\n${body.slice(0, 12_000)}\n`)
  const shown = [await textsOf('alert'), menus, dialogs === '' ? await textsOf('main') : dialogs]
  task.meta.page = `${page.url()}\n${shown.join('\n').trim().slice(0, 3_000)}`
}

/** Saves a screenshot if STEELYARD_SHOTS names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env['STEELYARD_SHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: false })
}

/**
 * For tests that build on each other: after the first failure the remaining tests are skipped by
 * name, because they would only fail for the same cause. Every test also fails on errors of the
 * page. A failed test writes the address and the text of the page.
 */
export function inOneStory(seen: () => { page: Page; errors: string[] }): void {
  let broken: string | undefined
  beforeEach((context) => {
    context.skip(broken !== undefined, `"${broken}" failed before`)
    context.onTestFailed(() => {
      broken ??= context.task.name
    })
  })
  afterEach(async ({ task }) => {
    const { page, errors } = seen()
    await tell(page, task)
    expect(errors.splice(0)).toEqual([])
  })
}
