/** Screens of subnets, with the data that they show. */
import type { Page } from 'playwright-core'
import { datacenterList } from '#contract/datacenters.ts'
import {
  clusterSubnetsAssign,
  type NewSubnet,
  type Subnet,
  subnetCreate,
  subnetGet,
} from '#contract/network/subnets.ts'
import { type Installation, until } from '../installation.ts'
import { table } from './acts.ts'
import type { NetworkWorld, Screen } from './screen.ts'

/**
 * Makes subnets of each kind. The Services of `cluster` get their addresses from the first subnet.
 */
export async function furnishNetwork(
  { call }: Installation,
  cluster: { id: string },
): Promise<NetworkWorld> {
  const sites = (await call(datacenterList, { query: {} })).items
  const add = (
    code: string,
    subnet: Partial<NewSubnet> & { name: string; cidr: string },
  ): Promise<Subnet> =>
    call(subnetCreate, {
      body: { ...subnet, datacenter_id: sites.find((d) => d.code === code)!.id },
    })
  const [subnet, spare, six, wide] = await Promise.all([
    add('PL-POZ-1', {
      name: 'poz-public-a',
      cidr: '203.0.113.0/24',
      gateway: '203.0.113.1',
      vlan_id: 214,
      exclude: ['203.0.113.2-203.0.113.9'],
    }),
    add('PL-POZ-1', {
      name: 'poz-storage-b',
      cidr: '10.20.48.0/24',
      gateway: '10.20.48.1',
      vlan_id: 248,
    }),
    add('PL-POZ-1', {
      name: 'poz-v6-a',
      cidr: '2001:db8:20:14::/64',
      gateway: '2001:db8:20:14::1',
      vlan_id: 214,
    }),
    add('DE-FRA-1', {
      name: 'fra-wide',
      cidr: '10.64.0.0/16',
      exclude: ['10.64.1.0-10.64.1.255', '10.64.9.7'],
    }),
  ])
  await call(clusterSubnetsAssign, {
    params: { id: cluster.id },
    body: { subnet_ids: [subnet.id] },
  })
  await until('addresses of the subnet are in use', async () => {
    const { status, used } = await call(subnetGet, { params: { id: subnet.id } })
    return status === 'active' && (used ?? 0) > 0
  })
  return { subnet, spare, six, wide }
}

const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true }).first().click()
const map = (page: Page) => page.getByRole('grid', { name: /^Addresses of / })
const form = '/infra/network/add-subnet?datacenter=PL-POZ-1'

async function typed(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  // A draft of another screen may have been restored meanwhile.
  const discard = page.getByRole('button', { name: 'Discard the draft' })
  await page.getByLabel('CIDR').waitFor()
  if (await discard.isVisible()) await discard.click()
  for (const [label, text] of Object.entries(fields))
    await page.getByLabel(label, { exact: label === 'Name' }).fill(text)
}

async function importing(page: Page, csv: string, says: RegExp): Promise<void> {
  await press(page, 'More actions')
  await page.getByRole('menuitem', { name: 'Import subnets' }).click()
  const dialog = page.getByRole('dialog', { name: 'Import subnets' })
  await dialog.getByLabel('CSV', { exact: true }).fill(csv)
  await dialog.getByRole('button', { name: 'Check' }).click()
  await dialog.getByText(says).waitFor()
}

