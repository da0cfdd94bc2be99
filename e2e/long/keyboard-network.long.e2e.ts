/**
 * Datacenter, join token, image and subnet by keyboard alone: the focus is visible at every stop
 * and never lost.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { serverList } from '#contract/servers/servers.ts'
import { closePages, inOneStory, launch, open, signIn } from '../browser.ts'
import { type Installation, startInstallation, untilReady } from '../installation.ts'
import { type Keys, keysOf } from '../keys.ts'

const cluster = { id: '', name: 'poz-keys-02' }
const own = 'poz-keys-a'
let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let keys: Keys

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({ servers: 6, speed: 20 }),
    launch(),
  ])
  const watched = await open(browser, installation.url)
  ;({ page, errors } = watched)
  keys = keysOf(page)
  await watched.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const site = (await installation.call(datacenterList, { query: {} })).items.find(
    (d) => d.code === 'PL-POZ-1',
  )!
  const { items } = await installation.call(serverList, { query: {} })
  const server = items.find((s) => s.datacenter?.id === site.id && s.eligibility.every((e) => e.ok))
  const body = {
    name: cluster.name,
    datacenter_id: site.id,
    talos_version: server!.talos.version!,
    servers: [{ node_id: server!.id, role: 'control_plane' as const }],
  }
  cluster.id = (await installation.call(clusterCreate, { body })).cluster.id
  await signIn(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const button = (name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const main = () => page.getByRole('main')
const section = (name: string) =>
  page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name })
/** A field by its label, which may be followed by "optional" or the kind of network. */
const field = (name: string) => page.getByLabel(new RegExp(`^${name}(\\s*(optional|IPv[46].*))?$`))
const map = () => page.getByRole('grid', { name: /^Addresses of / })
const row = (name: string) =>
  page
    .getByRole('table', { name: 'Subnets', exact: true })
    .getByRole('row', { name: new RegExp(`Actions for ${name}`) })

/** Live regions, which a screen reader announces. */
const told = (text: string | RegExp) =>
  page
    .locator('[aria-live="polite"], [role="status"], [role="alert"]')
    .getByText(text)
    .first()
    .waitFor()
const copied = () => page.evaluate<string>('navigator.clipboard.readText()')

async function write(name: string, text: string): Promise<void> {
  await keys.tabTo(field(name))
  await keys.key('ControlOrMeta+a')
  await keys.type(text)
}
async function act(item: string | RegExp): Promise<void> {
  await keys.enter(button(`Actions for ${own}`))
  await keys.walkTo(item)
  await keys.key('Enter')
}

