/**
 * Acts on many servers in the browser: the plan with a result per server, what begins, and those
 * that failed tried again.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { ccCreate, ccList } from '#contract/marketplace/ccs.ts'
import { onlyInCluster, serverCommands, serverGet } from '#contract/servers/servers.ts'
import { versionList } from '#contract/versions.ts'
import { closePages, expectAccessible, inOneStory, launch, open, shot, signIn } from '../browser.ts'
import { type Installation, startInstallation, untilReady } from '../installation.ts'
import { makeCluster } from '../testing/small-cluster.ts'
import { looks } from '../testing/looks.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let cluster: Cluster
let controlPlane: Cluster['servers'][number]
let worker: Cluster['servers'][number]
/** Name of a server without a cluster. */
let spare: string

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ speed: 20 }), launch()])
  ;({ page, errors } = await open(browser, installation.url))
  const made = await makeCluster(installation, 'poz-bulk-01')
  spare = made.spare.name
  await signIn(page)
  await untilReady(installation, made.cluster.id)
  cluster = await installation.call(clusterGet, { params: { id: made.cluster.id } })
  controlPlane = cluster.servers.find((m) => m.role === 'control_plane')!
  worker = cluster.servers.find((m) => m.role === 'worker')!
}, 180_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const bar = () => page.getByRole('region', { name: 'Selection' })
const dialog = (title: string) => page.getByRole('dialog', { name: title })
const plan = (title: string) =>
  dialog(title).getByRole('list', { name: 'Plan' }).getByRole('listitem')
const steps = (title: string | RegExp) =>
  page.getByRole('list', { name: title }).getByRole('listitem')
/** Opens the list and selects servers in it. */
async function select(names: readonly string[], query = ''): Promise<void> {
  await page.goto(`/infra/servers${query}`)
  for (const name of names)
    await page
      .getByRole('table', { name: 'Servers' })
      .getByRole('checkbox', { name: `Select ${name}` })
      .check({ force: true })
}
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
/** Checks and pictures of what is shown, narrow and wide. */
async function look(what: string): Promise<void> {
  for (const [width, theme] of looks) {
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
    await expectAccessible(page, `${what} at ${width} px, ${theme}`)
    await shot(page, `${what.replaceAll(' ', '-')}-${width}-${theme}`)
  }
}