export const networkScreens: readonly Screen[] = [
  { name: 'network', path: '/infra/network', ready: (page) => table(page, 'Subnets') },
  {
    name: 'network-map',
    path: (w) => `/infra/network?q=poz&open=${w.subnet.id}`,
    async ready(page) {
      await map(page)
        .getByRole('gridcell', { name: /, in use$/ })
        .first()
        .click()
      await page.getByRole('group', { name: /^About / }).waitFor()
    },
  },
  {
    name: 'network-map-of-65536',
    path: (w) => `/infra/network?q=fra-wide&open=${w.wide.id}`,
    async ready(page) {
      await map(page).focus()
      await page.keyboard.press('ArrowDown')
      await page.getByRole('group', { name: /^About / }).waitFor()
    },
  },
  {
    name: 'network-map-of-ipv6',
    path: (w) => `/infra/network?q=poz-v6&open=${w.six.id}`,
    ready: (page) => map(page).waitFor(),
  },
  {
    name: 'network-address',
    path: '/infra/network?q=10.64.9.7',
    ready: (page) => page.getByRole('group', { name: 'About 10.64.9.7' }).waitFor(),
  },
  {
    name: 'network-no-match',
    path: '/infra/network?q=nothing-is-called-so',
    ready: (page) => page.getByText('No subnet matches these filters.').waitFor(),
  },
  {
    name: 'network-selected',
    path: '/infra/network',
    async ready(page) {
      await table(page, 'Subnets')
      await page.getByLabel('Select all on this page').check({ force: true })
      await page.getByRole('region', { name: 'Selection' }).waitFor()
    },
  },
  {
    name: 'network-row-menu',
    path: '/infra/network',
    anew: true,
    async ready(page) {
      await press(page, 'Actions for poz-public-a')
      await page.getByRole('menuitem', { name: /^Remove/ }).waitFor()
    },
  },
  {
    name: 'network-import',
    path: '/infra/network',
    ready: (page) =>
      importing(
        page,
        'name,cidr,gateway,datacenter\npoz-x,198.18.0.0/24,198.18.0.1,PL-POZ-1\npoz-y,198.18.1.0/24,,PL-POZ-1',
        /^Every row is valid/,
      ),
  },
  {
    name: 'network-import-problems',
    path: '/infra/network',
    ready: (page) =>
      importing(
        page,
        'name,cidr,gateway,datacenter\nPoz x,198.18.0.1/24,198.18.0.1,PL-POZ-1\npoz-y,203.0.113.0/26,,XX-XXX-1',
        /^3 problems in 2 lines/,
      ),
  },
  {
    name: 'subnet-add',
    path: form,
    ready: (page) =>
      typed(page, {
        Name: 'poz-public-c',
        CIDR: '198.51.100.64/26',
        Gateway: '198.51.100.65',
        'VLAN ID': '1',
        'Exclude IPs': '198.51.100.66-198.51.100.70\n198.51.100.100',
      }),
  },
  {
    name: 'subnet-add-problems',
    path: form,
    async ready(page) {
      await typed(page, {
        Name: 'Not A Name',
        CIDR: '203.0.113.5/26',
        Gateway: '',
        'VLAN ID': '5000',
        'Exclude IPs': '',
      })
      await page.getByRole('main').getByRole('button', { name: 'Add subnet' }).click()
      await page.getByText(/Did you mean 203\.0\.113\.0\/26\?/).waitFor()
    },
  },
  {
    name: 'subnet-edit',
    path: (w) => `/infra/network/${w.subnet.id}/edit`,
    ready: (page) => page.getByText(/Unassign it before changing the CIDR/).waitFor(),
  },
  {
    name: 'subnets-assign',
    path: (w) => `/infra/network/assign-subnets?subnets=${w.spare.id}`,
    ready: (page) => page.getByRole('radiogroup', { name: 'Cluster' }).waitFor(),
  },
  {
    name: 'subnets-assign-lists',
    path: (w) =>
      `/infra/network/assign-subnets?cluster=${w.ready.id}&subnets=${w.spare.id}&step=subnets`,
    ready: (page) =>
      page.getByRole('listbox', { name: /^Of / }).getByRole('option').nth(1).waitFor(),
  },
  {
    name: 'subnets-assign-review',
    path: (w) =>
      `/infra/network/assign-subnets?cluster=${w.ready.id}&subnets=${w.spare.id}&step=review`,
    ready: (page) => page.getByRole('group', { name: 'Manifest before and after' }).waitFor(),
  },
  {
    name: 'subnets-unassign-review',
    path: (w) =>
      `/infra/network/assign-subnets?cluster=${w.ready.id}&remove=${w.subnet.id}&step=review`,
    ready: (page) => page.getByRole('list', { name: 'Services with these addresses' }).waitFor(),
  },
  {
    name: 'cluster-addresses',
    path: (w) => `/infra/clusters/${w.ready.id}?tab=addresses`,
    ready: (page) => page.getByLabel('Manifest', { exact: true }).waitFor(),
  },
]
