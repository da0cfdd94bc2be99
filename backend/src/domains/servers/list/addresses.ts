/** Addresses of servers, for subnet checks and address maps. */
import {
  type Cidr,
  contains,
  formatAddress,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import type { ServerAddress } from '../api.ts'
import type { Entry } from '../present.ts'
import type { ListedRow } from '../store.ts'

/** Loopback and link-local ranges, which every machine has. */
const everywhere: readonly Cidr[] = ['127.0.0.0/8', '169.254.0.0/16', '::1/128', 'fe80::/10'].map(
  (text) => parseCidr(text)!,
)

/** Cache by row. A changed server has a new row object. */
const known = new WeakMap<ListedRow, readonly ServerAddress[]>()

function addressesOfEntry({ row, facts }: Entry): readonly ServerAddress[] {
  const texts = [row.address, ...facts.linkAddresses]
  const addresses = texts
    .map(parseAddress)
    .filter((a) => a !== null && !everywhere.some((e) => contains(e, a)))
  return [...new Set(addresses.map((a) => formatAddress(a!)))].map((address) => ({
    address,
    name: row.name,
    node_id: row.id,
    datacenter_id: row.datacenter_id,
  }))
}

/** Addresses of all servers that aren't removed. */
export const addressesOf = (entries: Iterable<Entry>): ServerAddress[] =>
  [...entries].flatMap((entry) => {
    const { row } = entry
    if (row.status === 'deleted') return []
    const own = known.get(row) ?? addressesOfEntry(entry)
    known.set(row, own)
    return own
  })
