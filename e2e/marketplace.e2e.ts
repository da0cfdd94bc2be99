/**
 * A capacity commitment from end to end: committed in the console, delegated, started by Steelyard,
 * seen in the list of servers, and failed.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ccList } from '#contract/marketplace/ccs.ts'
import { serverList } from '#contract/servers/servers.ts'
import { userCreate } from '#contract/users.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, inOneStory, launch, open, signIn } from './browser.ts'
import { type Installation, sharedInstallation } from './installation.ts'
import { ofJourneys } from './screens/frequent.ts'
import { lookAtEach } from './screens/look.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let server: { id: string; name: string }

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedInstallation(), launch()])
  ;({ page, errors } = await open(browser, installation.url))
  server = (await installation.call(serverList, { query: {} })).items[0]!
  await signIn(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const main = () => page.getByRole('main')
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const row = () =>
  page
    .getByRole('table', { name: 'Commitments', exact: true })
    .getByRole('row', { name: new RegExp(`Actions for ${server.name}`) })
const counter = (name: string) =>
  page.getByRole('group', { name: 'Status' }).getByRole('button', { name })
const stored = async () => (await installation.call(ccList, { query: { server: server.id } })).items
async function act(item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${server.name}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

describe('the life of a commitment', () => {
  test('the marketplace leads to its one page, with its crumbs and how to begin', async () => {
    await page.goto('/marketplace')
    await page.waitForURL('**/marketplace/ccs')
    await main().getByText('No commitments yet').waitFor()
    const crumbs = page.getByRole('navigation', { name: 'Breadcrumb' })
    expect(await crumbs.getByRole('listitem').allTextContents()).toEqual([
      'Marketplace›',
      'Compute Capacity',
    ])
    expect(await page.title()).toBe('Compute Capacity · Steelyard')
  })

  test('the form refuses a wrong price and a missing end at their fields, and sends nothing', async () => {
    await main().getByRole('button', { name: 'Commit capacity' }).first().click()
    const form = dialog('Commit capacity')
    await form.getByLabel('Server').fill(server.name)
    await form.getByLabel('Price').fill('1e400')
    await form.getByLabel('Currency').fill('eur')
    await form.getByRole('checkbox').check()
    await form.getByRole('button', { name: 'Commit capacity' }).click()
    await form.getByText(/^An amount is a decimal number/).waitFor()
    expect(await stored()).toEqual([])
    await form.getByLabel('Price').fill('1.2480')
    await form.getByText('Enter the end before you commit the capacity').waitFor()
  })

  test('capacity is committed with its price as entered, and the list shows it at once', async () => {
    const form = dialog('Commit capacity')
    await form.getByLabel(/^End/).fill(`${new Date().getFullYear() + 1}-12-01T00:00`)
    await form.getByRole('button', { name: 'Commit capacity' }).click()
    await form.waitFor({ state: 'hidden' })
    await row().getByText('Waiting delegation').waitFor()
    await row().getByText('1.248').waitFor()
    await counter('Waiting delegation').getByText('1', { exact: true }).waitFor()
    expect((await stored())[0]).toMatchObject({
      price: { amount: '1.248', currency: 'EUR', basis: 'server' },
    })
  })

  test('after the delegation is confirmed, Steelyard starts it, and every list shows that without a reload', async () => {
    await act('Confirm delegation')
    await dialog(/^Confirm the delegation/)
      .getByRole('button', { name: 'Confirm delegation' })
      .click()
    await row().getByText('Active').waitFor()
    await counter('Active').getByText('1', { exact: true }).waitFor()
    await page.goto(`/infra/servers?q=${server.name}`)
    await page.getByRole('table', { name: 'Servers' }).getByRole('link', { name: 'Active' }).click()
    await page.waitForURL('**/marketplace/ccs/*')
    await page.getByText('The delegation was confirmed').waitFor()
  })

  test('the page of a commitment is accessible, and fits the screen', async () => {
    const { id } = (await stored())[0]!
    await lookAtEach(page, ofJourneys.marketplace, { commitment: { id, name: server.name } })
  })

  test('a failure needs a reason, which the history keeps', async () => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Mark as failed' }).click()
    const form = dialog(/^Mark as failed/)
    await form.getByRole('button', { name: 'Mark as failed' }).click()
    await form.getByText('Say why it failed').waitFor()
    await form.getByLabel('Reason').fill('Power was lost')
    await form.getByRole('button', { name: 'Mark as failed' }).click()
    await page.getByText('Failed: Power was lost').waitFor()
  })

  // The walk of a viewer in `screens.e2e.ts` sees this page in every run.
  longTest('a viewer sees the commitments and why he can change none', async () => {
    const who = {
      email: 'viewer-of-marketplace@steelyard.demo',
      password: 'only looks at the marketplace',
    }
    await installation.call(userCreate, { body: { ...who, name: 'Viewer', role: 'viewer' } })
    const other = await open(browser, installation.url)
    await signIn(other.page, who)
    await other.page.goto('/marketplace/ccs')
    await other.page.getByRole('table', { name: 'Commitments', exact: true }).waitFor()
    const add = other.page.getByRole('main').getByRole('button', { name: 'Commit capacity' })
    expect(await add.getAttribute('aria-disabled')).toBe('true')
    await add.hover()
    await other.page
      .getByRole('tooltip')
      .getByText('Your role does not include marketplace:write')
      .waitFor()
    expect(other.errors).toEqual([])
    await other.context.close()
  })
})