test(
  'three servers are rebooted: the plan shows a refusal, the operation the result of each server, and the failed one is tried again',
  { timeout: 400_000 },
  async () => {
    // Slow enough that a restart is seen: one that no query saw counts as over after a minute.
    await installation.hurry(8)
    await select([controlPlane.name, worker.name, spare])
    await bar().getByRole('button', { name: 'Reboot', exact: true }).click()
    const title = 'Reboot: 2 servers'
    await expect.poll(() => plan(title).count()).toBe(3)
    await plan(title).filter({ hasText: spare }).getByText(onlyInCluster).waitFor()
    await dialog(title).getByText('1 of 3 servers can’t take part, and stays as it is.').waitFor()
    await dialog(title).getByText(`${cluster.name} has one control plane`).waitFor()
    await look('plan of a reboot')
    // Somebody else reboots the worker after the plan, so its turn is refused.
    await installation.call(serverCommands.serverReboot, { params: { id: worker.node_id } })
    await dialog(title).getByRole('button', { name: 'Reboot' }).click()
    await page.waitForURL(/\/operations\//)
    await expect.poll(() => steps(/reboot of 2 servers/).count()).toBe(2)
    await page
      .getByRole('heading', { name: /reboot of 2 servers/ })
      .first()
      .waitFor()
    await page.getByText(/step \d of 2, /).waitFor()
    await page
      .getByText(/1 of 2 servers was not rebooted/)
      .first()
      .waitFor({ timeout: 150_000 })
    await steps(/reboot of 2 servers/)
      .getByRole('link', { name: worker.name })
      .waitFor()
    await look('act on many of which one failed')
    await expect
      .poll(
        async () =>
          (await installation.call(serverGet, { params: { id: worker.node_id } })).operation_id,
        { timeout: 150_000 },
      )
      .toBeNull()
    await page.getByRole('button', { name: 'Try the failed again' }).click()
    const again = `Reboot: ${worker.name}`
    await expect.poll(() => plan(again).count()).toBe(1)
    await dialog(again).getByRole('button', { name: 'Reboot' }).click()
    await page
      .getByRole('heading', { name: /reboot of 1 server/ })
      .first()
      .waitFor()
    await page.getByText(/^done in/).waitFor({ timeout: 150_000 })
    expect(await page.getByRole('button', { name: 'Try the failed again' }).count()).toBe(0)
    await installation.hurry(20)
  },
)

test('all servers that match are chosen over the pages of the list', async () => {
  await select([], '?size=5')
  await page
    .getByRole('checkbox', { name: /^Select / })
    .nth(1)
    .check({ force: true })
  await bar().getByRole('button', { name: 'Select all 12' }).click()
  await bar().getByText('12 selected').waitFor()
  await bar().getByRole('button', { name: 'More for the selection' }).click()
  await page.getByRole('menuitem', { name: 'Restart kubelet' }).click()
  const title = 'Restart kubelet: 2 servers'
  await expect.poll(() => plan(title).count()).toBe(12)
  await dialog(title).getByText('10 of 12 servers can’t take part, and stay as they are.').waitFor()
  await dialog(title).getByRole('button', { name: 'Cancel' }).click()
})

test('an upgrade asks for the version, and refuses a cluster of which a server is not chosen', async () => {
  await select([controlPlane.name, spare])
  await bar().getByRole('button', { name: 'More for the selection' }).click()
  await page.getByRole('menuitem', { name: 'Upgrade Talos' }).click()
  const { items } = await installation.call(versionList, { query: {} })
  const runs = cluster.talos_version
  const minor = runs.slice(0, runs.lastIndexOf('.'))
  const other = items.find(
    ({ talos_version: v }) => v.startsWith(`${minor}.`) && v !== runs,
  )!.talos_version
  await dialog('Upgrade Talos').getByLabel('Talos version').selectOption(other)
  const title = 'Upgrade Talos'
  await plan(title).filter({ hasText: spare }).getByText('It is in no cluster').waitFor()
  await plan(title)
    .filter({ hasText: controlPlane.name })
    .getByText(`choose ${worker.name} as well`)
    .waitFor()
  await look('plan of an upgrade')
  await dialog(title).getByRole('button', { name: 'Cancel' }).click()
})

test('capacity is committed with the same terms: the plan shows them, a refused server is named, and the terms can be changed', async () => {
  const [first, second] = [controlPlane.name, worker.name]
  await installation.call(ccCreate, {
    body: {
      node_id: controlPlane.node_id,
      price: { amount: '9', currency: 'EUR', basis: 'server' },
      expires_at: inDays(60),
    },
  })
  await select([first, second, spare])
  await bar().getByRole('button', { name: 'More for the selection' }).click()
  await page.getByRole('menuitem', { name: 'Commit' }).click()
  const terms = dialog('Commit capacity')
  await look('terms of a commitment of many')
  await terms.getByRole('button', { name: 'Show the plan' }).click()
  await plan(`Commit capacity: ${first}`)
    .filter({ hasText: spare })
    .getByText('Enter a price before you commit the capacity')
    .waitFor()
  await dialog(`Commit capacity: ${first}`)
    .getByRole('button', { name: 'Change the terms' })
    .click()
  await terms.getByLabel('Price').fill('1.25')
  await terms.getByLabel('Currency').fill('eur')
  await terms.getByLabel('End').fill(inDays(30).slice(0, 16))
  await terms.getByRole('button', { name: 'Show the plan' }).click()
  const title = 'Commit capacity: 3 servers'
  await plan(title)
    .filter({ hasText: first })
    .getByText(/1\.25 EUR.*by its draft/)
    .waitFor()
  await look('plan of a commitment of many')
  await dialog(title).getByRole('button', { name: 'Commit capacity' }).click()
  await page.waitForURL(/\/operations\//)
  await page.getByText(/^done in/).waitFor()
  await look('commitment of many')
  const { items } = await installation.call(ccList, { query: {} })
  const committed = items.filter((c) => [first, second, spare].includes(c.server.name))
  expect(committed.map((c) => [c.status, c.price?.amount])).toEqual(
    committed.map(() => ['waiting_delegation', '1.25']),
  )
  expect(committed).toHaveLength(3)
})

test('the plan of a reset names the disk that is wiped', async () => {
  await select([worker.name])
  await bar().getByRole('button', { name: 'Reset', exact: true }).click()
  await plan(`Reset to maintenance: ${worker.name}`).getByText(worker.install_disk!).waitFor()
  await look('plan of a reset')
})
