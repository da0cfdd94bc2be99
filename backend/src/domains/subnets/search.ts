/** The search of subnets: by an address, a CIDR, or part of a name or a CIDR. */
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { formatAddress, formatCidr, parseAddress, readCidr } from '#contract/network/addresses.ts'
import { likePattern } from '../../db/db.ts'

/** Part of an IPv6 text as PostgreSQL would write it: lower case, groups without leading zeros. */
const asWritten = (text: string): string =>
  /^[0-9a-f:/]+$/i.test(text) && text.includes(':') ? text.toLowerCase().replaceAll(/(^|:)0+(?=[0-9a-f])/g, '$1') : text

/**
 * Addresses and CIDRs are compared by value, so that any spelling finds them: an address finds the subnets that hold it, a CIDR those that it touches;
 * of one with host bits set, the network that was probably meant.
 */
export function search(q: string): RawBuilder<SqlBool> {
  const address = parseAddress(q)
  if (address) return sql<SqlBool>`subnet.cidr >>= ${formatAddress(address)}::inet`
  const read = readCidr(q)
  const cidr = read.ok ? formatCidr(read.cidr) : read.corrected
  if (cidr !== null) return sql<SqlBool>`subnet.cidr && ${cidr}::inet`
  const pattern = likePattern(asWritten(q))
  return sql<SqlBool>`(subnet.name ilike ${pattern} or subnet.cidr::text ilike ${pattern})`
}
