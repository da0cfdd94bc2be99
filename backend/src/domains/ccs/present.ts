/** Converts a row to the contract's capacity commitment. */
import type { CapacityCommitment, CcPrice } from '#contract/marketplace/ccs.ts'
import { hourlyTotal, priceShown } from '#contract/marketplace/money.ts'
import type { CcRow } from './store.ts'

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null

const priceOf = ({
  price,
  currency,
  basis,
}: Pick<CcRow, 'price' | 'currency' | 'basis'>): CcPrice | null =>
  price === null || currency === null || basis === null ? null : { amount: price, currency, basis }

function offerOf({
  offer_id: id,
  offer_status: status,
  offer_access_address: access_address,
  offer_proven_at,
}: CcRow): CapacityCommitment['offer'] {
  if (id === null || status === null) return null
  return { id, status, access_address, in_use: offer_proven_at !== null }
}

export function present(row: CcRow): CapacityCommitment {
  const { compute_units, cores, memory_bytes, disk_bytes } = row
  const price = priceOf(row)
  return {
    id: row.id,
    status: row.status,
    reason: row.reason,
    server: {
      id: row.server_id,
      name: row.server_name,
      status: row.server_status,
      unreachable_since: timeOf(row.unreachable_since),
    },
    datacenter:
      row.datacenter_id !== null && row.datacenter_code !== null
        ? { id: row.datacenter_id, code: row.datacenter_code }
        : null,
    cluster:
      row.cluster_id !== null && row.cluster_name !== null
        ? { id: row.cluster_id, name: row.cluster_name }
        : null,
    offer: offerOf(row),
    // One core is sold as two vCPUs.
    capacity: {
      compute_units,
      cores,
      vcpu: cores === null ? null : 2 * cores,
      memory_bytes,
      disk_bytes,
    },
    price,
    price_per_hour: price && hourlyTotal(price, { servers: 1, compute_units }),
    starts_at: timeOf(row.starts_at),
    expires_at: timeOf(row.expires_at),
    committed_at: timeOf(row.committed_at),
    committed_by: row.committed_by,
    delegated_at: timeOf(row.delegated_at),
    delegated_by: row.delegated_by,
    started_at: timeOf(row.started_at),
    ended_at: timeOf(row.ended_at),
    version: row.version,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

/** The audited fields of a commitment. The texts of its events use some of them. */
export function audited(row: CcRow) {
  const price = priceOf(row)
  return {
    server: row.server_name,
    status: row.status,
    ...(row.reason !== null && { reason: row.reason }),
    offer_id: row.offer_id,
    ...(price && { price: priceShown(price) }),
    compute_units: row.compute_units,
    starts_at: timeOf(row.starts_at),
    expires_at: timeOf(row.expires_at),
  }
}
