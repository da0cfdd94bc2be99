/**
 * A VLAN goes to 40 servers, whose links have other names: it is previewed once, stopped at the
 * canary that refuses, mended, rolled out, and undone with one click. Counts the clicks and keys.
 */
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, clusterCreate } from '#contract/clusters/clusters.ts'
import { findingList } from '#contract/findings/findings.ts'
import { serverConfig, serverList, serverUpdate } from '#contract/servers/servers.ts'
import {
  type SharedPatch,
  sharedPatchGet,
  sharedPatchList,
  sharedPatchPreview,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import {
  closePages,
  expectAccessible,
  inOneStory,
  launch,
  open,
  shot,
  signIn,
  write,
} from '../browser.ts'
import { admin, type Installation, startInstallation, until, untilReady } from '../installation.ts'
import { keysOf } from '../keys.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let cluster: Cluster
/** Two workers whose links of the management have other names. */
let workers: { id: string; name: string; link: string }[]
const refuser = () => workers[1]!

const label = 'net=storage'
const all = 40
/** With DHCP on the link of the management: a document of a link stops Talos's default. */
const vlan = (parent: string) =>
  `apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: 120\nparent: ${parent}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n`

/** The link with the address of a server. */
async function linkOf(id: string): Promise<string> {
  const { groups } = await installation.call(sharedPatchPreview, {
    body: { name: 'link', body: vlan('{{link}}'), targets: { node_ids: [id] } },
  })
  return /\+parent: (\S+)/.exec(groups[0]!.example)![1]!
}

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({ servers: all, speed: 20 }),
    launch(),
  ])
  const { call } = installation
  const servers = (await call(serverList, { query: { per_page: 100, sort: 'name' } })).items
  const free = servers.filter((s) => s.eligibility.every((e) => e.ok))
  // Three of one datacenter and version of Talos, of which two have other links.
  const groups = [...Map.groupBy(free, (s) => `${s.datacenter!.id} ${s.talos.version}`).values()]
  let alike: (typeof workers)[number][] = []
  for (const group of groups.filter(({ length }) => length > 2)) {
    alike = await Promise.all(
      group.slice(0, 8).map(async ({ id, name }) => ({ id, name, link: await linkOf(id) })),
    )
    if (new Set(alike.map(({ link }) => link)).size > 1) break
  }
  const first = alike[0]!
  const second = alike.find(({ link }) => link !== first.link)!
  const controlPlane = alike.find((one) => one !== first && one !== second)!
  workers = [first, second]
  const { datacenter, talos } = free.find(({ id }) => id === first.id)!
  ;({ cluster } = await call(clusterCreate, {
    body: {
      name: 'poz-shared-01',
      datacenter_id: datacenter!.id,
      talos_version: talos.version!,
      servers: [controlPlane, ...workers].map(({ id }, i) => ({
        node_id: id,
        role: i === 0 ? ('control_plane' as const) : ('worker' as const),
      })),
    },
  }))
  for (const { id } of servers)
    await call(serverUpdate, { params: { id }, body: { labels: { net: 'storage' } } })
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page)
  await untilReady(installation, cluster.id)
}, 240_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

/** What the person has done so far. Choosing in a select is two clicks: it opens, and it closes. */
const done = { clicks: 0, keys: 0 }
async function click(what: Locator): Promise<void> {
  done.clicks++
  await what.click()
}
async function type(text: string): Promise<void> {
  done.keys += text.length
  await page.keyboard.type(text)
}
async function key(name: string): Promise<void> {
  done.keys++
  await page.keyboard.press(name)
}
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
const link = (name: string) => page.getByRole('main').getByRole('link', { name, exact: true })
const changes = () => page.getByRole('list', { name: 'What changes, by likeness' })
const dialog = () => page.getByRole('dialog', { name: 'Roll out vlan-storage' })
/** A click into the editor, and a text from the clipboard. */
const paste = async (text: string) => {
  done.clicks++
  done.keys += 2
  await write(page, text)
}

const patchNow = async (): Promise<SharedPatch> =>
  installation.call(sharedPatchGet, {
    params: { id: (await installation.call(sharedPatchList, { query: {} })).items[0]!.id },
  })
const has = async (id: string) =>
  (await installation.call(serverConfig, { params: { id } })).includes('name: vlan120')
const members = () => cluster.servers.map(({ node_id }) => node_id)

test(`a VLAN for ${all} servers is previewed once, grouped by likeness, with who would refuse`, async () => {
  await page.goto('/')
  await click(
    page
      .getByRole('navigation')
      .getByRole('link', { name: /^Clusters/ })
      .first(),
  )
  await click(link('Shared patches'))
  await click(link('Create shared patch').first())
  await page.locator('[name="name"]:focus').waitFor()
  await type('vlan-storage')
  await click(page.getByRole('combobox', { name: 'Labels' }))
  await type(label)
  await key('Enter')
  await paste(vlan(workers[0]!.link))
  await click(button('Preview'))
  await changes().waitFor()
  await changes().getByText('Refused').first().waitFor()
  await shot(page, 'shared-preview')
  await expectAccessible(page, 'the preview of a shared patch')
  expect((await installation.call(sharedPatchList, { query: {} })).total).toBe(0)
})

