/**
 * A subnet from end to end: added, refused if it overlaps, assigned to a cluster, inspected, and
 * unassigned.
 */
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, clusterCreate } from '#contract/clusters/clusters.ts'
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { type Subnet, subnetCreate, subnetList, subnetUpdate } from '#contract/network/subnets.ts'
import { userCreate } from '#contract/users.ts'
import { closePages, inOneStory, launch, open, signIn } from '../browser.ts'
import { subnetsPage } from '../testing/subnets-page.ts'
import { type Installation, startInstallation, until, untilReady } from '../installation.ts'

let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]
let cluster: Cluster
let site: { id: string; code: string }
let elsewhere: { id: string; code: string }

const own = {
  name: 'poz-public-b',
  cidr: '198.18.7.0/26',
  gateway: '198.18.7.1',
  exclude: ['198.18.7.2-198.18.7.9', '198.18.7.20'],
}

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ speed: 20 }), launch()])
  ;({ context, page, errors } = await open(browser, installation.url))
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { items } = await installation.call(serverList, { query: {} })
  const free = (s: Server) => s.eligibility.every((e) => e.ok)
  const sites = (await installation.call(datacenterList, { query: {} })).items
  site = sites.find((d) => d.code === 'PL-POZ-1')!
  elsewhere = sites.find((d) => d.code !== 'PL-POZ-1')!
  const made = (name: string, place: { id: string }, count: number) => {
    const servers = items.filter((s) => s.datacenter?.id === place.id && free(s)).slice(0, count)
    const talos_version = servers[0]!.talos.version!
    const roles = servers.map((s, i) => ({
      node_id: s.id,
      role: i === 0 ? ('control_plane' as const) : ('worker' as const),
    }))
    const body = { name, datacenter_id: place.id, talos_version, servers: roles }
    return installation.call(clusterCreate, { body })
  }
  ;({ cluster } = await made('poz-render-01', site, 2))
  await Promise.all([made('fra-core-01', elsewhere, 1), signIn(page)])
  await untilReady(installation, cluster.id)
}, 180_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const { list, row, map, notice, act, press } = subnetsPage(() => page)
const subnetNamed = async (name: string): Promise<Subnet | undefined> =>
  (await installation.call(subnetList, { query: {} })).items.find((s) => s.name === name)

