/**
 * What is done with a running cluster in the console: a server is added with form and plan, a
 * subnet is assigned, and an act on many servers is planned. At last a server fails: why the cluster
 * is not well is read, and acknowledged. In the full run a change waits for the window, the subnet is
 * taken back, the cluster is saved as a template, its servers get a shared patch, one is reset, and
 * the history tells what happened. `long/` has whole journeys through subnets, templates, shared
 * patches and acts on many servers.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { incidentList } from '#contract/incidents/incidents.ts'
import { historyList } from '#contract/history/history.ts'
import { operationList } from '#contract/operations.ts'
import { patchCreate, patchUpdate } from '#contract/patches.ts'
import { type Server, serverConfig, serverGet, serverUpdate } from '#contract/servers/servers.ts'
import { sharedPatchList } from '#contract/shared-patches/shared-patches.ts'
import { templateList } from '#contract/templates/templates.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, expectAccessible, inOneStory, launch, open, signIn, write } from './browser.ts'
import { admin, type Installation, startInstallation, until, untilReady } from './installation.ts'
import { keysOf } from './keys.ts'
import { ofJourneys } from './screens/frequent.ts'
import { lookAtEach, named, pathsOf } from './screens/look.ts'
import { subnetsOfCluster } from './testing/subnets-journey.ts'
import { makeCluster } from './testing/small-cluster.ts'
import { walkAsNewViewer } from './testing/viewer-walk.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let cluster: Cluster
let free: Server

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ speed: 20 }), launch()])
  ;({ page, errors } = await open(browser, installation.url))
  ;({ cluster, spare: free } = await makeCluster(installation, 'poz-changes-01'))
  await signIn(page)
  await untilReady(installation, cluster.id)
}, 180_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
const plan = () => page.getByRole('list', { name: 'What happens, in order' })
const health = () => page.getByRole('list', { name: `Health of ${cluster.name}` })
const changesOf = async () =>
  (await installation.call(operationList, { query: { target: cluster.id } })).items

describe('the changes of a cluster', () => {
  test('the page of the cluster shows its health line by line', async () => {
    await page.goto(`/infra/clusters/${cluster.id}?tab=overview`)
    await page.getByRole('button', { name: / OK: / }).click()
    await health().getByText('All 2 nodes are Ready.').waitFor()
    await health().getByText('The API server is ready.').waitFor()
    await page.getByRole('button', { name: /^etcd, control planes/ }).click()
    await page
      .getByRole('table', { name: `Members of etcd of ${cluster.name}`, exact: true })
      .getByText('Leader')
      .waitFor()
  })

  test(
    'a server is added: chosen in the form, planned, started, and followed on the page of the operation',
    { timeout: 120_000 },
    async () => {
      await press('Change')
      await page.getByRole('menuitem', { name: 'Add servers' }).click()
      await page
        .getByRole('region', { name: 'Free servers' })
        .getByRole('checkbox', { name: new RegExp(`^${free.name}`) })
        .check()
      await press('Show the plan')
      await plan().getByRole('link', { name: free.name }).waitFor()
      expect(
        (await installation.call(clusterGet, { params: { id: cluster.id } })).servers,
      ).toHaveLength(2)
      // Disks with content are confirmed one by one.
      for (const box of await page.getByRole('checkbox', { name: /^Wipe / }).all())
        await box.check()
      await page.getByRole('button', { name: 'Add servers', exact: true }).click()
      await page.waitForURL('**/operations/*')
      await page.getByText(/^done in/).waitFor({ timeout: 100_000 })
      await page.getByRole('link', { name: cluster.name }).first().click()
      await page
        .getByRole('table', { name: `Servers of ${cluster.name}`, exact: true })
        .getByRole('link', { name: free.name })
        .first()
        .waitFor()
    },
  )

  test('the frequent pages of a cluster are accessible, and fit the screen', () =>
    lookAtEach(page, ofJourneys.clusters, { ready: cluster }))

  longTest(
    'a viewer changes nothing on the pages of a cluster, and every disabled control says why',
    async () => {
      const paths = pathsOf(named(ofJourneys.clusters), { ready: cluster })
      const { disabled, ...wrong } = await walkAsNewViewer(browser, installation, paths)
      expect(wrong).toEqual({ silent: [], writes: [], errors: [] })
      expect(disabled).toBeGreaterThan(0)
    },
  )

  test('a plan is out of date as soon as the form changes', async () => {
    await page.goto(`/infra/clusters/${cluster.id}/change/shrink`)
    await page.getByRole('checkbox', { name: new RegExp(`^${free.name} worker`) }).check()
    await press('Show the plan')
    await plan().waitFor()
    await page.getByRole('checkbox', { name: new RegExp(`^${free.name} worker`) }).uncheck()
    await page
      .getByText('The form has changed since the plan was made. Show the plan again.')
      .waitFor()
  })

  longTest(
    'a change waits for the maintenance window, is listed on the page of the cluster, and is cancelled there',
    async () => {
      await page.goto(`/infra/clusters/${cluster.id}?tab=settings`)
      await press('Set a window')
      const editor = page.getByRole('dialog', { name: `Maintenance window of ${cluster.name}` })
      // A day that is neither today nor tomorrow.
      const day = new Date(Date.now() + 3 * 86_400_000).toLocaleDateString('en', {
        weekday: 'long',
      })
      for (const name of ['Saturday', 'Sunday'])
        await editor.getByRole('checkbox', { name }).uncheck()
      await editor.getByRole('checkbox', { name: day }).check()
      // Meanwhile the cluster gets another version, but not another window.
      await installation.call(clusterUpdate, {
        params: { id: cluster.id },
        body: { labels: { owner: 'night-shift' } },
      })
      await press('Save window')
      await page.getByText(/^Opens next/).waitFor()
      await page.goto(`/infra/clusters/${cluster.id}/change/defragment`)
      await plan().waitFor()
      await page.getByLabel('When').selectOption('window')
      await page.getByRole('button', { name: 'Schedule: Defragment etcd' }).click()
      await page.waitForURL('**/operations/*')
      await page.goto(`/infra/clusters/${cluster.id}?tab=overview`)
      await page.getByRole('heading', { name: 'Scheduled changes' }).waitFor()
      await press('Cancel')
      await press('Cancel operation')
      await until('the change is cancelled', async () =>
        (await changesOf()).some((o) => o.kind === 'clusterDefragment' && o.status === 'cancelled'),
      )
      await page.getByRole('heading', { name: 'Scheduled changes' }).waitFor({ state: 'detached' })
    },
  )

  longTest(
    'with the keyboard alone, ⌘K opens the form and Enter starts the change',
    { timeout: 60_000 },
    async () => {
      await page.goto(`/infra/clusters/${cluster.id}?tab=overview`)
      await health().waitFor()
      await page.keyboard.press('ControlOrMeta+k')
      await page
        .getByRole('dialog', { name: 'Search and commands' })
        .getByRole('combobox')
        .waitFor()
      await page.keyboard.type('Defragment')
      await page.getByRole('option', { name: /Defragment etcd/, selected: true }).waitFor()
      await page.keyboard.press('Enter')
      await plan().waitFor()
      await keysOf(page).enter(page.getByRole('button', { name: 'Defragment etcd', exact: true }))
      await page.waitForURL('**/operations/*')
      await page.getByText(/^done in/).waitFor({ timeout: 40_000 })
    },
  )
})

subnetsOfCluster(() => ({ installation, page, cluster }))

longTest('a cluster is saved as a template, which fills the form of a new cluster', async () => {
  await page.goto(`/infra/clusters/${cluster.id}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Save as template' }).click()
  const dialog = page.getByRole('dialog', { name: `Save ${cluster.name} as a template` })
  await dialog.getByText('1 + 2, control planes + workers').waitFor()
  await dialog.getByText('Secrets, servers and addresses: a template holds none.').waitFor()
  await expectAccessible(page, 'the dialog of a new template')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('shop')
  await dialog.getByRole('button', { name: 'Save template' }).click()
  await page.waitForURL('**/infra/templates')
  await page.getByRole('button', { name: 'Actions for shop' }).click()
  expect((await installation.call(templateList, { query: {} })).items).toMatchObject([
    { name: 'shop', control_planes: { count: 1 }, workers: { count: 2 } },
  ])
  await page.getByRole('menuitem', { name: 'Use this template' }).click()
  await page.getByText('From the template shop').waitFor()
  await expectAccessible(page, 'the form of a new cluster from a template')
})

