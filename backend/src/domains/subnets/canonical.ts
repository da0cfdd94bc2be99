/** A subnet as a person wants it, in the one spelling that is stored and compared. */
import { formatAddress, formatCidr, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { canonicalExclusions, type SubnetText, totalOf } from '#contract/network/subnet-rules.ts'
import type { Subnet } from '#contract/network/subnets.ts'

export interface Wanted extends SubnetText {
  readonly name: string
  readonly datacenter_id: string
  readonly purpose: Subnet['purpose']
}

/** The text must be valid: `subnetProblems` says so. */
export function canonical({ name, datacenter_id, cidr: text, gateway, vlan_id, exclude, first_and_last, purpose }: Wanted): Wanted {
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

/** Whether both hand out the same addresses. Both canonical. */
export const handsOutSame = (a: SubnetText, b: SubnetText): boolean =>
  a.cidr === b.cidr && a.gateway === b.gateway && a.first_and_last === b.first_and_last && a.exclude.join() === b.exclude.join()

/** Whether writing `b` over `a` would change nothing. Both canonical. */
export const isSame = (a: Wanted, b: Wanted): boolean =>
  handsOutSame(a, b) && a.name === b.name && a.vlan_id === b.vlan_id && a.purpose === b.purpose && a.datacenter_id === b.datacenter_id

/** The columns of a canonical subnet, without the datacenter, which never changes. */
export function columnsOf(wanted: Wanted) {
  const { datacenter_id: _fixed, ...columns } = wanted
  return { ...columns, exclude: [...wanted.exclude], total: String(totalOf(wanted)) }
}
