import type { Datacenter } from '#contract/datacenters.ts'
import type { DatacenterRow } from './store.ts'

/** The contents of a datacenter, counted by the domains that own them. */
export interface Content {
  readonly servers: number
  readonly clusters: number
  readonly subnets: number
  readonly compute_units: { readonly total: number; readonly free: number }
}
export const nothing: Content = { servers: 0, clusters: 0, subnets: 0, compute_units: { total: 0, free: 0 } }

/** Row → contract. The only place where a datacenter's columns become its fields. */
export const present = ({ index: _index, ...row }: DatacenterRow, content: Content): Datacenter => ({
  ...row,
  tier: row.tier as Datacenter['tier'],
  ...content,
  compute_units: { total: content.compute_units.total, free: content.compute_units.free },
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
