/**
 * Long changes of a running cluster in the console: an upgrade in a maintenance window, a rotation
 * of secrets, and a restore from a snapshot.
 */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { snapshotList } from '#contract/clusters/changes/snapshots.ts'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { versionList } from '#contract/versions.ts'
import { closePages, inOneStory, launch, open, signIn } from '../browser.ts'
import { type Installation, startInstallation, untilReady } from '../installation.ts'
import { makeCluster } from '../testing/small-cluster.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let cluster: Cluster

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ speed: 20 }), launch()])
  ;({ page, errors } = await open(browser, installation.url))
  ;({ cluster } = await makeCluster(installation, 'poz-changes-02'))
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
/** As `Date.getDay` counts them. */
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const health = () => page.getByRole('list', { name: `Health of ${cluster.name}` })

describe('the long changes of a cluster', () => {
  test(
    'an upgrade waits for the maintenance window, its page says when that is, and it begins when the window opens',
    { timeout: 90_000 },
    async () => {
      // A day that is neither today nor tomorrow.
      const later = new Date(Date.now() + 3 * 86_400_000)
      const day = days[later.getDay()]!
      const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone
      await installation.call(clusterWindowSet, {
        params: { id: cluster.id },
        body: { window: { days: [day], from: '02:00', minutes: 60, time_zone } },
      })
      // Another patch release of the same minor.
      const minor = cluster.talos_version.replace(/\.\d+$/, '.')
      const offered = await installation.call(versionList, { query: {} })
      const version = offered.items
        .map(({ talos_version }) => talos_version)
        .find((v) => v.startsWith(minor) && v !== cluster.talos_version)!
      const runs = async () =>
        (await installation.call(clusterGet, { params: { id: cluster.id } })).talos_version
      await page.goto(`/infra/clusters/${cluster.id}/change/upgradeTalos`)
      await page.getByLabel('Talos version').fill(version)
      await press('Show the plan')
      await plan().waitFor()
      await page.getByLabel('When').selectOption('window')
      await page.getByRole('button', { name: 'Schedule: Upgrade Talos' }).click()
      await page.waitForURL('**/operations/*')
      await page
        .getByText(/Waits for the maintenance window: .*02:00/)
        .first()
        .waitFor()
      const operation = page.url()
      expect(await runs()).toBe(cluster.talos_version)
      await page.goto(`/infra/clusters/${cluster.id}?tab=settings`)
      await press('Edit')
      const editor = page.getByRole('dialog', { name: `Maintenance window of ${cluster.name}` })
      await editor.getByRole('checkbox', { name: 'Monday' }).check()
      for (const day of await editor.getByRole('checkbox').all()) await day.check()
      await editor.getByLabel('Opens at').fill('00:00')
      await editor.getByLabel(/^Open for/).fill('1440')
      await press('Save window')
      await page.getByText('Open now').waitFor()
      await page.goto(operation)
      await page.getByText(/^done in/).waitFor({ timeout: 60_000 })
      expect(await runs()).toBe(version)
    },
  )

  test(
    'the authority of the Talos API is rotated from its form, and the cluster stays healthy',
    { timeout: 90_000 },
    async () => {
      await page.goto(`/infra/clusters/${cluster.id}/change/rotate`)
      await press('Show the plan')
      await plan().waitFor()
      await page.getByRole('button', { name: 'Rotate secrets', exact: true }).click()
      await page.waitForURL('**/operations/*')
      await page.getByText(/^done in/).waitFor({ timeout: 60_000 })
      await page.goto(`/infra/clusters/${cluster.id}?tab=overview`)
      await health().getByText('All 2 nodes are Ready.').waitFor()
    },
  )

  test(
    'a snapshot is taken, and the cluster is restored from it on its own control plane',
    { timeout: 90_000 },
    async () => {
      await installation.call(storeCreate, {
        body: { name: 'disk', kind: 'folder', folder: join(installation.data, 'stores/disk') },
      })
      await page.goto(`/infra/clusters/${cluster.id}?tab=snapshots`)
      await page
        .getByRole('link', { name: 'Take a snapshot' })
        .or(page.getByRole('button', { name: 'Take a snapshot' }))
        .first()
        .click()
      await press('Show the plan')
      await plan().waitFor()
      await page.getByRole('button', { name: 'Take a snapshot', exact: true }).click()
      await page.waitForURL('**/operations/*')
      await page.getByText(/^done in/).waitFor({ timeout: 40_000 })
      const [snapshot] = (await installation.call(snapshotList, { query: {} })).items
      await page.goto(`/infra/clusters/${cluster.id}?tab=snapshots`)
      await press(/^Actions for the snapshot of/)
      await page.getByRole('menuitem', { name: 'Restore' }).click()
      await page.waitForURL(`**/change/restore?snapshot=${snapshot!.id}`)
      await press('Show the plan')
      await plan()
        .getByText(/is wiped|Wipe/)
        .first()
        .waitFor()
      await page.getByRole('button', { name: 'Restore a snapshot', exact: true }).click()
      await page.waitForURL('**/operations/*')
      await page.getByText(/^done in/).waitFor({ timeout: 60_000 })
      await untilReady(installation, cluster.id)
    },
  )
})