describe('by keyboard alone', () => {
  test('a datacenter is added by keyboard; the focus moves to errors, and returns after the dialog', async () => {
    await keys.enter(section('Datacenters'))
    const add = main().getByRole('button', { name: 'Add datacenter' })
    await keys.enter(add)
    // The first field has the focus.
    await keys.focused(field('Country code'))
    await write('Country code', 'pl')
    await write('City code', 'waw')
    await told(/PL-WAW-…/)
    await keys.key('Enter')
    await keys.focused(field('City'))
    await expect.poll(() => field('City').getAttribute('aria-invalid')).toBe('true')
    await keys.type('Warsaw')
    // Escape closes only the popover above the form, and a click outside the form loses nothing.
    await keys.enter(dialog('Add datacenter').getByRole('button', { name: 'Command' }))
    await dialog('As a command').waitFor()
    await keys.key('Escape')
    await dialog('As a command').waitFor({ state: 'hidden' })
    await page.mouse.click(5, 5)
    await keys.focusedIn(dialog('Add datacenter'))
    expect(await field('City').inputValue()).toBe('Warsaw')
    await keys.enter(dialog('Add datacenter').getByRole('button', { name: 'Add datacenter' }))
    await dialog('Add datacenter').waitFor({ state: 'detached' })
    await told('PL-WAW-1 was added')
    await keys.focused(add)
  })

  test('a join token is created and copied, and appears in the list', async () => {
    await keys.enter(section('Servers'), 'Shift+Tab')
    await page.goto('/infra/servers/join-tokens')
    const add = main().getByRole('button', { name: 'Create token' }).first()
    await keys.enter(add)
    await keys.focusedIn(dialog('Create join token'))
    await write('Name', 'keys-rack')
    await keys.choose(field('Datacenter'), 'PL-WAW-1')
    await keys.enter(button('Create token'))
    const made = dialog('Join token keys-rack')
    await keys.focusedIn(made)
    await keys.enter(made.getByRole('button', { name: 'Copy token' }))
    await told('Copied')
    expect(await copied()).toMatch(/^sy-join-/)
    await keys.key('Escape')
    await made.waitFor({ state: 'detached' })
    await keys.focused(add)
    await page
      .getByRole('table', { name: 'Join tokens' })
      .getByRole('row', { name: /keys-rack/ })
      .waitFor()
  })

  test('an image with two extensions is prepared, and its kernel command line is copied', async () => {
    await keys.enter(section('Servers'), 'Shift+Tab')
    await page.goto('/infra/servers/prepare-image')
    await page.getByText('Simulated image factory').first().waitFor()
    await keys.choose(field('Datacenter'), 'PL-WAW-1')
    await keys.choose(field('Join token'), 'keys-rack')
    const search = page.getByRole('searchbox', { name: 'Search extensions' })
    const chosen = page.getByRole('list', { name: 'Chosen extensions' })
    for (const name of ['iscsi-tools', 'amd-ucode', 'gvisor']) {
      await keys.tabTo(search, name === 'iscsi-tools' ? 'Tab' : 'Shift+Tab')
      await keys.key('ControlOrMeta+a')
      await keys.type(name)
      const box = page.getByRole('checkbox', { name: new RegExp(`^${name}\\b`) }).first()
      await keys.tabTo(box)
      await keys.key('Space')
      await chosen.getByText(name, { exact: true }).waitFor()
      await keys.focused(box)
    }
    // Removing an item doesn't lose the focus.
    await keys.enter(button('Remove gvisor'), 'Shift+Tab')
    await keys.focused(button('Remove amd-ucode'))
    await keys.enter(button('Generate'))
    const made = page.getByRole('region', { name: 'Generated image' })
    await made.getByText('Confirmed by the image factory').waitFor()
    await keys.focusedIn(made)
    await keys.enter(button('Copy kernel command line'))
    await told('Copied')
    expect(await copied()).toMatch(/talos\.config=http:\S+\/join\/sy-join-/)
    await keys.enter(button(/^Use again/))
    await keys.focused(field('Talos version'))
  })

  test('removing an earlier image keeps the focus on the page', async () => {
    await keys.enter(button(/^Actions for the image of/))
    await keys.walkTo('Remove')
    await keys.key('Enter')
    const question = dialog('Remove this image?')
    await keys.focusedIn(question)
    await keys.enter(question.getByRole('button', { name: 'Remove' }))
    await told('The image was removed')
    await page.getByText('No images yet').waitFor()
    await keys.focusedIn(main())
  })

  test('a subnet with exclusions is added, and the focus is on the page that opens', async () => {
    await keys.enter(section('Network'), 'Shift+Tab')
    await keys.enter(main().getByRole('button', { name: 'Add subnet' }).first())
    await keys.focused(field('Name'))
    await keys.type(own)
    await keys.choose(field('Datacenter'), 'PL-POZ-1')
    await write('CIDR', '198.18.7.5/26')
    await keys.key('Tab')
    await told(/Did you mean 198\.18\.7\.0\/26/)
    await keys.enter(button('Use 198.18.7.0/26'), 'Shift+Tab')
    await keys.focused(field('CIDR'))
    expect(await field('CIDR').inputValue()).toBe('198.18.7.0/26')
    await write('Gateway', '198.18.7.1')
    await write('Exclude IPs', '198.18.7.2-198.18.7.9\n198.18.7.20')
    await told('52')
    await keys.enter(main().getByRole('button', { name: 'Add subnet' }))
    await told(`${own} was added`)
    await map().waitFor()
    await keys.focusedIn(main())
  })

  test('the error about an overlap is shown at the CIDR, and Tab reaches the link to the other subnet', async () => {
    await keys.enter(main().getByRole('button', { name: 'Add subnet' }), 'Shift+Tab')
    await keys.focused(field('Name'))
    await keys.type('poz-too-much')
    await keys.choose(field('Datacenter'), 'PL-POZ-1')
    await write('CIDR', '198.18.7.32/27')
    await keys.enter(main().getByRole('button', { name: 'Add subnet' }))
    await page.getByText(`Overlaps with subnet ${own} (198.18.7.0/26) in PL-POZ-1`).waitFor()
    await keys.focused(field('CIDR'))
    await keys.key('Tab')
    await keys.focused(page.getByRole('link', { name: `Show subnet ${own}` }))
    await keys.key('Enter')
    const question = dialog('Leave without saving?')
    await keys.focusedIn(question)
    await keys.enter(question.getByRole('button', { name: 'Leave' }))
    await map().waitFor()
    await keys.focusedIn(main())
  })

  test('arrow keys move in the address map, and Tab leaves it', async () => {
    await keys.tabTo(map())
    const at = () =>
      map().evaluate((grid) =>
        grid.ownerDocument
          .getElementById(grid.getAttribute('aria-activedescendant') ?? '')
          ?.getAttribute('aria-label'),
      )
    expect(await at()).toBe('198.18.7.0, reserved')
    await keys.key('ArrowRight')
    expect(await at()).toBe('198.18.7.1, gateway')
    await keys.key('ArrowDown')
    await keys.key('ArrowRight')
    expect(await at()).toBe('198.18.7.18, free')
    await keys.key('ArrowRight')
    await keys.key('ArrowRight')
    expect(await at()).toBe('198.18.7.20, excluded')
    await keys.key('Control+End')
    expect(await at()).toBe('198.18.7.63, reserved')
    await keys.key('Control+Home')
    await keys.key('ArrowRight')
    await keys.key('Enter')
    const card = page.getByRole('group', { name: 'About 198.18.7.1', exact: true })
    await keys.key('Enter')
    await card.getByText('Copied').waitFor()
    expect(await copied()).toBe('198.18.7.1')
    await keys.key('Tab')
    await keys.focusedIn(card)
    await keys.tabTo(button(/^Next free/))
    await keys.tabTo(map(), 'Shift+Tab')
    await keys.key('Escape')
    await keys.focused(map())
  })

  test('a subnet is assigned in three steps and becomes Active; each step takes the focus', async () => {
    await untilReady(installation, cluster.id)
    await keys.tabTo(button(`Actions for ${own}`), 'Shift+Tab')
    await act('Assign to a cluster')
    const radio = page
      .getByRole('radiogroup', { name: 'Cluster' })
      .getByRole('radio', { name: new RegExp(cluster.name) })
    await radio.waitFor()
    await keys.focusedIn(main())
    await keys.tabTo(radio)
    await keys.key('Space')
    await keys.enter(button('Choose subnets'))

    const step = (name: string) => page.getByRole('group', { name: `Step ${name}` })
    await keys.focused(step('2 of 3: Subnets'))
    const there = page.getByRole('listbox', { name: 'In PL-POZ-1' })
    const has = page.getByRole('listbox', { name: `Of ${cluster.name}` })
    await keys.tabTo(has)
    await keys.key('Enter')
    await there.getByRole('option', { name: new RegExp(own) }).waitFor()
    // The list that has lost its last item is empty, so the focus is in the other list.
    await keys.focused(there)
    await told('Nothing to change')
    await keys.key('Space')
    await keys.enter(button('Add 1'))
    await has.getByRole('option', { name: new RegExp(own) }).waitFor()
    await keys.focused(button('Add'))
    await told('1 subnet to add')
    await keys.enter(button('Review'))
    await keys.focused(step('3 of 3: Review'))
    await page
      .getByRole('group', { name: 'Manifest before and after' })
      .getByText('CiliumLoadBalancerIPPool')
      .waitFor()
    await keys.enter(button('Assign 1 subnet'))
    await page.getByRole('heading', { level: 1, name: /subnet/i }).waitFor()
    await keys.focusedIn(main())
    await page
      .getByRole('status')
      .getByText(`Done: the subnets of ${cluster.name} are changed as requested.`)
      .waitFor({ timeout: 60_000 })
    await page
      .getByRole('list', { name: `Subnets of ${cluster.name}` })
      .getByRole('listitem')
      .filter({ hasText: own })
      .getByText('Active')
      .waitFor()
    await keys.focusedIn(main())
    await keys.enter(page.getByRole('link', { name: 'Back to Network' }))
    await row(own).getByText('Active').waitFor()
    await keys.focusedIn(main())
  })

  test('a subnet is unassigned at once after the name of the cluster was typed, and can then be removed', async () => {
    await act(`Unassign from ${cluster.name}`)
    const atOnce = page.getByRole('checkbox', { name: /^Don't wait/ })
    await atOnce.waitFor()
    await keys.focusedIn(main())
    await keys.tabTo(atOnce)
    await keys.key('Space')
    await keys.focused(atOnce)
    await keys.enter(button('Unassign 1 subnet'))
    const question = dialog(`Unassign 1 subnet from ${cluster.name} without waiting?`)
    await keys.tabTo(question.getByLabel(/to confirm/))
    await keys.type(cluster.name)
    await keys.key('Enter')
    await question.waitFor({ state: 'detached' })
    await page
      .getByRole('status')
      .getByText(`Done: the subnets of ${cluster.name} are changed as requested.`)
      .waitFor({ timeout: 60_000 })
    await keys.focusedIn(main())
    await keys.enter(section('Network'), 'Shift+Tab')
    await row(own).getByText('Unassigned').waitFor()
    await act('Remove')
    const asked = dialog(`Remove ${own}?`)
    await keys.focusedIn(asked)
    await keys.enter(asked.getByRole('button', { name: 'Remove' }))
    await told(`${own} was removed`)
    await page.getByRole('heading', { name: 'No subnets yet' }).waitFor()
    await keys.focusedIn(main())
  })

  test('an API token is created, copied and revoked', async () => {
    await page.goto('/')
    await keys.enter(button(/Profile$/))
    await keys.walkTo('Profile')
    await keys.key('Enter')
    await keys.enter(page.getByRole('link', { name: 'API tokens' }))
    await keys.enter(main().getByRole('button', { name: 'Create API token' }).first())
    await keys.focused(field('Name'))
    await keys.type('monitoring')
    await keys.tabTo(page.getByRole('checkbox', { name: 'servers:read' }))
    await keys.key('Space')
    await keys.enter(button('Create token'))
    const made = dialog('API token monitoring')
    await keys.focusedIn(made)
    await keys.enter(made.getByRole('button', { name: /^Copy/ }))
    await expect.poll(copied).toMatch(/^sy/)
    await keys.enter(made.getByRole('button', { name: 'Done' }))
    await made.waitFor({ state: 'detached' })
    await keys.focusedIn(main())
    await keys.enter(button('Actions for monitoring'))
    await keys.walkTo('Revoke')
    await keys.key('Enter')
    await keys.enter(page.getByRole('dialog').getByRole('button', { name: /^Revoke/ }))
    await told(/revoked/)
    await keys.focusedIn(main())
  })

  test('at 200 % zoom the focus stays in the dialog, and the page needs no horizontal scrolling', async () => {
    await page.setViewportSize({ width: 640, height: 450 })
    await page.goto('/infra/datacenters')
    const add = main().getByRole('button', { name: 'Add datacenter' })
    await keys.enter(add)
    const sheet = dialog('Add datacenter')
    await keys.focused(sheet)
    for (const field of ['Country code', 'Notes'] as const) {
      await keys.tabTo(sheet.getByLabel(field))
      await keys.focusedIn(sheet)
    }
    await keys.key('Escape')
    await sheet.waitFor({ state: 'detached' })
    await keys.focused(add)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(640)
  })
})
