/**
 * Screens of clusters: their list, their creation, the page of a cluster, and its key and offer.
 */
import type { Page } from 'playwright-core'
import { charted, dialog, nowhere, press, rowAction, table } from './acts.ts'
import type { Screen } from './screen.ts'

/**
 * Goes through the steps of creating a cluster, up to `step`. `full`: name of a server with content
 * on its disks, which joins the cluster.
 */
async function creating(
  page: Page,
  step: 'servers' | 'review' | 'question',
  full: string,
): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill('poz-looks-01')
  const site = await page.getByRole('option', { name: /^PL-POZ-1/ }).getAttribute('value')
  await page.getByRole('combobox', { name: 'Datacenter' }).selectOption(site)
  await press(page, 'Choose servers')
  await page.getByText(/eligible in PL-POZ-1/).waitFor()
  const chosen = page
    .getByRole('region', { name: 'Servers' })
    .getByRole('group', { name: /^Role of / })
  // If there is a saved draft, the servers are chosen already.
  const choose = page.getByRole('button', { name: /^Choose \d$/ })
  await chosen.first().or(choose).first().waitFor()
  if (await choose.isVisible()) await choose.click()
  await chosen.first().waitFor()
  await page
    .getByRole('region', { name: 'Servers' })
    .getByRole('checkbox', { name: new RegExp(`^${full}`) })
    .check()
  if (step === 'servers') return
  await press(page, /^Review/)
  await page.getByText('What will happen').waitFor()
  const wipe = page.getByRole('checkbox', { name: /^Wipe / })
  await wipe.first().waitFor()
  if (step === 'review') return
  for (const box of await wipe.all()) await box.check()
  await press(page, 'Create cluster')
  await dialog(page, 'Custom Talos Patches have not been created for these servers')
}

export const clusterScreens: readonly Screen[] = [
  { name: 'clusters', path: '/infra/clusters', ready: (page) => table(page, 'Clusters') },
  {
    name: 'clusters-no-match',
    path: '/infra/clusters?q=nothing-is-called-so',
    ready: (page) => page.getByText('No cluster matches these filters.').waitFor(),
  },
  {
    name: 'create-cluster',
    path: '/infra/clusters/create',
    ready: (page) => page.getByRole('button', { name: 'Choose servers' }).waitFor(),
  },
  {
    name: 'create-cluster-problems',
    path: '/infra/clusters/create',
    async ready(page) {
      await page.getByLabel('Name', { exact: true }).fill('Not A Name')
      await page.getByLabel('Pod CIDR').fill('10.1.2.3/16')
      await press(page, 'Choose servers')
      await page.getByText(/Cluster name can only contain/).waitFor()
      await page.getByLabel('Pod CIDR').fill('10.244.0.0/16')
    },
  },
  {
    name: 'create-cluster-servers',
    path: '/infra/clusters/create',
    ready: (page, { server }) => creating(page, 'servers', server.name),
  },
  {
    name: 'create-cluster-new-patch',
    path: '/infra/clusters/create',
    async ready(page, { server }) {
      await creating(page, 'servers', server.name)
      await press(page, 'Set for all selected')
      await page.getByRole('menuitem', { name: 'Patch' }).click()
      await page.getByRole('menuitem', { name: 'The same new patch' }).click()
      await dialog(page, /^The same new patch for/)
    },
  },
  {
    name: 'create-cluster-review',
    path: '/infra/clusters/create',
    ready: (page, { server }) => creating(page, 'review', server.name),
  },
  {
    name: 'create-cluster-without-patch',
    path: '/infra/clusters/create',
    ready: (page, { server }) => creating(page, 'question', server.name),
  },
  {
    name: 'cluster',
    path: (w) => `/infra/clusters/${w.ready.id}`,
    ready: (page, { ready }) => table(page, `Servers of ${ready.name}`),
  },
  {
    name: 'cluster-usage',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=usage`,
    ready: (page) => charted(page, 'Nodes'),
  },
  {
    name: 'cluster-history',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=history`,
    ready: (page) => table(page, 'History entries'),
  },
  {
    name: 'cluster-timeline',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=timeline`,
    ready: (page) => page.getByText(/^done in/).waitFor(),
  },
  {
    name: 'cluster-timeline-waiting',
    path: (w) => `/infra/clusters/${w.waiting.id}`,
    ready: (page) =>
      page
        .getByRole('list', { name: /^Create cluster/ })
        .locator('[aria-current="step"]')
        .first()
        .waitFor(),
  },
  {
    name: 'cluster-retry-disks',
    path: (w) => `/infra/clusters/${w.unwiped.id}`,
    async ready(page) {
      await press(page, 'Retry')
      await dialog(page, 'Retry and wipe?')
    },
  },
  {
    name: 'cluster-troubled',
    path: (w) => `/infra/clusters/${w.troubled.id}`,
    ready: (page) => page.getByText('Steelyard cannot complete a task for this cluster.').waitFor(),
  },
  {
    name: 'cluster-keys',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=keys`,
    async ready(page) {
      await page.getByRole('button', { name: /^0x.*Copy cluster address/ }).waitFor()
      await page.getByRole('button', { name: 'List offer' }).waitFor()
    },
  },
  {
    name: 'cluster-keys-without-offer',
    path: (w) => `/infra/clusters/${w.waiting.id}?tab=keys`,
    ready: (page) => page.getByRole('button', { name: 'Make an offer' }).waitFor(),
  },
  {
    name: 'offer-make',
    path: (w) => `/infra/clusters/${w.waiting.id}?tab=keys`,
    async ready(page, { waiting }) {
      await press(page, 'Make an offer')
      const making = page.getByRole('dialog', { name: `Make an offer of ${waiting.name}` })
      await making.getByRole('textbox', { name: 'Price' }).fill('1e400')
      await making.getByRole('button', { name: 'Make offer' }).click()
      await making.getByText(/^An amount is a decimal number/).waitFor()
    },
  },
  {
    name: 'offer-resources',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=keys`,
    async ready(page) {
      await press(page, 'Update resources')
      await page
        .getByText('The offer has the resources that the servers of the cluster have now.')
        .waitFor()
    },
  },
  {
    name: 'cluster-key-dialog',
    path: '/infra/clusters',
    async ready(page, { ready }) {
      await rowAction(page, ready.name, 'Show cluster key')
      await page
        .getByRole('button', { name: new RegExp(`Copy address of ${ready.name}`) })
        .waitFor()
      await page.getByRole('button', { name: `Set access address of ${ready.name}` }).waitFor()
    },
  },
  {
    name: 'cluster-key-dialog-looking',
    path: '/infra/clusters',
    async ready(page, { waiting }) {
      await press(page, 'Actions')
      await page.getByRole('menuitem', { name: 'Show the keys of all new clusters' }).click()
      await page
        .getByRole('button', { name: new RegExp(`Copy address of ${waiting.name}`) })
        .waitFor()
      await page.getByText('Looking for Offers').first().waitFor()
    },
  },
  {
    name: 'cluster-not-found',
    path: `/infra/clusters/${nowhere}`,
    ready: (page) => page.getByText(`Cluster ${nowhere} not found`).waitFor(),
  },
  {
    name: 'cluster-delete',
    path: '/infra/clusters',
    async ready(page, { ready }) {
      await rowAction(page, ready.name, 'Delete')
      await dialog(page, `Delete ${ready.name}?`)
    },
  },
]
