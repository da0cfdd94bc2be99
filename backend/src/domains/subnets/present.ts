import type { Subnet } from '#contract/network/subnets.ts'
import type { SubnetRow } from './store-read.ts'

/** Row → contract. The only place where a subnet's columns become its fields. */
export const present = ({ datacenter_id: id, datacenter_code: code, updated_by: _by, ...row }: SubnetRow): Subnet => ({
  ...row,
  type: row.cidr.includes(':') ? 'IPv6' : 'IPv4',
  datacenter: { id, code },
  clusters: [...row.clusters],
  total: Number(row.total) <= Number.MAX_SAFE_INTEGER ? Number(row.total) : null,
  observed_at: row.observed_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** The audited fields of a subnet, without observed ones. */
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
