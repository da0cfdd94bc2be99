/** A cluster is saved as a template, which is shown, used for another cluster and deleted. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, clusterList } from '#contract/clusters/clusters.ts'
import { subnetCreate } from '#contract/network/subnets.ts'
import { serverList } from '#contract/servers/servers.ts'
import { templateCreate, templateList, templateRemove } from '#contract/templates/templates.ts'
import { closePages, expectAccessible, inOneStory, launch, open, shot, signIn } from '../browser.ts'
import { type Installation, startInstallation, untilReady } from '../installation.ts'
import { looks } from '../testing/looks.ts'
import { makeCluster } from '../testing/small-cluster.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let cluster: Cluster

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ speed: 20 }), launch()])
  ;({ cluster } = await makeCluster(installation, 'shop-01'))
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page)
  await untilReady(installation, cluster.id)
}, 240_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const row = () => page.getByRole('row').filter({ hasText: 'shop' })

/** Checks and pictures of what is shown, narrow and wide. */
async function looked(name: string): Promise<void> {
  for (const [width, theme] of looks) {
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
    await shot(page, `${name}-${width}-${theme}`)
    await expectAccessible(page, `${name} at ${width}, ${theme}`)
  }
}

test('the list without templates says how one is made', async () => {
  await page.goto('/infra/clusters')
  await page.getByRole('button', { name: 'Actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Templates' }).click()
  await page.getByText('No templates yet').waitFor()
  await looked('templates-empty')
})

test('a cluster is saved as a template, and the dialog says what it holds and what is left out', async () => {
  await page.goto(`/infra/clusters/${cluster.id}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Save as template' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save shop-01 as a template' })
  await dialog.getByText('1 + 1, control planes + workers').waitFor()
  await dialog.getByText('Secrets, servers and addresses: a template holds none.').waitFor()
  await looked('template-save')
  const name = dialog.getByRole('textbox', { name: 'Name' })
  await name.fill('Not A Name')
  await dialog.getByRole('button', { name: 'Save template' }).click()
  await expect.poll(() => name.getAttribute('aria-invalid')).toBe('true')
  await name.fill('shop')
  await dialog.getByRole('button', { name: 'Save template' }).click()
  await page.waitForURL('**/infra/templates')
  await row().first().waitFor()
  const { items } = await installation.call(templateList, { query: {} })
  expect(items).toMatchObject([
    { name: 'shop', control_planes: { count: 1 }, workers: { count: 1 } },
  ])
})

test('a second template of the same name is refused at its field', async () => {
  await page.goto(`/infra/clusters/${cluster.id}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Save as template' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save shop-01 as a template' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('shop')
  await dialog.getByRole('button', { name: 'Save template' }).click()
  await dialog.getByText('Template name already exists').first().waitFor()
  await page.keyboard.press('Escape')
  expect((await installation.call(templateList, { query: {} })).total).toBe(1)
})

test('a template fills the form of a new cluster, whose server is chosen with its reasons', async () => {
  const { call } = installation
  const free = (await call(serverList, { query: {} })).items.find(
    (s) => s.cluster === null && s.eligibility.every(({ ok }) => ok),
  )!
  const { id } = await call(templateCreate, {
    body: {
      name: 'edge',
      talos_version: free.talos.version!,
      control_planes: { count: 1 },
      labels: { shop: 'edge' },
      maintenance_window: { days: ['sat'], from: '02:30', minutes: 240, time_zone: 'UTC' },
      extensions: ['siderolabs/gvisor'],
      subnets: [{ addresses: 10 }],
      snapshots: { store: 'gone', every_hours: 6 },
    },
  })
  const subnet = await call(subnetCreate, {
    body: { name: 'edge-net', cidr: '203.0.113.0/28', datacenter_id: free.datacenter!.id },
  })
  await page.goto('/infra/templates')
  await page.getByRole('button', { name: 'Actions for edge' }).click()
  await page.getByRole('menuitem', { name: 'Use this template' }).click()
  await page.getByText('From the template edge').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('edge-01')
  await page.getByRole('combobox', { name: 'Datacenter' }).selectOption(free.datacenter!.id)
  await page.getByText('Subnets: edge-net (203.0.113.0/28)').waitFor()
  await page.getByText(/^The store gone is gone\./).waitFor()
  await looked('template-fills')
  await page.getByRole('button', { name: 'Choose servers' }).click()
  const reasons = page.getByRole('list', { name: 'Reasons of the choice' })
  await reasons.waitFor()
  const controlPlanes = page.getByRole('group', { name: 'Control planes' })
  await controlPlanes.getByRole('textbox', { name: 'Cores' }).fill('1')
  await page.getByRole('button', { name: 'Choose again' }).click()
  await reasons.getByText(/^\d+ cores, at least 1; .+; Talos on \/dev\/\S+: .+/).waitFor()
  expect(await reasons.getByRole('listitem').count()).toBe(1)
  await looked('template-used')
  await page.getByRole('button', { name: 'Review 1 server' }).click()
  await page.getByText(/^The store gone is gone\./).waitFor()
  await page.getByRole('checkbox', { name: /^Snapshots every 6 hours/ }).click()
  await page.getByText('Add edge-net to the load balancer').waitFor()
  await looked('template-review')
  await page.getByRole('button', { name: 'Create cluster' }).click()
  await page.getByRole('button', { name: 'Proceed' }).click()
  await page.waitForURL(/\/infra\/clusters\/[0-9a-f-]{36}/)
  const [made] = (await call(clusterList, { query: { q: 'edge-01' } })).items
  expect(made).toMatchObject({
    labels: { shop: 'edge' },
    maintenance_window: { from: '02:30' },
    subnets: [{ id: subnet.id, name: 'edge-net' }],
  })
  await call(templateRemove, { params: { id } })
})

test('a template is shown as YAML, with the command that creates clusters, and is deleted', async () => {
  await page.goto('/infra/templates')
  await row().first().click()
  const yaml = page.getByRole('region', { name: 'YAML of shop' })
  await yaml.getByText('kind: template').waitFor()
  await page.getByText('steelyard cluster create NAME --template shop --datacenter CODE').waitFor()
  expect(await yaml.locator('pre').textContent()).toMatch(/^kind: template\nname: shop\n/)
  await looked('template-open')
  await page.getByRole('button', { name: 'Actions for shop' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No templates yet').waitFor()
  expect((await installation.call(templateList, { query: {} })).total).toBe(0)
})
