/**
 * Converts subnets between their forms: as requested by users, canonical (stored and compared),
 * shown, and audited.
 */
import { formatAddress, formatCidr, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { canonicalExclusions, type SubnetText, totalOf } from '#contract/network/subnet-rules.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import type { SubnetRow } from './store-read.ts'

export interface Wanted extends SubnetText {
  readonly name: string
  readonly datacenter_id: string
  readonly purpose: Subnet['purpose']
}

/** The canonical form of a subnet, which must be valid by `subnetProblems`. */
export function canonical({
  name,
  datacenter_id,
  cidr: text,
  gateway,
  vlan_id,
  exclude,
  first_and_last,
  purpose,
}: Wanted): Wanted {
  const cidr = parseCidr(text)!
  return {
    name,
    datacenter_id,
    cidr: formatCidr(cidr),
    gateway: gateway === null ? null : formatAddress(parseAddress(gateway)!),
    vlan_id,
    exclude: canonicalExclusions(exclude, cidr),
    first_and_last,
    purpose,
  }
}

/** Whether the same addresses may be assigned from two canonical subnets. */
export const handsOutSame = (a: SubnetText, b: SubnetText): boolean =>
  a.cidr === b.cidr &&
  a.gateway === b.gateway &&
  a.first_and_last === b.first_and_last &&
  a.exclude.join() === b.exclude.join()

/** Whether overwriting `a` with `b` would change nothing. Both are canonical. */
export const isSame = (a: Wanted, b: Wanted): boolean =>
  handsOutSame(a, b) &&
  a.name === b.name &&
  a.vlan_id === b.vlan_id &&
  a.purpose === b.purpose &&
  a.datacenter_id === b.datacenter_id

/** The columns of a canonical subnet, without the datacenter, which never changes. */
export function columnsOf(wanted: Wanted) {
  const { datacenter_id: _fixed, ...columns } = wanted
  return { ...columns, exclude: [...wanted.exclude], total: String(totalOf(wanted)) }
}

/** Converts a row to the contract's subnet. */
export const present = ({
  datacenter_id: id,
  datacenter_code: code,
  updated_by: _by,
  scope: _scope,
  ...row
}: SubnetRow): Subnet => ({
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
export const audited = ({
  name,
  cidr,
  gateway,
  vlan_id,
  exclude,
  first_and_last,
  purpose,
  datacenter_code: datacenter,
  version,
}: SubnetRow) => ({
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
