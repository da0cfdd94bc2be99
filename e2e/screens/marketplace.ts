/** Screens of the marketplace, with the data that they show. */
import type { Page } from 'playwright-core'
import { type CapacityCommitment, ccCreate, ccGet, ccUpdate } from '#contract/marketplace/ccs.ts'
import { type Installation, until } from '../installation.ts'
import { press, table } from './acts.ts'
import type { MarketplaceWorld, Screen } from './screen.ts'

const dayMs = 24 * 3_600_000

/** Commits the capacity of `server`, sold with `offer`, and makes a draft for `other`. */
export async function furnishMarketplace(
  { call }: Installation,
  server: { id: string },
  offer: { id: string },
  other: { id: string },
): Promise<MarketplaceWorld> {
  const committed = await call(ccCreate, {
    body: {
      node_id: server.id,
      price: { amount: '1.248', currency: 'EUR', basis: 'server' },
      expires_at: new Date(Date.now() + 90 * dayMs).toISOString(),
      offer_id: offer.id,
      status: 'waiting_delegation',
    },
  })
  await call(ccUpdate, { params: { id: committed.id }, body: { status: 'waiting_start' } })
  const draft = await call(ccCreate, { body: { node_id: other.id } })
  await until(
    'the commitment has started',
    async () => (await call(ccGet, { params: { id: committed.id } })).status === 'active',
  )
  const named = ({ id, server: { name } }: CapacityCommitment) => ({ id, name })
  return { commitment: named(committed), draft: named(draft) }
}

const commitments = (page: Page) => table(page, 'Commitments')

export const marketplaceScreens: readonly Screen[] = [
  { name: 'marketplace-ccs', path: '/marketplace', ready: commitments },
  {
    name: 'marketplace-ccs-open',
    path: '/marketplace/ccs',
    async ready(page, { commitment }) {
      await press(page, `Details of ${commitment.name}`)
      await page.getByRole('heading', { name: 'Commitment', exact: true }).waitFor()
    },
  },
  {
    name: 'marketplace-ccs-no-match',
    path: '/marketplace/ccs?status=failed',
    ready: (page) => page.getByText('No commitment matches these filters.').waitFor(),
  },
  {
    name: 'marketplace-ccs-range',
    path: '/marketplace/ccs?cu=1..',
    anew: true,
    async ready(page) {
      await commitments(page)
      await press(page, /^(?:CU: 1 or more|Filters)/)
      await page.getByRole('form', { name: 'CU range' }).waitFor()
    },
  },
  {
    name: 'marketplace-cc-dialog',
    path: '/marketplace/ccs',
    async ready(page) {
      await commitments(page)
      await press(page, 'Commit capacity')
      await page.getByRole('dialog', { name: 'Commit capacity' }).waitFor()
    },
  },
  {
    name: 'marketplace-cc-dialog-errors',
    path: '/marketplace/ccs',
    async ready(page) {
      await commitments(page)
      await press(page, 'Commit capacity')
      const dialog = page.getByRole('dialog', { name: 'Commit capacity' })
      await dialog.getByLabel('Price').fill('1e400')
      // The error below the field moves the checkbox.
      await dialog.getByLabel('Price').blur()
      await dialog.getByRole('checkbox').check()
      await dialog.getByRole('button', { name: 'Commit capacity' }).click()
      await dialog.getByText('Choose a server').waitFor()
    },
  },
  {
    name: 'marketplace-cc',
    path: (w) => `/marketplace/ccs/${w.commitment.id}`,
    ready: (page) => page.getByText('The delegation was confirmed').waitFor(),
  },
  {
    name: 'marketplace-cc-failing',
    path: (w) => `/marketplace/ccs/${w.commitment.id}`,
    async ready(page) {
      await press(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Mark as failed' }).click()
      await page.getByRole('dialog', { name: /^Mark as failed/ }).waitFor()
    },
  },
  {
    name: 'marketplace-cc-draft',
    path: (w) => `/marketplace/ccs/${w.draft.id}`,
    ready: (page) => page.getByText(/^Created for /).waitFor(),
  },
  {
    name: 'marketplace-cc-not-found',
    path: '/marketplace/ccs/00000000-0000-4000-8000-000000000000',
    ready: (page) => page.getByText('There is no such commitment').waitFor(),
  },
]