describe('acts on many servers', () => {
  const bar = () => page.getByRole('region', { name: 'Selection' })
  const dialog = (title: string) => page.getByRole('dialog', { name: title })
  const planOf = (title: string) =>
    dialog(title).getByRole('list', { name: 'Plan' }).getByRole('listitem')

  test('the plan for all servers of a list says how many can take part', async () => {
    await page.goto('/infra/servers?size=5')
    await page
      .getByRole('checkbox', { name: /^Select / })
      .nth(1)
      .check({ force: true })
    await bar().getByRole('button', { name: 'Select all 12' }).click()
    await bar().getByText('12 selected').waitFor()
    await bar().getByRole('button', { name: 'More for the selection' }).click()
    await page.getByRole('menuitem', { name: 'Restart kubelet' }).click()
    const title = 'Restart kubelet: 3 servers'
    await expect.poll(() => planOf(title).count()).toBe(12)
    await dialog(title)
      .getByText('9 of 12 servers can’t take part, and stay as they are.')
      .waitFor()
    await dialog(title).getByRole('button', { name: 'Cancel' }).click()
  })

  longTest(
    'by keyboard alone a server is reset only after the number was typed, as it is now',
    async () => {
      const { key, type, focusedIn, tabTo, enter } = keysOf(page)
      const { servers } = await installation.call(clusterGet, { params: { id: cluster.id } })
      const worker = servers.find((s) => s.role === 'worker' && s.node_id !== free.id)!
      await page.goto('/infra/servers')
      await page.getByRole('checkbox', { name: `Select ${worker.name}` }).check({ force: true })
      await enter(bar().getByRole('button', { name: 'Reset', exact: true }))
      const title = `Reset to maintenance: ${worker.name}`
      const submit = dialog(title).getByRole('button', { name: 'Reset to maintenance' })
      await focusedIn(dialog(title))
      await planOf(title).getByText(worker.install_disk!).waitFor()
      await expectAccessible(page, 'the plan of a reset')
      await tabTo(dialog(title).getByRole('textbox', { name: 'Type the number of servers' }))
      await type('2')
      await expect.poll(() => submit.getAttribute('aria-disabled')).toBe('true')
      await key('Backspace')
      await type('1')
      await installation.call(serverUpdate, {
        params: { id: worker.node_id },
        body: { notes: 'Its fan hums' },
      })
      await enter(submit)
      await dialog(title)
        .getByRole('alert')
        .getByText(`${worker.name}: It has changed since it was planned`)
        .waitFor()
      await focusedIn(dialog(title))
      await enter(submit)
      await page.waitForURL(/\/operations\//)
      await page.getByText(/^done in/).waitFor()
      expect(await installation.call(serverGet, { params: { id: worker.node_id } })).toMatchObject({
        status: 'maintenance',
        cluster: null,
      })
    },
  )
})

longTest(
  'a shared patch is previewed by likeness, and rolled out to the servers of a cluster',
  async () => {
    await page.goto('/infra/patches')
    await page.getByRole('link', { name: 'Create shared patch' }).first().click()
    await page.locator('[name="name"]:focus').waitFor()
    await page.keyboard.type('swappiness')
    await page.getByRole('combobox', { name: 'Clusters' }).click()
    await page.keyboard.type(cluster.name)
    await page.keyboard.press('Enter')
    await write(page, 'machine:\n  sysctls:\n    vm.swappiness: "11"\n')
    await page.getByRole('button', { name: 'Preview', exact: true }).click()
    await page.getByRole('list', { name: 'What changes, by likeness' }).waitFor()
    await expectAccessible(page, 'the preview of a shared patch')
    expect((await installation.call(sharedPatchList, { query: {} })).total).toBe(0)
    await page.getByRole('button', { name: 'Save and roll out', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Roll out swappiness' })
    await dialog.getByRole('button', { name: 'Roll out', exact: true }).click()
    await page.getByRole('button', { name: 'Undo', exact: true }).waitFor()
    await expectAccessible(page, 'a shared patch that was rolled out')
    expect(await installation.call(serverConfig, { params: { id: free.id } })).toContain(
      'vm.swappiness: "11"',
    )
  },
)

describe('what is wrong', () => {
  test(
    'what is wrong, and what it caused, is read at one click from the overview, and assigned with the keyboard',
    { timeout: 120_000 },
    async () => {
      await page.goto('/')
      await installation.simulator(`/servers/${free.identity.uuid}/power-off`, {})
      const line = page
        .getByRole('main')
        .getByRole('listitem')
        .filter({ hasText: `${free.name} does not answer` })
      await line.getByRole('link', { name: `${free.name} does not answer` }).click()
      await page.waitForURL('**/incidents/*')
      await page.getByText(`${free.name} is not Ready`).first().waitFor()

      const { enter } = keysOf(page)
      await enter(page.getByRole('button', { name: 'Assign to me' }))
      await page.getByRole('button', { name: 'Give it up' }).waitFor()
      const { items } = await installation.call(incidentList, { query: { object: free.id } })
      expect(items.map((i) => [i.title, i.assigned?.to.name])).toEqual([
        [`${free.name} does not answer`, admin.email],
      ])
    },
  )
})

longTest(
  'what happened, when a server last failed and who changed a patch are each read within two clicks of the overview',
  { timeout: 120_000 },
  async () => {
    const entry = (...said: (string | RegExp)[]) =>
      said
        .reduce(
          (rows, hasText) => rows.filter({ hasText }),
          page.getByRole('table', { name: 'History entries' }).getByRole('row'),
        )
        .first()
    /** Counts as a click. */
    const goTo = async (typed: string, option: RegExp) => {
      await page.goto('/')
      await page.getByRole('heading', { name: 'Incidents' }).waitFor()
      await page.keyboard.press('ControlOrMeta+k')
      await page
        .getByRole('dialog', { name: 'Search and commands' })
        .getByRole('combobox')
        .waitFor()
      await page.keyboard.type(typed)
      await page.getByRole('option', { name: option, selected: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    const patch = { name: 'fewer-swaps', body: 'machine:\n  sysctls:\n    vm.swappiness: "13"\n' }
    const { call } = installation
    const patched = cluster.servers.find((s) => s.role === 'control_plane')!
    const { patch_id: patchId } = await call(patchCreate, {
      params: { id: patched.node_id },
      body: patch,
    })
    await call(patchUpdate, {
      params: { id: patched.node_id, patchId },
      body: { body: patch.body.replace('13', '14') },
    })
    await until('its silence is in the history', async () =>
      (
        await call(historyList, {
          query: { object: free.id, kind: 'server_contact', per_page: 1 },
        })
      ).items.some((e) => e.message.startsWith('No answer')),
    )

    await goTo('History', /^History/)
    await entry(free.name, /No answer/).waitFor()
    await entry(cluster.name, /Add servers/i, admin.email).waitFor()

    await goTo(free.name, new RegExp(`^${free.name}`))
    await page
      .getByRole('navigation', { name: 'Server' })
      .getByRole('link', { name: 'History' })
      .click()
    await entry(/No answer/).waitFor()
    await page.getByRole('note', { name: 'Beginning of the history' }).waitFor()

    await goTo('History', /^History/)
    await page.getByRole('table', { name: 'History entries' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type(patch.name)
    await entry(patched.name, `The patch ${patch.name} was changed`, admin.email).waitFor()
  },
)
