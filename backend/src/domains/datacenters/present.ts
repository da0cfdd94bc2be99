import type { Datacenter } from '#contract/datacenters.ts'
import type { DatacenterRow } from './store.ts'

/** What stands in a datacenter, as the domains of those things count it. */
export interface Content {
  readonly servers: number
  readonly clusters: number
  readonly subnets: number
  readonly compute_units: { readonly total: number; readonly free: number }
}
export const nothing: Content = { servers: 0, clusters: 0, subnets: 0, compute_units: { total: 0, free: 0 } }

/** Row → contract. The only place where a datacenter's columns become its fields. */
export const present = (row: DatacenterRow, content: Content): Datacenter => ({
  id: row.id,
  code: row.code,
  country_code: row.country_code,
  city_code: row.city_code,
  city_name: row.city_name,
  tier: row.tier as Datacenter['tier'],
  certifications: row.certifications,
  latitude: row.latitude,
  longitude: row.longitude,
  facility: row.facility,
  address: row.address,
  power_capacity_kw: row.power_capacity_kw,
  rack_capacity: row.rack_capacity,
  notes: row.notes,
  servers: content.servers,
  clusters: content.clusters,
  subnets: content.subnets,
  compute_units: { total: content.compute_units.total, free: content.compute_units.free },
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
