/** Converts a row to the contract's offer. */
import type { Offer } from '#contract/marketplace/offers.ts'
import type { OfferRow } from './store.ts'

export const present = (row: OfferRow): Offer => ({
  id: row.id,
  cluster: row.cluster_id === null ? null : { id: row.cluster_id, name: row.cluster_name! },
  datacenter:
    row.datacenter_id === null ? null : { id: row.datacenter_id, code: row.datacenter_code! },
  status: row.status,
  resources: row.resources,
  computed_at: row.computed_at.toISOString(),
  price:
    row.price_amount === null
      ? null
      : { amount: row.price_amount, currency: row.price_currency!, basis: row.price_basis! },
  access_address: row.access_address,
  proven_at: row.proven_at?.toISOString() ?? null,
  in_use: row.proven_at !== null,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
