/** Addresses and networks of configurations, as numbers. */
import { isIPv4, isIPv6 } from 'node:net'

export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

/** An address with the length of its network's prefix. */
export interface Prefix extends Address {
  readonly length: number
}

const bitsOf = { 4: 32, 6: 128 } as const

/** The address in a text, or undefined. A zone is left out. */
export function addressOf(text: string): Address | undefined {
  const bare = text.split('%', 1)[0]!
  if (isIPv4(bare)) return { family: 4, value: join(bare.split('.').map(BigInt), 8n) }
  if (!isIPv6(bare)) return undefined
  // The last 32 bits may be written as an IPv4 address (RFC 4291, 2.2).
  const last4 = bare.slice(bare.lastIndexOf(':') + 1)
  const tail = last4.includes('.') ? last4 : undefined
  const low = tail === undefined ? 0n : addressOf(tail)!.value
  const hex =
    tail === undefined
      ? bare
      : `${bare.slice(0, -tail.length)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`
  const [head = '', end] = hex.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const [first, last] = [groups(head), groups(end ?? '')]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  const all = [...first, ...zeros, ...last].map((group) => BigInt(`0x${group}`))
  return { family: 6, value: join(all, 16n) }
}

const join = (parts: readonly bigint[], bits: bigint): bigint =>
  parts.reduce((sum, part) => (sum << bits) | part, 0n)

/** The prefix in a text such as `10.1.2.3/24`. An address alone has all bits. */
export function prefixOf(text: string): Prefix | undefined {
  const [bare = '', length] = text.split('/')
  const address = addressOf(bare)
  if (address === undefined) return undefined
  const most = bitsOf[address.family]
  const bits = length === undefined ? most : Number(length)
  return Number.isInteger(bits) && bits >= 0 && bits <= most
    ? { ...address, length: bits }
    : undefined
}

/** Whether the network of a prefix contains an address. */
export function contains(prefix: Prefix, { family, value }: Address): boolean {
  const rest = BigInt(bitsOf[prefix.family] - prefix.length)
  return prefix.family === family && prefix.value >> rest === value >> rest
}

/** Whether the text of a prefix contains an address; false for other texts. */
export function includes(text: string, address: Address): boolean {
  const prefix = prefixOf(text)
  return prefix !== undefined && contains(prefix, address)
}

export const isSame = (a: Address, b: Address): boolean =>
  a.family === b.family && a.value === b.value

/** The address of a text without its prefix length. */
export const bare = (text: string): string => text.split('/', 1)[0]!
