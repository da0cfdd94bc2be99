/** Which addresses servers have: for the networks that must not hand them out, and for the map of those that do. */
import { type Cidr, contains, formatAddress, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import type { Entry } from '../present.ts'
import type { ServerRow } from '../store.ts'

export interface ServerAddress {
  /** In its one spelling, without a prefix. */
  readonly address: string
  readonly name: string
  readonly node_id: string
  readonly datacenter_id: string | null
}

/** Every machine has these, so they are no place of one. */
const everywhere: readonly Cidr[] = ['127.0.0.0/8', '169.254.0.0/16', '::1/128', 'fe80::/10'].map((text) => parseCidr(text)!)

/** Of rows as they are: a server that changes has a new one. */
const known = new WeakMap<ServerRow, readonly ServerAddress[]>()

function addressesOfRow(row: ServerRow): readonly ServerAddress[] {
  const texts = [row.address, ...(row.hardware?.links ?? []).flatMap((l) => l.addresses.map((a) => a.split('/', 1)[0]!))]
  const addresses = texts.map(parseAddress).filter((a) => a !== null && !everywhere.some((e) => contains(e, a)))
  return [...new Set(addresses.map((a) => formatAddress(a!)))].map((address) => ({
    address,
    name: row.name,
    node_id: row.id,
    datacenter_id: row.datacenter_id,
  }))
}

/** Those of servers that aren't removed. */
export function addressesOf(entries: Iterable<Entry>): ServerAddress[] {
  const found: ServerAddress[] = []
  for (const { row } of entries) {
    if (row.status === 'deleted') continue
    const own = known.get(row) ?? addressesOfRow(row)
    known.set(row, own)
    found.push(...own)
  }
  return found
}