describe('the life of a subnet', () => {
  test('the empty list links to the form', async () => {
    await page.goto('/')
    await page
      .getByRole('navigation', { name: 'Sections' })
      .getByRole('link', { name: 'Network' })
      .click()
    await page.getByRole('heading', { name: 'No subnets yet' }).waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Add subnet' }).last().click()
    await page.waitForURL('**/infra/network/add-subnet')
  })

  test('the form shows errors at their fields, and one click applies a suggested correction', async () => {
    await page
      .getByRole('combobox', { name: 'Datacenter' })
      .selectOption({ label: `${site.code}  Poznań` })
    await page.getByLabel('CIDR').fill('198.18.7.5/26')
    await page.getByLabel('Gateway').fill('198.18.7.63')
    await page
      .getByText('198.18.7.5/26 is not a network address. Did you mean 198.18.7.0/26?')
      .waitFor()
    await press('Use 198.18.7.0/26')
    expect(await page.getByLabel('CIDR').inputValue()).toBe('198.18.7.0/26')
    await press('Add subnet')
    await page.getByText('Gateway cannot be the network or broadcast address').waitFor()
    await page.getByText('Subnet name must be at least 1 character').waitFor()
    await page.locator('input[name="name"]:focus').waitFor()
  })

  test('the form previews a /26 with exclusions before the subnet is added', async () => {
    await page.getByLabel('Name', { exact: true }).fill(own.name)
    await page.getByLabel('Gateway').fill(own.gateway)
    await page.getByLabel('VLAN ID').fill('214')
    await page.getByLabel('Exclude IPs').fill('198.18.7.2 - 198.18.7.8, 198.18.7.9\n198.18.7.20')
    const space = page.getByRole('complementary', { name: 'The space' })
    await space.getByText('52', { exact: true }).first().waitFor()
    expect(
      await space.getByRole('list', { name: 'Pieces' }).getByRole('listitem').allInnerTexts(),
    ).toEqual(['198.18.7.10–198.18.7.19', '198.18.7.21–198.18.7.62'])
    expect(await space.getByRole('gridcell', { name: '198.18.7.20, excluded' }).count()).toBe(1)
    await press('Add subnet')
    await notice(`${own.name} was added`).waitFor()
    await map().waitFor()
    expect(await subnetNamed(own.name)).toMatchObject({
      cidr: own.cidr,
      gateway: own.gateway,
      vlan_id: 214,
      exclude: own.exclude,
      total: 52,
      status: 'unassigned',
    })
  })

  test('an overlap is refused with a link to the other subnet', async () => {
    await page.goto(`/infra/network/add-subnet?datacenter=${site.code}`)
    await page.getByLabel('Name', { exact: true }).fill('poz-too-much')
    await page.getByLabel('CIDR').fill('198.18.7.32/27')
    await press('Add subnet')
    await page.getByText(`Overlaps with subnet ${own.name} (${own.cidr}) in ${site.code}`).waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('poz-too-much')
    await page.getByRole('link', { name: `Show subnet ${own.name}` }).click()
    // Leaving the form asks for confirmation before the entered values are lost.
    await page
      .getByRole('dialog', { name: 'Leave without saving?' })
      .getByRole('button', { name: 'Leave' })
      .click()
    await map().waitFor()
    expect(await list().getByRole('row').count()).toBeGreaterThan(1)
    expect(await subnetNamed('poz-too-much')).toBe(undefined)
  })

  test('the draft of a new subnet is restored, and can be discarded', async () => {
    await page.goto('/infra/network/add-subnet')
    await page.getByText(/^A draft from .* was restored/).waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('poz-too-much')
    await press('Discard the draft')
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('')
  })

  test('the review of an assignment says if the subnets cannot be read, and a retry reads them', async () => {
    const { id } = (await subnetNamed(own.name))!
    await page.route(/\/v1\/.*subnets\?.*datacenter=/, (route) => route.fulfill({ status: 500 }))
    await page.goto(`/infra/network/assign-subnets?cluster=${cluster.id}&subnets=${id}&step=review`)
    await page.getByText('gave no reason (status 500)').waitFor({ timeout: 30_000 })
    expect(await page.getByRole('button', { name: 'Review', exact: true }).count()).toBe(0)
    await page.unrouteAll({ behavior: 'wait' })
    // The browser logs each failed request.
    errors.splice(0)
    await press('Try again')
    await page
      .getByRole('group', { name: 'Manifest before and after' })
      .getByText('CiliumLoadBalancerIPPool')
      .waitFor()
  })

  test('assigning offers clusters of the same datacenter, shows what changes, and ends with Active', async () => {
    await page.goto('/infra/network')
    await act(own.name, 'Assign to a cluster')
    const clusters = page.getByRole('radiogroup', { name: 'Cluster' })
    await clusters
      .getByText(`${own.name} is in ${site.code}; cluster fra-core-01 is in ${elsewhere.code}`)
      .waitFor()
    expect(await clusters.getByRole('radio', { name: /fra-core-01/ }).isDisabled()).toBe(true)
    await clusters.getByRole('radio', { name: /poz-render-01/ }).check()
    await press('Choose subnets')
    await page
      .getByRole('listbox', { name: 'Of poz-render-01' })
      .getByRole('option', { name: new RegExp(own.name) })
      .waitFor()
    await press('Review')
    const manifest = page.getByRole('group', { name: 'Manifest before and after' })
    await manifest.getByText('CiliumLoadBalancerIPPool').waitFor()
    // Exactly the addresses that may be assigned.
    expect((await manifest.innerText()).match(/198\.18\.7\.\d+/g)).toEqual([
      '198.18.7.10',
      '198.18.7.19',
      '198.18.7.21',
      '198.18.7.62',
    ])
    await press('Assign 1 subnet')
    await page
      .getByText('Done: the subnets of poz-render-01 are changed as requested.')
      .waitFor({ timeout: 60_000 })
    await page
      .getByRole('list', { name: 'Subnets of poz-render-01' })
      .getByRole('listitem')
      .filter({ hasText: own.name })
      .getByText('Active')
      .waitFor()
    await page.getByRole('link', { name: 'Back to Network' }).click()
    await row(own.name).getByText('Active').waitFor()
    await row(own.name).getByRole('link', { name: 'poz-render-01' }).waitFor()
  })

  test('the map shows what uses an address, and copies the address, by mouse and by keyboard', async () => {
    await until(
      'Services have addresses',
      async () => ((await subnetNamed(own.name))?.used ?? 0) > 0,
    )
    await page.goto('/infra/network')
    await press(`Details of ${own.name}`)
    const used = map().getByRole('gridcell', { name: /, in use$/ })
    await used.first().waitFor()
    const address = (await used.first().getAttribute('aria-label'))!.split(',')[0]!
    await page.getByLabel('Go to address').fill('198.18.8.1')
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await page.getByText(`198.18.8.1 is outside ${own.cidr}`).waitFor()
    await page.getByLabel('Go to address').fill(address)
    await page.keyboard.press('Enter')
    const card = page.getByRole('group', { name: `About ${address}` })
    await card.getByText('Service', { exact: true }).waitFor()
    await card.getByRole('link', { name: 'poz-render-01' }).waitFor()
    await page.locator('[role="grid"]:focus').waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toBe(address)
    await page.keyboard.press('Home')
    await page
      .getByRole('group', { name: 'About 198.18.7.0', exact: true })
      .getByText('Network address')
      .waitFor()
    // The table of ranges shows the same states.
    const ranges = page.getByRole('region', { name: 'Ranges' })
    await ranges.getByRole('row', { name: /\.2–\.9 Excluded/ }).waitFor()
    await ranges
      .getByRole('row', { name: /In use \S+\/\S+/ })
      .first()
      .waitFor()
    expect(new URL(page.url()).searchParams.get('open')).toBe((await subnetNamed(own.name))!.id)
  })

  test('searching for an address opens the map of its subnet at that address', async () => {
    await page.goto('/infra/network')
    await page.getByRole('searchbox', { name: 'Search subnets' }).fill('198.18.7.33')
    await page.getByRole('group', { name: 'About 198.18.7.33' }).waitFor()
    await page.getByRole('searchbox', { name: 'Search subnets' }).fill('198.18.99.1')
    await page.getByText('No subnet matches these filters.').waitFor()
    await press('Reset filters')
    await row(own.name).waitFor()
  })

  test("an assigned subnet can't be removed or resized, and shows the reason", async () => {
    const { used } = (await subnetNamed(own.name))!
    await page.getByRole('button', { name: `Actions for ${own.name}` }).click()
    const remove = page.getByRole('menuitem', { name: /^Remove/ })
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    expect(await remove.innerText()).toContain(
      `${used} addresses in use by cluster poz-render-01. Unassign the subnet first`,
    )
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await page
      .getByText('This subnet is assigned to poz-render-01. Unassign it before changing the CIDR')
      .waitFor()
    expect(await page.getByLabel('CIDR').isEditable()).toBe(false)
  })

  test('the cluster shows its subnets and the manifest', async () => {
    await page.goto(`/infra/clusters/${cluster.id}?tab=addresses`)
    const has = page.getByRole('table', { name: 'Subnets of poz-render-01' })
    await has.getByRole('row', { name: new RegExp(own.name) }).waitFor()
    await page.getByLabel('Manifest', { exact: true }).getByText('198.18.7.62').waitFor()
    await page.getByRole('link', { name: 'Show in Network' }).click()
    await row(own.name).waitFor()
    expect(new URL(page.url()).search).toBe('?cluster=poz-render-01')
  })

  test('unassigning drains the subnet: Services keep their addresses unless the user types the name of the cluster to remove them at once', async () => {
    await act(own.name, 'Unassign from poz-render-01')
    const losing = page.getByRole('list', { name: 'Services with these addresses' })
    await losing.getByRole('listitem').first().waitFor()
    await press('Unassign 1 subnet')
    await expect.poll(async () => (await subnetNamed(own.name))?.status).toBe('draining')
    await page
      .getByRole('list', { name: 'Subnets of poz-render-01' })
      .getByText('Draining')
      .waitFor()
    await page.getByRole('link', { name: 'Back to Network' }).click()
    await row(own.name).getByText('Draining').waitFor()
    await act(own.name, 'Unassign from poz-render-01 at once')
    await press('Unassign 1 subnet')
    const question = page.getByRole('dialog', {
      name: 'Unassign 1 subnet from poz-render-01 without waiting?',
    })
    expect(
      await question
        .getByRole('button', { name: 'Unassign at once' })
        .getAttribute('aria-disabled'),
    ).toBe('true')
    await question.getByLabel(/to confirm/).fill('poz-render-01')
    // The cluster changes after the page has read its version, so the page reads it again and
    // repeats the request.
    const answers: number[] = []
    await page.route(`**/v1/clusters/${cluster.id}/subnets`, async (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      if (answers.length === 0)
        await installation.call(clusterWindowSet, {
          params: { id: cluster.id },
          body: {
            window: { days: ['sat'], from: '02:00', minutes: 60, time_zone: 'Europe/Warsaw' },
          },
        })
      const response = await route.fetch()
      answers.push(response.status())
      await route.fulfill({ response })
    })
    await question.getByRole('button', { name: 'Unassign at once' }).click()
    await page
      .getByText('Done: the subnets of poz-render-01 are changed as requested.')
      .waitFor({ timeout: 60_000 })
    expect([answers[0], answers.at(-1)]).toEqual([412, 202])
    await page.goto('/infra/network')
    await row(own.name).getByText('Unassigned').waitFor()
  })

  test('an unassigned subnet can be removed', async () => {
    await act(own.name, 'Remove')
    await page
      .getByRole('dialog', { name: `Remove ${own.name}?` })
      .getByRole('button', { name: 'Remove' })
      .click()
    await page.getByRole('heading', { name: 'No subnets yet' }).waitFor()
  })
})

