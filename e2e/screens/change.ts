/** Screens of a running cluster's health and of its changes. */
import type { Page } from 'playwright-core'
import { nowhere, press } from './acts.ts'
import type { Screen } from './screen.ts'

const plan = (page: Page) => page.getByRole('list', { name: 'What happens, in order' }).waitFor()

export const changeScreens: readonly Screen[] = [
  {
    name: 'cluster-health',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=health`,
    async ready(page, { ready }) {
      await page.getByRole('list', { name: `Health of ${ready.name}` }).waitFor()
      await page.getByRole('table', { name: `Nodes of ${ready.name}`, exact: true }).waitFor()
    },
  },
  {
    name: 'cluster-health-troubled',
    path: (w) => `/infra/clusters/${w.troubled.id}?tab=health`,
    ready: (page, { troubled }) =>
      page.getByRole('list', { name: `Health of ${troubled.name}` }).waitFor(),
  },
  {
    name: 'cluster-pods',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=pods`,
    ready: (page, { ready }) =>
      page.getByRole('table', { name: `Pods of ${ready.name}`, exact: true }).waitFor(),
  },
  {
    name: 'cluster-changes-menu',
    path: (w) => `/infra/clusters/${w.ready.id}`,
    anew: true,
    async ready(page, { ready }) {
      await page.getByRole('table', { name: `Servers of ${ready.name}`, exact: true }).waitFor()
      await press(page, 'Change')
      await page.getByRole('menuitem', { name: 'Defragment etcd' }).waitFor()
    },
  },
  {
    name: 'change-defragment',
    path: (w) => `/infra/clusters/${w.ready.id}/change/defragment`,
    ready: plan,
  },
  {
    name: 'change-not-created',
    path: (w) => `/infra/clusters/${w.waiting.id}/change/defragment`,
    ready: (page) => page.getByText('is not created yet').waitFor(),
  },
  {
    name: 'change-at-a-time',
    path: (w) => `/infra/clusters/${w.ready.id}/change/defragment`,
    async ready(page) {
      await plan(page)
      await page.getByLabel('When').selectOption('at')
      await press(page, /^Schedule/)
      await page.getByText('Enter the time at which the change begins').waitFor()
    },
  },
  {
    name: 'change-grow',
    path: (w) => `/infra/clusters/${w.ready.id}/change/grow`,
    async ready(page) {
      const servers = page.getByRole('region', { name: 'Free servers' })
      await servers.getByRole('checkbox', { disabled: false }).first().check()
      await servers.getByRole('group', { name: /^Role of/ }).waitFor()
      await press(page, 'Show the plan')
      await plan(page)
    },
  },
  {
    name: 'change-grow-nothing-chosen',
    path: (w) => `/infra/clusters/${w.ready.id}/change/grow`,
    async ready(page) {
      await press(page, 'Show the plan')
      await page.getByText('Choose at least one server').waitFor()
    },
  },
  {
    name: 'change-replace',
    path: (w) => `/infra/clusters/${w.ready.id}/change/replace`,
    async ready(page) {
      await page.getByLabel('Takes its place').waitFor()
      await press(page, 'Show the plan')
      await page.getByText('Choose the server that leaves').waitFor()
    },
  },
  {
    name: 'change-role',
    path: (w) => `/infra/clusters/${w.ready.id}/change/role`,
    async ready(page) {
      await page.getByRole('checkbox').first().check()
      await page.getByText(/becomes a /).waitFor()
    },
  },
  {
    name: 'change-shrink',
    path: (w) => `/infra/clusters/${w.ready.id}/change/shrink`,
    async ready(page) {
      await page.getByRole('checkbox').first().check()
      await press(page, 'Show the plan')
      await plan(page)
    },
  },
  {
    name: 'change-upgrade-talos',
    path: (w) => `/infra/clusters/${w.ready.id}/change/upgradeTalos`,
    async ready(page) {
      await page.getByLabel('Talos version').fill('v1.13.8')
      await press(page, 'Show the plan')
      await page.getByRole('heading', { name: 'What happens' }).waitFor()
    },
  },
  {
    name: 'change-extensions',
    path: (w) => `/infra/clusters/${w.ready.id}/change/extensions`,
    async ready(page) {
      await page.getByRole('searchbox', { name: 'Search extensions' }).fill('gvisor')
      await page
        .getByRole('checkbox', { name: /^gvisor/ })
        .first()
        .check()
      await press(page, 'Show the plan')
      await page.getByRole('heading', { name: 'What happens' }).waitFor()
    },
  },
  {
    name: 'change-upgrade-kubernetes',
    path: (w) => `/infra/clusters/${w.ready.id}/change/upgradeKubernetes`,
    async ready(page) {
      await press(page, 'Show the plan')
      await page.getByText('Enter the version').waitFor()
    },
  },
  {
    name: 'change-patches',
    path: (w) => `/infra/clusters/${w.ready.id}/change/configure`,
    async ready(page) {
      await press(page, 'Show the plan')
      await page.getByText('Enter a patch, or the name of a patch to remove').waitFor()
    },
  },
  {
    name: 'change-endpoint',
    path: (w) => `/infra/clusters/${w.ready.id}/change/endpoint`,
    async ready(page) {
      await page.getByRole('textbox', { name: 'New endpoint' }).fill('api.poz.example.com')
      await press(page, 'Show the plan')
      await page.getByRole('heading', { name: 'What happens' }).waitFor()
    },
  },
  {
    name: 'change-disks',
    path: (w) => `/infra/clusters/${w.ready.id}/change/disks?server=${w.drifted.id}`,
    async ready(page) {
      await page.getByRole('list', { name: 'Disks' }).waitFor()
      await press(page, 'Show the plan')
      await page.getByText('Choose a disk').waitFor()
    },
  },
  {
    name: 'change-rotate',
    path: (w) => `/infra/clusters/${w.ready.id}/change/rotate`,
    async ready(page) {
      await press(page, 'Show the plan')
      await page.getByRole('heading', { name: 'What happens' }).waitFor()
    },
  },
  {
    name: 'change-snapshot',
    path: (w) => `/infra/clusters/${w.ready.id}/change/snapshot`,
    ready: (page) => page.getByLabel('Store').waitFor(),
  },
  {
    name: 'change-restore',
    path: (w) => `/infra/clusters/${w.ready.id}/change/restore`,
    async ready(page) {
      await page.getByText('There is no snapshot that can be restored.').waitFor()
      await page.getByLabel('Onto').selectOption('other')
      await page.getByRole('region', { name: 'Free servers' }).waitFor()
    },
  },
  {
    name: 'cluster-snapshots',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=snapshots`,
    ready: (page) => page.getByRole('heading', { name: 'No snapshots yet' }).waitFor(),
  },
  {
    name: 'snapshot-schedule',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=snapshots`,
    async ready(page, { ready }) {
      await press(page, 'Set a schedule')
      await page.getByRole('dialog', { name: `Snapshots of ${ready.name}` }).waitFor()
    },
  },
  {
    name: 'stores',
    path: '/admin/stores',
    ready: (page) => page.getByRole('table', { name: 'Stores', exact: true }).waitFor(),
  },
  {
    name: 'store-edit',
    path: '/admin/stores',
    async ready(page) {
      await press(page, 'Actions for disk')
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      await page.getByRole('dialog', { name: 'Edit disk' }).waitFor()
    },
  },
  {
    name: 'backups',
    path: '/admin/backups',
    ready: (page) => page.getByRole('heading', { name: 'No backups yet' }).waitFor(),
  },
  {
    name: 'backup-take',
    path: '/admin/backups',
    async ready(page) {
      await press(page, 'Take a backup')
      await page
        .getByRole('dialog', { name: 'Take a backup of Steelyard' })
        .getByRole('button', { name: 'Take backup' })
        .click()
      await page.getByText('Choose a store', { exact: true }).last().waitFor()
    },
  },
  {
    name: 'backup-schedule',
    path: '/admin/backups',
    async ready(page) {
      await press(page, 'Set a schedule')
      await page.getByRole('dialog', { name: 'Backups of Steelyard' }).waitFor()
    },
  },
  {
    name: 'snapshot-import',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=snapshots`,
    async ready(page, { ready }) {
      await press(page, 'Import')
      await page
        .getByRole('dialog', { name: `Import a snapshot of ${ready.name}` })
        .getByRole('button', { name: 'Import snapshot' })
        .click()
      await page.getByText('Enter the name of the file').waitFor()
    },
  },
  {
    name: 'store-add',
    path: '/admin/stores',
    async ready(page) {
      await press(page, 'Add store')
      await page
        .getByRole('dialog', { name: 'Add store' })
        .getByRole('button', { name: 'Add store' })
        .click()
      await page.getByText('Enter the access key id').waitFor()
    },
  },
  {
    name: 'cluster-settings',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=settings`,
    ready: (page) => page.getByRole('heading', { name: 'Maintenance window' }).waitFor(),
  },
  {
    name: 'maintenance-window',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=settings`,
    async ready(page, { ready }) {
      await press(page, 'Set a window')
      await page.getByRole('dialog', { name: `Maintenance window of ${ready.name}` }).waitFor()
    },
  },
  {
    name: 'change-not-found',
    path: (w) => `/infra/clusters/${w.ready.id}/change/nothing`,
    ready: (page) => page.getByText('There is no such change').waitFor(),
  },
  {
    name: 'change-of-nothing',
    path: `/infra/clusters/${nowhere}/change/defragment`,
    ready: (page) => page.getByText(`Cluster ${nowhere} not found`).waitFor(),
  },
]
