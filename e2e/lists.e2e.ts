/** What a list of a large fleet offers beside its rows: an export of what is shown. */
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { closePages, launch, open, signIn, tell } from './browser.ts'
import { type Installation, startInstallation } from './installation.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
/** By name. */
let servers: Server[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ speed: 20 }), launch()])
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page)
  servers = (await installation.call(serverList, { query: {} })).items.toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
afterEach(async ({ task }) => {
  await tell(page, task.result?.state)
  expect(errors.splice(0)).toEqual([])
})

/** Opens the menu of the views by keyboard, and chooses an entry. */
const choose = async (name: string) => {
  await page.getByRole('button', { name: 'Saved views' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name }).focus()
  await page.keyboard.press('Enter')
}

test('the list of servers is exported as CSV with its filters, order and columns, of all pages', async () => {
  const here = servers.filter((s) => s.status === 'maintenance')
  expect(here.length).toBeGreaterThan(5)
  await page.goto('/infra/servers?status=maintenance&sort=-name&size=5')
  await page.getByRole('table', { name: 'Servers', exact: true }).waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), choose('Export as CSV')])
  expect(download.suggestedFilename()).toBe('servers.csv')
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  expect(lines[0]).toMatch(/^id,name,status,cluster,hardware,datacenter,/)
  expect(lines.slice(1).map((line) => line.split(',')[1])).toEqual(
    here.map(({ name }) => name).toReversed(),
  )
})
