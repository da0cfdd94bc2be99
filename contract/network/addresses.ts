/**
 * Strict IP addresses and CIDRs: one spelling per IPv4 address (no leading zeros, RFC 6943 §3.1.1),
 * no zones, no IPv4-mapped IPv6. Both the forms and the server use this module.
 */
export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

export interface Cidr {
  readonly family: 4 | 6
  /** First address, host bits zero. */
  readonly base: bigint
  /** Prefix length in bits. */
  readonly prefix: number
}

const bitsOf = (family: 4 | 6) => (family === 4 ? 32 : 128)

const fourOctets = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/

/** Uses numbers instead of bigints for speed: the map of a /16 parses and formats every address. */
function parseIPv4(text: string): bigint | null {
  const octets = fourOctets.exec(text)
  if (!octets) return null
  let value = 0
  for (let i = 1; i <= 4; i++) {
    const octet = Number(octets[i])
    if (octet > 255) return null
    value = value * 256 + octet
  }
  return BigInt(value)
}

function parseIPv6(text: string): bigint | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const groups = (half: string) => (half === '' ? [] : half.split(':'))
  const head = groups(halves[0]!)
  const tail = halves.length === 2 ? groups(halves[1]!) : []
  if (![...head, ...tail].every((g) => /^[0-9a-fA-F]{1,4}$/.test(g))) return null
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  const value = [
    ...head,
    ...Array.from({ length: halves.length === 2 ? missing : 0 }, () => '0'),
    ...tail,
  ].reduce((v, g) => (v << 16n) | BigInt(`0x${g}`), 0n)
  return value >> 32n === 0xffffn ? null : value
}

/** Parses an address. Null if invalid. */
export function parseAddress(text: string): Address | null {
  if (text.length > 45) return null
  const v4 = parseIPv4(text)
  if (v4 !== null) return { family: 4, value: v4 }
  const v6 = text.includes(':') ? parseIPv6(text) : null
  return v6 === null ? null : { family: 6, value: v6 }
}

/** The canonical text (RFC 5952 for IPv6). */
export function formatAddress({ family, value }: Address): string {
  if (family === 4) {
    const bits = Number(value)
    return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`
  }
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  )
  let best = { at: -1, length: 1 }
  for (let at = 0; at < 8; at++) {
    let length = 0
    while (at + length < 8 && groups[at + length] === '0') length++
    if (length > best.length) best = { at, length }
  }
  return best.at < 0
    ? groups.join(':')
    : `${groups.slice(0, best.at).join(':')}::${groups.slice(best.at + best.length).join(':')}`
}

/** A parsed CIDR. `corrected`: if host bits were set, the network that was probably meant. */
export type CidrReading = { ok: true; cidr: Cidr } | { ok: false; corrected: string | null }

export function readCidr(text: string): CidrReading {
  const [host, length, more] = text.split('/')
  const address = parseAddress(host ?? '')
  if (
    !address ||
    length === undefined ||
    more !== undefined ||
    !/^(?:0|[1-9]\d{0,2})$/.test(length)
  )
    return { ok: false, corrected: null }
  const prefix = Number(length)
  const bits = bitsOf(address.family)
  if (prefix > bits) return { ok: false, corrected: null }
  const hostBits = BigInt(bits - prefix)
  const base = (address.value >> hostBits) << hostBits
  const cidr = { family: address.family, base, prefix }
  return base === address.value ? { ok: true, cidr } : { ok: false, corrected: formatCidr(cidr) }
}

/** Parses a CIDR. Null if invalid or with host bits set. */
export function parseCidr(text: string): Cidr | null {
  const read = readCidr(text)
  return read.ok ? read.cidr : null
}

export const formatCidr = ({ family, base, prefix }: Cidr): string =>
  `${formatAddress({ family, value: base })}/${prefix}`

/** Last address of a CIDR, the broadcast address in IPv4. */
export const lastOf = ({ family, base, prefix }: Cidr): bigint =>
  base | ((1n << BigInt(bitsOf(family) - prefix)) - 1n)

/** Number of addresses in a CIDR, including network and broadcast. */
export const sizeOf = (cidr: Cidr): bigint => lastOf(cidr) - cidr.base + 1n

export const contains = (cidr: Cidr, address: Address): boolean =>
  cidr.family === address.family && address.value >= cidr.base && address.value <= lastOf(cidr)

export const overlap = (a: Cidr, b: Cidr): boolean =>
  a.family === b.family && a.base <= lastOf(b) && b.base <= lastOf(a)

/**
 * Host addresses of a CIDR in order: without network and broadcast for IPv4 up to /30 (in a /31
 * both addresses are host addresses, RFC 3021).
 */
export function* hostsOf(cidr: Cidr): Generator<Address> {
  const trim = cidr.family === 4 && cidr.prefix <= 30 ? 1n : 0n
  for (let value = cidr.base + trim; value <= lastOf(cidr) - trim; value++)
    yield { family: cidr.family, value }
}
