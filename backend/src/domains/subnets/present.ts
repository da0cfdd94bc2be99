import type { Subnet } from '#contract/network/subnets.ts'
import type { SubnetRow } from './store-shown.ts'

/** Row → contract. The only place where a subnet's columns become its fields. */
export const present = (row: SubnetRow): Subnet => ({
  id: row.id,
  name: row.name,
  type: row.cidr.includes(':') ? 'IPv6' : 'IPv4',
  cidr: row.cidr,
  gateway: row.gateway,
  vlan_id: row.vlan_id,
  exclude: row.exclude,
  first_and_last: row.first_and_last,
  purpose: row.purpose,
  datacenter: { id: row.datacenter_id, code: row.datacenter_code },
  clusters: [...row.clusters],
  status: row.status,
  reason: row.reason,
  total: Number(row.total) <= Number.MAX_SAFE_INTEGER ? Number(row.total) : null,
  used: row.used,
  observed_at: row.observed_at?.toISOString() ?? null,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** What the audit log keeps of a subnet: what people write, and not what is seen of it. */
export const audited = ({ name, cidr, gateway, vlan_id, exclude, first_and_last, purpose, datacenter_code: datacenter, version }: SubnetRow) => ({
  name,
  cidr,
  gateway,
  vlan_id,
  exclude,
  first_and_last,
  purpose,
  datacenter,
  version,
})