test('the roll-out stops at the canary that refuses, and no server is changed', async () => {
  await click(button('Save and roll out'))
  await dialog().waitFor()
  await shot(page, 'shared-roll-out')
  done.clicks += 2
  const canary = dialog().getByRole('combobox')
  const option = canary.getByRole('option', { name: new RegExp(`^${refuser().name} `) })
  await canary.selectOption(await option.getAttribute('value'))
  await click(dialog().getByRole('button', { name: 'Roll out', exact: true }))
  await dialog().waitFor({ state: 'detached' })
  await page
    .getByText(new RegExp(`Stopped at ${refuser().name}: .*has no link`))
    .first()
    .waitFor()
  await shot(page, 'shared-stopped')
  await expectAccessible(page, 'a shared patch that was stopped')
  expect(await Promise.all(members().map(has))).toEqual(members().map(() => false))
})

test('the mended patch goes to every server, one after another', { timeout: 300_000 }, async () => {
  await click(link('Edit').first())
  await paste(vlan('{{link}}'))
  await click(button('Preview'))
  await changes().waitFor()
  await shot(page, 'shared-mended')
  await click(button('Save and roll out'))
  await click(dialog().getByRole('button', { name: 'Roll out', exact: true }))
  await page.getByText('Rolling out').first().waitFor()
  await shot(page, 'shared-rolling')
  await button('Undo').waitFor({ timeout: 240_000 })
  await shot(page, 'shared-rolled')
  await expectAccessible(page, 'a shared patch that was rolled out')
  expect(await patchNow()).toMatchObject({ servers: { targets: all, current: all, behind: 0 } })
  expect(await Promise.all(members().map(has))).toEqual(members().map(() => true))
})

test('the page of a server shows its shared patches', async () => {
  await page.goto(`/infra/servers/${members()[1]!}`)
  const table = page.getByRole('table', { name: /^Shared patches of / })
  await table.getByRole('link', { name: 'vlan-storage' }).first().waitFor()
  await table.getByText('Current').waitFor()
  await shot(page, 'shared-of-server')
  await expectAccessible(page, 'the patches of a server')
  await table.getByRole('link', { name: 'vlan-storage' }).first().click()
  await button('Undo').waitFor()
  // A patch that servers have is not deleted.
  await button('More actions').click()
  const remove = page.getByRole('menuitem', { name: /^Delete/ })
  expect(await remove.getAttribute('aria-disabled')).toBe('true')
  await remove.getByText(`${all} servers have this patch`).waitFor()
  await page.keyboard.press('Escape')
})

test('one click takes it back from every server', { timeout: 300_000 }, async () => {
  await click(button('Undo'))
  await page.getByText('Undoing').first().waitFor()
  await page.getByText(`${all} behind`).first().waitFor({ timeout: 240_000 })
  await until(
    'the undo has ended',
    async () => {
      const { last_operation: last } = await patchNow()
      return last?.kind === 'sharedPatchUndo' && last.status === 'done'
    },
    240_000,
  )
  expect(await Promise.all(members().map(has))).toEqual(members().map(() => false))
  await shot(page, 'shared-undone')
  // The patch that refused has changed nothing, so it does not come back.
  expect((await patchNow()).body).toBe(vlan('{{link}}'))
  expect(done).toEqual({ clicks: 16, keys: 28 })
})

test('a finding leads to the roll-out of the patch that a server lacks', async () => {
  await until(
    'the finding',
    async () =>
      (await installation.call(findingList, { query: { kind: 'server_shared_patches_behind' } }))
        .total > 0,
    120_000,
  )
  await page.goto(`/infra/servers/${members()[1]!}`)
  const finding = page.getByRole('region', { name: /^Finding about / })
  await finding.getByRole('button', { name: 'Roll out', exact: true }).click()
  await dialog().waitFor()
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
})

test('by keyboard alone a patch is edited; who saved it meanwhile is said, and the draft stays', async () => {
  const { enter, tabTo, key: press, type: write } = keysOf(page)
  const before = await patchNow()
  await enter(link('Edit').first())
  const weight = page.getByRole('textbox', { name: 'Weight' })
  await tabTo(weight)
  await press('Control+a')
  await write('610')
  await tabTo(page.getByRole('checkbox', { name: 'Workers' }))
  await press('Space')
  await enter(button('Preview'), 'Shift+Tab')
  await changes().waitFor()
  await installation.call(sharedPatchUpdate, {
    params: { id: before.id },
    body: { weight: 620 },
  })
  await enter(button('Save'))
  await page.getByText(`${admin.email} changed this patch since you opened it.`).waitFor()
  await shot(page, 'shared-conflict')
  await expectAccessible(page, 'a shared patch that somebody else has saved')
  expect(await weight.inputValue()).toBe('610')
  expect(await patchNow()).toMatchObject({ weight: 620, targets: { roles: [] } })
  await enter(button('Overwrite with my version'))
  await page.getByRole('heading', { level: 1, name: 'vlan-storage', exact: true }).waitFor()
  expect(await patchNow()).toMatchObject({ weight: 610, targets: { roles: ['worker'] } })
})

test('a patch that no server has is deleted', async () => {
  await page.goto(`/infra/patches/${(await patchNow()).id}`)
  await button('More actions').click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'No shared patches yet' }).waitFor()
  await expectAccessible(page, 'no shared patches')
  await shot(page, 'shared-none')
})
