/** What a list of a large fleet offers beside its rows: an export, groups, shared views. */
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { channelList } from '#contract/alerts/channels.ts'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { type SharedView, sharedViewList } from '#contract/people/shared-views.ts'
import { type Server, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { userCreate } from '#contract/users.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, expectAccessible, launch, open, signIn, tell } from './browser.ts'
import { type Installation, sharedUnlessFull } from './installation.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
/** By name. */
let servers: Server[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedUnlessFull({ speed: 20 }), launch()])
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
  await tell(page, task)
  expect(errors.splice(0)).toEqual([])
})

const search = (of: Page) => new URL(of.url()).search

/** Opens the menu of the views by keyboard, and chooses an entry when the shared views are known. */
const choose = async (name: string) => {
  await page.getByRole('button', { name: 'View', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name }).and(page.locator(':not([aria-disabled=true])')).focus()
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

test('the button of a list appears when it is known whether the list is empty', async () => {
  let answer = (): void => undefined
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route(`**${channelList.path}?*`, async (route) => {
    await held
    await route.continue()
  })
  const add = page.getByRole('button', { name: 'Add channel' })
  await page.goto('/alerts/channels')
  await page.getByRole('searchbox', { name: 'Search channels' }).waitFor()
  expect(await add.count()).toBe(0)
  answer()
  await add.click()
  await page.getByRole('dialog', { name: 'Add channel' }).waitFor()
  await page.keyboard.press('Escape')
  await page.unrouteAll({ behavior: 'wait' })
})

test('the list is grouped by a label by keyboard, and a group is chosen as a whole', async () => {
  for (const { id } of servers.slice(0, 7))
    await installation.call(serverUpdate, { params: { id }, body: { labels: { gen: 'r650' } } })
  await page.goto('/infra/servers')
  await page.getByRole('button', { name: 'View', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Group by' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('menuitemcheckbox', { name: 'gen' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => search(page)).toBe('?group=label%3Agen')
  await page.getByRole('button', { name: 'Servers of gen=r650' }).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  const rest = page.getByRole('table', { name: 'Without the label gen' })
  await expect.poll(() => rest.getByRole('row').count()).toBe(servers.length - 7 + 1)
  await page
    .getByRole('checkbox', { name: 'Select all of gen=r650: 7 servers' })
    .check({ force: true })
  await page.getByRole('region', { name: 'Selection' }).getByText('7 selected').waitFor()
  await expectAccessible(page, 'the list of servers in groups')
  // A server that loses its label moves to the other group by itself.
  const [first] = servers
  await installation.call(serverUpdate, {
    params: { id: first!.id },
    body: { labels: { gen: null } },
  })
  await rest.getByText(first!.name).waitFor()
  await page.getByRole('checkbox', { name: 'Select all of gen=r650: 6 servers' }).waitFor()
  for (const { id } of servers.slice(1, 7))
    await installation.call(serverUpdate, { params: { id }, body: { labels: { gen: null } } })
})

const viewer = { email: 'viewer-of-lists@steelyard.demo', password: 'only looking at things' }
const shared = async (): Promise<SharedView[]> =>
  (await installation.call(sharedViewList, { query: { list: 'servers' } })).items
const sharing = () => page.getByRole('dialog', { name: 'Share this view' })

longTest('a shared view is shown to everybody, and opened by its link', async () => {
  await page.goto('/infra/servers?status=maintenance&sort=-name')
  await choose('Share this view')
  await sharing().getByRole('textbox', { name: 'Name' }).fill('Idle')
  await page.keyboard.press('Enter')
  await page.getByText('The view Idle is shared').waitFor()
  const [view] = await shared()
  expect(view).toMatchObject({ name: 'Idle', search: { status: 'maintenance', sort: '-name' } })
  const link = `/infra/servers?view=${view!.id}`

  await installation.call(userCreate, { body: { ...viewer, name: 'Vera Viewer', role: 'viewer' } })
  const other = await open(browser, installation.url, { width: 375, theme: 'light' })
  await signIn(other.page, viewer)
  await other.page.goto(link)
  await expect.poll(() => search(other.page)).toBe('?status=maintenance&sort=-name')
  await other.page.getByRole('button', { name: 'View', exact: true }).click()
  const item = other.page.getByRole('menuitemcheckbox', { name: /^Idle/ })
  await item.and(other.page.locator('[aria-checked=true]')).waitFor()
  const remove = other.page.getByRole('menuitem', { name: 'Delete the shared view Idle' })
  expect(await remove.getAttribute('aria-disabled')).toBe('true')
  await expectAccessible(other.page, 'the menu of shared views')
  await other.context.close()
  expect(other.errors).toEqual([])
})

longTest(
  'a shared view is replaced, renamed and deleted, and all menus follow by themselves',
  async () => {
    const [view] = await shared()
    const link = `/infra/servers?view=${view!.id}`
    const other = await open(browser, installation.url)
    await signIn(other.page, viewer)
    await other.page.goto(link)
    await other.page.getByRole('button', { name: 'View', exact: true }).click()
    const item = other.page.getByRole('menuitemcheckbox', { name: /^Idle/ })
    await item.and(other.page.locator('[aria-checked=true]')).waitFor()

    // A second view of the same name is refused at the field.
    await page.goto('/infra/servers?sort=-name')
    await choose('Share this view')
    await sharing().getByRole('textbox', { name: 'Name' }).fill('Idle')
    await page.keyboard.press('Enter')
    await sharing().getByText('The list has a shared view with this name already').waitFor()
    await expectAccessible(page, 'the dialog of a shared view')
    await sharing().getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'View', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Replace a shared view' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('menuitem', { name: 'Idle' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Replace view' }).click()
    await page.getByText('The view Idle was replaced').waitFor()
    // The other user's menu follows by itself.
    await item.and(other.page.locator('[aria-checked=false]')).waitFor()
    await item.click()
    await expect.poll(() => search(other.page)).toBe('?sort=-name')

    await choose('Rename the shared view Idle')
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('By name')
    await page.keyboard.press('Enter')
    await page.getByText('The view is now called By name').waitFor()
    await choose('Delete the shared view By name')
    await page.getByRole('button', { name: 'Delete view' }).click()
    await page.getByText('The shared view By name was deleted').waitFor()
    expect(await shared()).toEqual([])
    await other.page.goto(link)
    await other.page.getByText(/The shared view could not be opened: There is no such/).waitFor()
    await expect.poll(() => search(other.page)).toBe('')
    await other.context.close()
    expect(other.errors).toEqual([])
  },
)

longTest(
  'the list of clusters is grouped by a label, exported, chosen as a group, and a group is a filtered list',
  async () => {
    const free = servers.filter((s) => s.eligibility.every(({ ok }) => ok))
    for (const [i, name] of ['edge-01', 'shop-01', 'shop-02'].entries()) {
      const { id, datacenter, talos } = free[i]!
      const { cluster } = await installation.call(clusterCreate, {
        body: {
          name,
          datacenter_id: datacenter!.id,
          talos_version: talos.version!,
          servers: [{ node_id: id, role: 'control_plane' }],
        },
      })
      if (i > 0)
        await installation.call(clusterUpdate, {
          params: { id: cluster.id },
          body: { labels: { env: 'prod' } },
        })
    }
    const asked = () => Object.fromEntries(new URLSearchParams(search(page)))
    await page.goto('/infra/clusters?sort=-name')
    await page.getByRole('button', { name: 'View', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Group by' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('menuitemcheckbox', { name: 'env' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(asked).toEqual({ sort: '-name', group: 'label:env' })
    await page.getByRole('button', { name: 'Clusters of env=prod' }).focus()
    await page.keyboard.press('Enter')
    const shop = page.getByRole('table', { name: 'env=prod' })
    await expect.poll(() => shop.getByRole('row').count()).toBe(3)
    const [download] = await Promise.all([page.waitForEvent('download'), choose('Export as CSV')])
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
    expect(lines.slice(1).map((line) => line.split(',')[1])).toEqual([
      'shop-02',
      'shop-01',
      'edge-01',
    ])
    await page
      .getByRole('checkbox', { name: 'Select all of env=prod: 2 clusters' })
      .check({ force: true })
    await page.getByRole('region', { name: 'Selection' }).getByText('2 selected').waitFor()
    await expectAccessible(page, 'the list of clusters in groups')
    await page.getByRole('link', { name: 'Without the label env' }).click()
    await expect.poll(asked).toEqual({ sort: '-name', label: '!env' })
    const table = page.getByRole('table', { name: 'Clusters', exact: true })
    await table.getByText('edge-01').waitFor()
    await expect.poll(() => table.getByRole('row').count()).toBe(2)
  },
)
