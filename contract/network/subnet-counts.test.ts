import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cidr, formatAddress, formatCidr, lastOf, parseAddress } from './addresses.ts'
import {
  formatRange,
  inRange,
  mergeRanges,
  type Range,
  rangeOfCidr,
  readRange,
  sizeOfRanges,
} from './address-ranges.ts'
import {
  canonicalExclusions,
  piecesOf,
  readExclusions,
  type SubnetText,
  totalOf,
  usableRange,
} from './subnet-rules.ts'

/** A seeded random generator (mulberry32), so failures can be repeated. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * A random subnet with exclusions in every form and sometimes a gateway. IPv4 prefixes are from
 * `widest` to 32. IPv6 subnets have the same range of sizes.
 */
function randomSubnet(
  random: () => number,
  family: 4 | 6,
  widest: number,
): { subnet: SubnetText; cidr: Cidr } {
  const bits = family === 4 ? 32 : 128
  const prefix = bits - Math.floor(random() * (33 - widest))
  const high =
    family === 4
      ? BigInt(Math.floor(random() * 2 ** 32))
      : (0x20010db8n << 96n) | BigInt(Math.floor(random() * 2 ** 32))
  const hostBits = BigInt(bits - prefix)
  const cidr = { family, base: (high >> hostBits) << hostBits, prefix }
  const size = lastOf(cidr) - cidr.base + 1n
  const any = () => cidr.base + BigInt(Math.floor(random() * Number(size)))
  const spell = (value: bigint) => formatAddress({ family, value })
  const entry = (): string => {
    const [a, b] = [any(), any()]
    const kind = random()
    if (kind < 0.4) return spell(a)
    if (kind < 0.7) {
      // At most 16 addresses, so that the exclusions don't cover the whole subnet.
      const last = a + (b % 16n)
      return `${spell(a)}-${spell(last > lastOf(cidr) ? lastOf(cidr) : last)}`
    }
    const part = Math.min(bits, Math.max(prefix + 1, bits - Math.floor(random() * 4)))
    return formatCidr({
      family,
      base: (a >> BigInt(bits - part)) << BigInt(bits - part),
      prefix: part,
    })
  }
  const subnet = {
    cidr: formatCidr(cidr),
    gateway: random() < 0.6 ? spell(any()) : null,
    vlan_id: null,
    exclude: Array.from({ length: Math.floor(random() * 5) }, () =>
      Array.from({ length: 1 + Math.floor(random() * 2) }, entry).join(', '),
    ),
    first_and_last: random() < 0.3,
  }
  return { subnet, cidr }
}

test('each address of a random CIDR belongs to exactly one of: a piece, an exclusion, the gateway, the reserved addresses', () => {
  const random = seeded(20261120)
  let inUse = 0
  for (let n = 0; n < 10_000; n++) {
    const { subnet, cidr } = randomSubnet(random, random() < 0.7 ? 4 : 6, 20)
    const whole = rangeOfCidr(cidr)
    const usable = usableRange(cidr, subnet.first_and_last)
    const pieces = piecesOf(subnet)
    const read = readExclusions(subnet.exclude, cidr)
    if (!read.ok) throw new Error(`${read.reason} of ${JSON.stringify(subnet)}`)
    const holes = [
      ...read.entries.map((e) => e.range),
      ...(subnet.gateway === null ? [] : [readRangeOf(subnet.gateway)]),
    ]
    const ends = [
      ...(usable.first > whole.first ? [{ ...whole, last: usable.first - 1n }] : []),
      ...(usable.last < whole.last ? [{ ...whole, first: usable.last + 1n }] : []),
    ]
    const found = {
      subnet,
      together: mergeRanges([...pieces, ...holes, ...ends]),
      unusable: pieces.filter((p) => p.first < usable.first || p.last > usable.last),
      // Pieces that overlap or touch the previous piece.
      touching: pieces.filter((p, i) => i > 0 && p.first <= pieces[i - 1]!.last + 1n),
      inHoles: pieces.filter((p) => holes.some((h) => p.last >= h.first && p.first <= h.last)),
    }
    expect(found).toEqual({ subnet, together: [whole], unusable: [], touching: [], inHoles: [] })
    if (pieces.length > 0) inUse++
  }
  expect(inUse).toBeGreaterThan(7_000)
})

const readRangeOf = (entry: string): Range => {
  const read = readRange(entry)
  if (!read.ok) throw new Error(entry)
  return read.range
}

/** Counts address by address from the written rule, without the tested code. */
function bruteForce(subnet: SubnetText, cidr: Cidr): bigint[] {
  const left: bigint[] = []
  const bits = cidr.family === 4 ? 32 : 128
  const last = cidr.base + 2n ** BigInt(bits - cidr.prefix) - 1n
  const small = bits - cidr.prefix <= 1
  const isExcluded = (value: bigint) =>
    subnet.exclude
      .flatMap((line) => line.split(', '))
      .some((entry) => {
        const [from, to] = entry.split('-')
        const [host, length] = from!.split('/')
        const start = parseAddress(host!)!.value
        const end =
          to !== undefined
            ? parseAddress(to)!.value
            : length !== undefined
              ? start + 2n ** BigInt(bits - Number(length)) - 1n
              : start
        return value >= start && value <= end
      })
  for (let value = cidr.base; value <= last; value++) {
    if (
      !subnet.first_and_last &&
      !small &&
      (value === cidr.base || (cidr.family === 4 && value === last))
    )
      continue
    if (subnet.gateway !== null && parseAddress(subnet.gateway)!.value === value) continue
    if (!isExcluded(value)) left.push(value)
  }
  return left
}

test('the numbers of addresses agree with an address-by-address count from /24 to /32', () => {
  const random = seeded(7)
  for (let n = 0; n < 400; n++) {
    const { subnet, cidr } = randomSubnet(random, random() < 0.8 ? 4 : 6, 24)
    const counted = bruteForce(subnet, cidr)
    const handedOut = new Set(counted)
    const pieces = piecesOf(subnet)
    const every = Array.from(
      { length: Number(lastOf(cidr) - cidr.base) + 1 },
      (_, i) => cidr.base + BigInt(i),
    )
    const wrong = every.filter(
      (value) =>
        pieces.some((p) => inRange(p, { family: cidr.family, value })) !== handedOut.has(value),
    )
    expect({ subnet, total: totalOf(subnet), wrong }).toEqual({
      subnet,
      total: BigInt(counted.length),
      wrong: [],
    })
  }
})

test('canonical exclusions contain the same addresses, and canonicalising them again changes nothing', () => {
  const random = seeded(42)
  for (let n = 0; n < 2_000; n++) {
    const { subnet, cidr } = randomSubnet(random, random() < 0.7 ? 4 : 6, 20)
    const once = canonicalExclusions(subnet.exclude, cidr)
    expect(canonicalExclusions(once, cidr)).toEqual(once)
    expect(piecesOf({ ...subnet, exclude: once })).toEqual(piecesOf(subnet))
    expect(canonicalExclusions(once.toReversed(), cidr)).toEqual(once)
  }
})

test('a formatted range parses back to itself', () => {
  const address = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })
  fc.assert(
    fc.property(address, address, (a, b) => {
      const [first, last] = a < b ? [a, b] : [b, a]
      const range = { family: 4 as const, first, last }
      expect(readRange(formatRange(range))).toEqual({ ok: true, range })
      expect(sizeOfRanges([range])).toBe(last - first + 1n)
    }),
  )
})
