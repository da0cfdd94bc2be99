/** A real browser, and what every page is held to: no error on the console, no violation of the content policy, nothing that axe finds. */
import AxeBuilder from '@axe-core/playwright'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterEach, beforeEach, expect } from 'vitest'
import { admin } from './installation.ts'

export const widths = [375, 744, 1280, 1920] as const
export type Theme = 'dark' | 'light'

export async function launch(): Promise<Browser> {
  const executablePath = [process.env['CHROME_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
    (p) => p && existsSync(p),
  )
  if (!executablePath) throw new Error('No browser found. Install it with: apt-get install chromium')
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
}

/** Errors of a page that no journey may cause. */
export interface Watched {
  page: Page
  context: BrowserContext
  errors: string[]
}

export async function open(browser: Browser, url: string, options: { width?: number; height?: number; theme?: Theme } = {}): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    acceptDownloads: true,
    colorScheme: options.theme ?? 'dark',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(`page error: ${error.message}`))
  // The browser writes a line for every answer that is not a success; those are the journeys' own business.
  page.on(
    'console',
    (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource') && errors.push(`console: ${message.text()}`),
  )
  return { page, context, errors }
}

export async function signIn(page: Page, who = admin): Promise<void> {
  await page.goto('/auth/login')
  await page.getByLabel('Email').fill(who.email)
  await page.getByLabel('Password', { exact: true }).fill(who.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((to) => !to.pathname.startsWith('/auth'))
}

/** Puts text in place of what the YAML editor holds, by the keys that a person has for it. `fill` would edit past the editor, and Chromium then writes style attributes of its own. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Patch body, YAML' }).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

/** The engine of axe as its package delivers it for pages: half of what the builder would send, anew and twice for each judgement. */
const axe = readFileSync(createRequire(createRequire(import.meta.url).resolve('@axe-core/playwright')).resolve('axe-core/axe.min.js'), 'utf8')

/** Fails on any violation of WCAG 2.2 AA that axe knows, or of the given rules alone: colours are what a second theme changes. */
export async function expectAccessible(page: Page, what: string, rules?: string[]): Promise<void> {
  if (!(await page.evaluate<boolean>(`typeof axe === 'object'`))) await page.evaluate(axe)
  // Legacy mode judges in the page itself instead of one more blank page; there are no frames. The engine is there: nothing is left to be sent.
  const judge = new AxeBuilder({ page, axeSource: 'void 0' }).setLegacyMode().options({ resultTypes: ['violations'] })
  const judged = rules ? judge.withRules(rules) : judge.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
  const { violations } = await judged.analyze()
  const found = violations.flatMap((v) => v.nodes.map((n) => `${what}: ${v.id} (${v.help}) at ${n.target.join(' ')}`))
  expect(found).toEqual([])
}

/** After a failed test: says where the page was and what could be read there. */
export async function tell(page: Page | undefined, state: string | undefined): Promise<void> {
  if (state !== 'fail' || page === undefined || page.isClosed()) return
  process.stderr.write(`The page was ${page.url()}\n${(await page.locator('body').ariaSnapshot()).slice(0, 12_000)}\n`)
}

/** Keeps a picture where STEELYARD_SHOTS names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env['STEELYARD_SHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: false })
}

/**
 * Tests that tell one story, each from where the one before ended: after the first that fails, the rest would only fail for the same cause and wait for it, and is skipped by its name.
 * Every one is held to a page without errors; of one that fails, where the page was is said.
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
    await tell(page, task.result?.state)
    expect(errors.splice(0)).toEqual([])
  })
}
