/** Ranges of addresses at which no machine can be reached, and their names. */
import { type Address, type Cidr, contains, parseAddress, parseCidr } from './addresses.ts'

const range = (text: string): Cidr => parseCidr(text)!
/**
 * Never usable: IANA special-purpose registries (RFC 6890), RFC 1112 §4, RFC 4291 §2.4 and §2.7.
 * Narrower ranges first.
 */
export const refused: readonly [Cidr, string][] = [
  [range('0.0.0.0/8'), '"this network"'],
  [range('127.0.0.0/8'), 'loopback'],
  [range('169.254.0.0/16'), 'link-local'],
  [range('224.0.0.0/4'), 'multicast'],
  [range('240.0.0.0/4'), 'reserved'],
  [range('::/127'), 'loopback'],
  // Includes NAT64, IPv4-compatible and IPv4-mapped addresses.
  [range('::/8'), 'reserved'],
  [range('fe80::/10'), 'link-local'],
  [range('ff00::/8'), 'multicast'],
]

/** The name of the special range that an address lies in, or null. */
const specialRange = (address: Address): string | null =>
  refused.find(([cidr]) => contains(cidr, address))?.[1] ?? null

/** Whether an address leads to the machine itself: 127.0.0.0/8 or ::1. */
export const isLoopback = (address: Address): boolean =>
  specialRange(address) === 'loopback' && !(address.family === 6 && address.value === 0n)

/**
 * Why nobody can reach a host over a network, or null. Loopback addresses are left to the caller,
 * because simulated machines have them.
 */
export function unreachableReason(host: string): string | null {
  const address = parseAddress(host)
  if (address === null)
    return /^(?:.+\.)?localhost\.?$/i.test(host)
      ? `${host} leads each machine to itself: nobody else can reach it`
      : null
  if (isLoopback(address)) return null
  if (address.value === 0n || (address.family === 6 && address.value === 1n))
    return `${host} is the unspecified address: nobody can reach it`
  if (address.family === 4 && address.value === 2n ** 32n - 1n)
    return `${host} is the broadcast address: nobody can reach it`
  const special = specialRange(address)
  // NAT64 lies in the range that is reserved in IPv6.
  return special === null || (special === 'reserved' && address.family === 6)
    ? null
    : `${host} is a ${special} address: nobody can reach it`
}