describe('many subnets', () => {
  test('a file is checked as a whole, corrected and imported, and importing an export changes nothing', async () => {
    await page.goto('/infra/network')
    await press('Import')
    const dialog = page.getByRole('dialog', { name: 'Import subnets' })
    const header = 'name,cidr,gateway,datacenter'
    await dialog
      .getByLabel('CSV', { exact: true })
      .fill(`${header}\nPoz A,198.18.0.1/24,,${site.code}\npoz-b,198.18.1.0/24,,XX-XXX-1`)
    await dialog.getByRole('button', { name: 'Check' }).click()
    await dialog
      .getByText('3 problems in 2 lines. Nothing was written: correct the text and check it again.')
      .waitFor()
    const problems = dialog.getByRole('group', { name: 'Problems' })
    await problems
      .getByRole('row', {
        name: '2 cidr 198.18.0.1/24 is not a network address. Did you mean 198.18.0.0/24?',
      })
      .waitFor()
    expect((await installation.call(subnetList, { query: {} })).total).toBe(0)

    const file = join(installation.data, 'subnets.csv')
    writeFileSync(
      file,
      `${header}\npoz-a,198.18.0.0/24,198.18.0.1,${site.code}\npoz-b,198.18.1.0/24,,${site.code}\nfra-a,10.9.0.0/16,,${elsewhere.code}\n`,
    )
    await dialog.getByLabel('CSV file').setInputFiles(file)
    await dialog.getByText('subnets.csv').waitFor()
    await dialog.getByRole('button', { name: 'Check' }).click()
    await dialog.getByText('Every row is valid: 3 subnets to add.').waitFor()
    await dialog.getByRole('button', { name: 'Import 3 subnets' }).click()
    await notice('3 subnets added').waitFor()
    await row('fra-a').waitFor()

    await press('More actions')
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export subnets' }).click(),
    ])
    const text = await readFile(await saved.path(), 'utf8')
    expect(text.trim().split('\n')).toHaveLength(4)
    await press('More actions')
    await page.getByRole('menuitem', { name: 'Import subnets' }).click()
    await dialog.getByLabel('CSV', { exact: true }).fill(text)
    await dialog.getByRole('button', { name: 'Check' }).click()
    await dialog.getByText('Every row is valid: 3 without a change.').waitFor()
    expect(
      await dialog
        .getByRole('button', { name: 'Import', exact: true })
        .getAttribute('aria-disabled'),
    ).toBe('true')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  test('the URL contains the filters', async () => {
    await press('Filters')
    await page.getByRole('dialog').getByLabel('Datacenter').selectOption(elsewhere.code)
    await page.keyboard.press('Escape')
    await expect
      .poll(() =>
        list()
          .getByRole('button', { name: /^Actions for / })
          .count(),
      )
      .toBe(1)
    expect(new URL(page.url()).search).toBe(`?datacenter=${elsewhere.code}`)
    await page.reload()
    await row('fra-a').waitFor()
    await press('Remove filter Datacenter')
    await row('poz-a').waitFor()
  })

  test('a /16 is shown as blocks, which expand and collapse', async () => {
    await press('Details of fra-a')
    await expect.poll(() => map().getByRole('gridcell').count()).toBe(1024)
    await page.getByLabel('Go to address').fill('10.9.200.77')
    await page.keyboard.press('Enter')
    await page.getByRole('group', { name: 'About 10.9.200.77' }).waitFor()
    await expect.poll(() => map().getByRole('gridcell').count()).toBe(64)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await expect.poll(() => map().getByRole('gridcell').count()).toBe(1024)
    // The cursor is on the block that was open.
    await page.getByRole('group', { name: 'About 10.9.200.64/26' }).waitFor()
  })

  test('subnets can be moved between the two lists by keyboard alone', async () => {
    await page.goto(`/infra/network/assign-subnets?cluster=${cluster.id}&step=subnets`)
    const there = page.getByRole('listbox', { name: `In ${site.code}` })
    await there.focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await expect.poll(() => there.getByRole('option', { selected: true }).count()).toBe(2)
    await page.keyboard.press('Enter')
    const has = page.getByRole('listbox', { name: 'Of poz-render-01' })
    await expect.poll(() => has.getByRole('option').count()).toBe(2)
    await page.getByText('2 subnets to add').waitFor()
    await page.reload()
    await expect.poll(() => has.getByRole('option').count()).toBe(2)
    await has.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => has.getByRole('option').count()).toBe(1)
  })

  test('a change made by somebody else in the meantime is shown, and both changes can be kept', async () => {
    const before = (await subnetNamed('poz-a'))!
    await page.goto(`/infra/network/${before.id}/edit`)
    await page.getByLabel('VLAN ID').fill('77')
    await installation.call(subnetUpdate, {
      params: { id: before.id },
      body: { name: 'poz-theirs' },
    })
    const save = page.getByRole('button', { name: 'Save subnet' })
    await save.click()
    const theirs = page.getByRole('row', { name: 'Name poz-a poz-theirs poz-a' })
    await theirs.waitFor()
    await press('Apply my changes to the new version')
    await expect
      .poll(() => page.getByLabel('Name', { exact: true }).inputValue())
      .toBe('poz-theirs')
    expect(await page.getByLabel('VLAN ID').inputValue()).toBe('77')
    await save.click()
    await notice('poz-theirs was changed').waitFor()
    expect(await subnetNamed('poz-theirs')).toMatchObject({ vlan_id: 77 })
  })

  test('removing several subnets at once shows a result for each', async () => {
    await installation.call(subnetCreate, {
      body: { name: 'poz-c', cidr: '198.18.2.0/24', datacenter_id: site.id },
    })
    await page.goto('/infra/network')
    await row('poz-c').waitFor()
    await page.getByLabel('Select all on this page').check({ force: true })
    await page
      .getByRole('region', { name: 'Selection' })
      .getByRole('button', { name: 'Remove' })
      .click()
    await page
      .getByRole('dialog', { name: 'Remove 4 subnets?' })
      .getByRole('button', { name: 'Remove' })
      .click()
    const told = page.getByRole('dialog', { name: 'Removing subnets' })
    await expect
      .poll(() => told.getByRole('listitem').filter({ hasText: 'Removed' }).count())
      .toBe(4)
    await told.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('heading', { name: 'No subnets yet' }).waitFor()
  })

  test('a viewer sees the list of subnets, and why nothing can be changed', async () => {
    await installation.call(subnetCreate, {
      body: { name: 'poz-seen', cidr: '198.18.3.0/24', datacenter_id: site.id },
    })
    const viewer = { email: 'viewer@network.demo', password: 'only looking at networks' }
    await installation.call(userCreate, { body: { ...viewer, name: 'Viewer', role: 'viewer' } })
    const other = await open(browser, installation.url)
    await signIn(other.page, viewer)
    await other.page.goto('/infra/network')
    await other.page.getByRole('button', { name: 'Details of poz-seen' }).waitFor()
    await other.page.locator('[aria-disabled=true]').getByText('Add subnet').waitFor()
    await other.page.getByRole('button', { name: 'More actions' }).click()
    const assign = other.page.getByRole('menuitem', { name: /^Assign subnets/ })
    expect(await assign.getAttribute('aria-disabled')).toBe('true')
    await other.context.close()
    expect(other.errors).toEqual([])
  })
})
