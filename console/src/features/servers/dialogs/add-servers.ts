/** Parses the input of "Add servers": addresses or one CIDR, by the API's rules. */
import { hostsOf, parseAddress, readCidr, sizeOf } from '#contract/network/addresses.ts'
import { addressesAtOnce, addressesListed } from '#contract/servers/servers.ts'
import { listOf } from '../../../lib/text.ts'
import { count } from '../../../lib/units.ts'

/** `count`: number of probed addresses, without the network and broadcast address of a CIDR. */
export type Wanted = { ok: true; body: { addresses: string[] } | { cidr: string }; count: number } | { ok: false; problem: string }

const no = (problem: string): Wanted => ({ ok: false, problem })

export function readAddresses(text: string): Wanted {
  const entries = [...new Set(listOf(text))]
  if (entries.length === 0) return no('Enter at least one address')
  const cidrs = entries.filter((e) => e.includes('/'))
  if (cidrs.length > 0) {
    if (entries.length > 1) return no('Give either addresses or a single CIDR')
    const read = readCidr(cidrs[0]!)
    if (!read.ok) return no(read.corrected === null ? `"${cidrs[0]!.slice(0, 64)}" is not a CIDR` : `Host bits are set: did you mean ${read.corrected}?`)
    if (sizeOf(read.cidr) > BigInt(addressesAtOnce)) return no(`A CIDR may hold at most ${count(addressesAtOnce)} addresses (an IPv4 /22)`)
    return { ok: true, body: { cidr: cidrs[0]! }, count: [...hostsOf(read.cidr)].length }
  }
  const bad = entries.find((e) => parseAddress(e) === null)
  if (bad !== undefined) return no(`"${bad.slice(0, 64)}" is not an IP address`)
  if (entries.length > addressesListed) return no(`${count(entries.length)} addresses are too many: at most ${count(addressesListed)} at once`)
  return { ok: true, body: { addresses: entries }, count: entries.length }
}
