/**
 * Every screen of the console and how to open it. `screens.e2e.ts` checks each and saves its
 * picture.
 */
import { write } from '../browser.ts'
import { charted, dialog, heading, nowhere, press, rowAction, table } from './acts.ts'
import { alertScreens } from './alerts.ts'
import { changeScreens } from './change.ts'
import { clusterScreens } from './cluster.ts'
import { joiningScreens } from './joining.ts'
import { marketplaceScreens } from './marketplace.ts'
import { networkScreens } from './network.ts'
import { peopleScreens } from './people.ts'
import { rackScreens } from './racks.ts'
import type { Screen } from './screen.ts'
import { sharedPatchScreens } from './shared-patches.ts'
import { templateScreens } from './templates.ts'

export const screens: readonly Screen[] = [
  {
    name: 'home-signed-out',
    path: '/',
    signedOut: true,
    ready: (page) => page.getByRole('main').getByRole('link', { name: 'Sign in' }).waitFor(),
  },
  {
    name: 'sign-in',
    path: '/auth/login',
    signedOut: true,
    ready: (page) => heading(page, 'Sign in to your account'),
  },
  {
    name: 'sign-in-problem',
    path: '/auth/login?error=session_expired',
    signedOut: true,
    ready: (page) => page.getByRole('alert').first().waitFor(),
  },
  {
    name: 'sign-in-errors',
    path: '/auth/login',
    signedOut: true,
    async ready(page) {
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByText('Enter your password').waitFor()
    },
  },
  {
    name: 'set-password',
    path: (world) => world.passwordLink,
    signedOut: true,
    async ready(page) {
      await page.getByText('grace@steelyard.demo').waitFor()
      await page.locator('[name="new_password"]:focus').waitFor()
    },
  },
  {
    name: 'set-password-errors',
    path: (world) => world.passwordLink,
    signedOut: true,
    async ready(page) {
      await page.getByLabel('New password', { exact: true }).fill('Grace is my name')
      await press(page, 'Set password')
      await page
        .getByText(
          'Choose a password that does not contain the part of the email address before the @',
        )
        .waitFor()
    },
  },
  {
    name: 'set-password-over',
    path: '/auth/reset#used',
    signedOut: true,
    ready: (page) => page.getByText(/^This link was used already/).waitFor(),
  },
  {
    name: 'waitlist',
    path: '/',
    signedOut: true,
    async ready(page) {
      await page.getByRole('banner').getByRole('button', { name: 'Join waitlist' }).click()
      await dialog(page, 'Join waitlist')
    },
  },
  {
    name: 'not-found-signed-out',
    path: '/nothing/here',
    signedOut: true,
    ready: (page) => heading(page, 'Page Not Found'),
  },

  { name: 'overview', path: '/', ready: (page) => table(page, 'Capacity per datacenter') },
  {
    name: 'profile-menu',
    path: '/',
    anew: true,
    async ready(page) {
      await press(page, 'Profile')
      await page.getByRole('menu', { name: 'Profile' }).waitFor()
    },
  },
  {
    name: 'running-operations',
    path: '/',
    anew: true,
    async ready(page) {
      await press(page, '1 running operation')
      await page
        .getByRole('dialog', { name: 'Operations in progress' })
        .getByRole('link', { name: /^Create cluster/ })
        .waitFor()
    },
  },
  {
    name: 'command-palette',
    path: '/infra/servers',
    async ready(page) {
      await table(page, 'Servers')
      await page.keyboard.press('ControlOrMeta+k')
      await page.getByRole('listbox', { name: 'Results' }).waitFor()
    },
  },
  {
    name: 'drawer',
    path: '/infra/servers',
    only: 375,
    async ready(page) {
      await press(page, 'Open menu')
      await page
        .getByRole('dialog', { name: 'Menu' })
        .getByRole('link', { name: /^Servers/ })
        .waitFor()
    },
  },

  { name: 'datacenters', path: '/infra/datacenters', ready: (page) => table(page, 'Datacenters') },
  {
    name: 'datacenter-dialog',
    path: '/infra/datacenters',
    async ready(page) {
      await press(page, 'Add datacenter')
      await dialog(page, 'Add datacenter')
    },
  },

  { name: 'servers', path: '/infra/servers', ready: (page) => table(page, 'Servers') },
  {
    name: 'servers-no-match',
    path: '/infra/servers?q=nothing-is-called-so',
    ready: (page) => page.getByText('No server matches these filters.').waitFor(),
  },
  {
    name: 'servers-grouped',
    path: '/infra/servers?group=finding&open=!',
    ready: (page) => table(page, 'No finding'),
  },
  {
    name: 'servers-deleted',
    path: '/infra/servers?status=deleted',
    ready: (page, { removed }) =>
      page.getByRole('link', { name: removed.name, exact: true }).waitFor(),
  },
  {
    name: 'servers-row-open',
    path: '/infra/servers',
    async ready(page, { server }) {
      await press(page, `Details of ${server.name}`)
      await page.getByRole('heading', { name: 'Platform' }).waitFor()
    },
  },
  {
    name: 'servers-row-menu',
    path: '/infra/servers',
    anew: true,
    async ready(page, { server }) {
      await press(page, `Actions for ${server.name}`)
      await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
    },
  },
  {
    name: 'servers-selected',
    path: '/infra/servers',
    async ready(page, { server }) {
      await page.getByRole('checkbox', { name: `Select ${server.name}` }).check()
      await page.getByRole('region', { name: 'Selection' }).waitFor()
    },
  },
  {
    name: 'servers-add',
    path: '/infra/servers?add=new',
    ready: (page) => dialog(page, 'Add servers by address'),
  },
  {
    name: 'server-rename',
    path: '/infra/servers',
    async ready(page, { server }) {
      await rowAction(page, server.name, 'Rename')
      await page.getByRole('textbox', { name: 'Server name' }).fill('Not A Name')
      await page.getByText(/Server name can only contain/).waitFor()
    },
  },
  {
    name: 'server-assign-datacenter',
    path: '/infra/servers',
    async ready(page, { server }) {
      await rowAction(page, server.name, 'Assign datacenter')
      await dialog(page, `Assign datacenter to ${server.name}`)
    },
  },
  {
    name: 'server-remove',
    path: '/infra/servers',
    async ready(page, { server }) {
      await rowAction(page, server.name, 'Remove')
      await dialog(page, `Remove ${server.name}?`)
    },
  },
  {
    name: 'servers-confirm-hardware',
    path: '/infra/servers',
    async ready(page) {
      await press(page, 'Review')
      await dialog(page, 'Confirm the hardware of 1 server')
    },
  },

  {
    name: 'server',
    path: (w) => `/infra/servers/${w.server.id}`,
    ready: (page) => page.getByRole('complementary', { name: 'At a glance' }).waitFor(),
  },
  {
    name: 'server-configuration',
    path: (w) => `/infra/servers/${w.server.id}?tab=patches`,
    ready: (page) => table(page, 'Patches'),
  },
  {
    name: 'server-hardware',
    path: (w) => `/infra/servers/${w.server.id}?tab=hardware`,
    async ready(page) {
      await page.getByRole('heading', { name: 'Identity' }).waitFor()
      await page.getByText('Ceph OSD').first().waitFor()
    },
  },
  {
    name: 'server-usage',
    path: (w) => `/infra/servers/${w.drifted.id}?tab=usage`,
    ready: (page) => charted(page, 'Memory'),
  },
  {
    name: 'server-not-measured',
    path: (w) => `/infra/servers/${w.server.id}?tab=usage`,
    ready: (page) => page.getByText(/was (?:not )?measured in this period/).waitFor(),
  },
  {
    name: 'server-history',
    path: (w) => `/infra/servers/${w.server.id}?tab=history`,
    ready: (page) => table(page, 'History entries'),
  },
  {
    name: 'server-events',
    path: (w) => `/infra/servers/${w.server.id}?tab=events`,
    ready: (page) => page.getByText('server.confirmed').first().waitFor(),
  },
  {
    name: 'server-logs',
    path: (w) => `/infra/servers/${w.server.id}?tab=logs`,
    ready: (page) => page.getByRole('region', { name: 'Log of kernel' }).waitFor(),
  },
  {
    name: 'server-to-confirm',
    path: (w) => `/infra/servers/${w.unconfirmed.id}`,
    ready: (page) => page.getByText('This server has not been confirmed yet.').waitFor(),
  },
  {
    name: 'server-not-found',
    path: `/infra/servers/${nowhere}`,
    ready: (page) => page.getByText(`Server ${nowhere} not found`).waitFor(),
  },
  {
    name: 'patch-create',
    path: (w) => `/infra/servers/${w.server.id}/create-patch`,
    async ready(page) {
      await page.getByRole('textbox', { name: 'Name' }).fill('disk-tuning')
      await write(page, 'machine:\n  sysctls:\n    vm.swappiness: "1"\n')
      await page
        .getByRole('group', { name: 'Merged configuration before and after' })
        .getByText('vm.swappiness')
        .waitFor()
    },
  },
  {
    name: 'patch-edit',
    path: (w) => `/infra/servers/${w.server.id}/patches/${w.server.patchId}`,
    ready: (page) => page.getByText('Applied at install').waitFor(),
  },
  {
    name: 'patch-broken',
    path: (w) => `/infra/servers/${w.server.id}/patches/${w.server.patchId}`,
    async ready(page) {
      await write(page, 'machine:\n  no_such_field: 1\ncluster: [\n')
      await page.getByText("This patch can't be merged").waitFor()
    },
  },
  {
    name: 'patch-cuts-off',
    path: (w) => `/infra/servers/${w.server.id}/create-patch`,
    async ready(page) {
      await page.getByRole('textbox', { name: 'Name' }).fill('storage-net')
      await write(
        page,
        'apiVersion: v1alpha1\nkind: VLANConfig\nname: eth7.210\nvlanID: 210\nparent: eth7\naddresses:\n  - address: 10.20.14.37/22\n',
      )
      await page.getByText('Saving makes the server ineligible').waitFor()
    },
  },
  {
    name: 'patch-read-only',
    path: (w) => `/infra/servers/${w.server.id}/patches/static-system`,
    ready: (page) => page.getByText('Read only').waitFor(),
  },
  {
    name: 'server-drift',
    path: (world) => `/infra/servers/${world.drifted.id}`,
    ready: (page) => page.getByRole('button', { name: 'Keep the changes' }).waitFor(),
  },
  {
    name: 'server-drift-overwrite',
    path: (world) => `/infra/servers/${world.drifted.id}`,
    async ready(page, { drifted }) {
      await press(page, 'Overwrite the changes')
      await dialog(page, `Overwrite the configuration of ${drifted.name}?`)
    },
  },
  {
    name: 'cluster-drift',
    path: (world) => `/infra/clusters/${world.ready.id}`,
    ready: (page) => page.getByRole('button', { name: 'Keep the changes' }).waitFor(),
  },
  {
    name: 'cluster-import',
    path: '/infra/clusters/import',
    ready: (page) => page.getByRole('button', { name: 'Look at the cluster' }).waitFor(),
  },
  {
    name: 'cluster-import-found',
    path: '/infra/clusters/import',
    async ready(page, world) {
      await page.getByRole('button', { name: 'Talosconfig', exact: true }).click()
      await page.getByLabel(/^Talosconfig/).fill(world.talosconfig)
      const site = await page.getByRole('option', { name: /^PL-POZ-1/ }).getAttribute('value')
      await page.getByRole('combobox', { name: 'Datacenter' }).selectOption(site)
      await press(page, 'Look at the cluster')
      await page.getByRole('button', { name: /^Take over / }).waitFor()
    },
  },
  {
    name: 'cluster-import-refused',
    path: '/infra/clusters/import',
    async ready(page) {
      await press(page, 'Look at the cluster')
      await page.getByText('Choose or paste the secrets bundle').waitFor()
    },
  },
  {
    name: 'patch-not-found',
    path: (w) => `/infra/servers/${w.server.id}/patches/nothing`,
    ready: (page) => page.getByText('Patch nothing not found').waitFor(),
  },

  ...clusterScreens,
  ...changeScreens,
  ...alertScreens,
  ...joiningScreens,
  ...networkScreens,
  ...rackScreens,
  ...sharedPatchScreens,
  ...templateScreens,
  ...peopleScreens,
  ...marketplaceScreens,

  { name: 'not-found', path: '/nothing/here', ready: (page) => heading(page, 'Page Not Found') },
  {
    name: 'something-went-wrong',
    path: `/infra/network/${nowhere}/edit`,
    mayLog: /CallError: There is no such subnet/,
    ready: (page) => heading(page, 'Something went wrong'),
  },
]
