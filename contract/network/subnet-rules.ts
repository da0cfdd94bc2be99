/**
 * Rules of subnets with their sentences: when a subnet is valid, and which of its addresses may be
 * assigned. Used by the form, the import, the API and the tests. Rules that need the database
 * (overlap, names, uses) are in the backend.
 */
import {
  type Cidr,
  contains,
  formatCidr,
  lastOf,
  overlap,
  parseAddress,
  parseCidr,
  readCidr,
} from './addresses.ts'
import {
  formatRange,
  mergeRanges,
  type Range,
  rangeOfAddress,
  rangeOfCidr,
  readRange,
  sizeOfRanges,
  withoutRanges,
} from './address-ranges.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { count, counted } from '../words.ts'
import { refused } from './special-ranges.ts'

export interface SubnetText {
  readonly cidr: string
  readonly gateway: string | null
  readonly vlan_id: number | null
  /** The entered lines. A line may contain several entries, separated by commas. */
  readonly exclude: readonly string[]
  readonly first_and_last: boolean
}

/**
 * Sentence per field: `cidr`, `gateway`, `exclude`. `corrected`: the CIDR that was probably meant
 * if host bits were set.
 */
export interface SubnetProblems {
  readonly fields: Readonly<Record<string, string>>
  readonly corrected: string | null
}

export interface Exclusion {
  readonly range: Range
  /** Counts from 1. */
  readonly line: number
  readonly text: string
}

/** Documentation ranges (RFC 5737, RFC 3849, RFC 9637): allowed with a warning, for trials. */
const documentation: readonly Cidr[] = [
  '192.0.2.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '2001:db8::/32',
  '3fff::/20',
].map((text) => parseCidr(text)!)
/**
 * Private space (RFC 1918, RFC 6598, RFC 4193): each range may be used once per datacenter. All
 * other space is globally unique.
 */
const privateRanges: readonly Cidr[] = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
].map((text) => parseCidr(text)!)

const within = (inner: Cidr, outer: Cidr) =>
  inner.family === outer.family &&
  inner.prefix >= outer.prefix &&
  contains(outer, { family: inner.family, value: inner.base })
export const isPrivate = (cidr: Cidr): boolean => privateRanges.some((p) => within(cidr, p))

const example = 'Enter a subnet in CIDR notation, for example 203.0.113.0/24'
const prefixBounds = { 4: [8, 32], 6: [32, 128] } as const
const wrongPrefix = (family: 4 | 6) =>
  `Prefix length must be between /${prefixBounds[family][0]} and /${prefixBounds[family][1]}`

export type SubnetCidrReading =
  | { ok: true; cidr: Cidr }
  | { ok: false; reason: string; corrected: string | null }
const refuse = (reason: string, corrected: string | null = null): SubnetCidrReading => ({
  ok: false,
  reason,
  corrected,
})

/** Parses a subnet's CIDR; returns the reason if the CIDR is not allowed. */
export function readSubnetCidr(entered: string): SubnetCidrReading {
  const text = entered.trim()
  if (text === '') return refuse('CIDR is required')
  const read = readCidr(text)
  if (read.ok) return judgeCidr(read.cidr)
  if (read.corrected === null) return refuse(longPrefix(text) ?? example)
  // Suggests only a CIDR that would be accepted.
  const meant = judgeCidr(parseCidr(read.corrected)!)
  return meant.ok
    ? refuse(`${text} is not a network address. Did you mean ${read.corrected}?`, read.corrected)
    : meant
}

/** The sentence for a prefix that is too long for the address family, such as `10.0.0.0/33`. */
function longPrefix(text: string): string | null {
  const [host, length, more] = text.split('/')
  const address = parseAddress(host!)
  return address && more === undefined && /^[1-9]\d{0,2}$/.test(length ?? '')
    ? wrongPrefix(address.family)
    : null
}

function judgeCidr(cidr: Cidr): SubnetCidrReading {
  const inside = refused.find(([special]) => within(cidr, special))
  if (inside) return refuse(`${formatCidr(inside[0])} is a ${inside[1]} range and cannot be used`)
  const contained = [...refused, ...privateRanges.map((p) => [p, 'private'] as const)].find(
    ([special]) => within(special, cidr) && special.prefix !== cidr.prefix,
  )
  if (contained)
    return refuse(
      `${formatCidr(cidr)} contains ${contained[1]} range ${formatCidr(contained[0])}; enter smaller subnets`,
    )
  const [shortest, longest] = prefixBounds[cidr.family]
  return cidr.prefix < shortest || cidr.prefix > longest
    ? refuse(wrongPrefix(cidr.family))
    : { ok: true, cidr }
}

/** Also the maximum length of a list in a request body. */
export const mostExclusions = 1000
export const tooManyExclusions = `At most ${mostExclusions} exclusions`
/**
 * Exclusions of all subnets together, because a file of all subnets names each of them. What an
 * older version stored above it stays, and may be made smaller or removed.
 */
export const mostExclusionsInAll = 100_000
/**
 * Whether all subnets together may have so many exclusions.
 * @param before the number that they have now
 */
export const canHaveExclusions = (exclusions: number, before: number): Verdict =>
  exclusions <= mostExclusionsInAll || exclusions <= before
    ? yes
    : no(
        `All subnets together would have ${counted(exclusions, 'exclusion')}, and they can have ${count(mostExclusionsInAll)} at most: write addresses that follow each other as one range`,
      )

/** `line` is null if the problem concerns all entries; `what` is the sentence without the line. */
export type ExclusionsReading =
  | { ok: true; entries: Exclusion[] }
  | { ok: false; line: number | null; what: string; reason: string }

/**
 * Parses entries, one per line or separated by commas, and reports the first wrong one with its
 * line. If the CIDR is null, only the spelling is checked.
 */
export function readExclusions(lines: readonly string[], cidr: Cidr | null): ExclusionsReading {
  const entries: Exclusion[] = []
  for (const [at, content] of lines.entries()) {
    const line = at + 1
    const wrong = (what: string): ExclusionsReading => ({
      ok: false,
      line,
      what,
      reason: `Line ${line}: ${what}`,
    })
    for (const text of content.split(',').map((entry) => entry.trim())) {
      if (text === '') continue
      const read = readRange(text)
      if (!read.ok)
        return wrong(
          read.why === 'order'
            ? 'range end is before its start'
            : `"${shortened(text)}" is not an IP address, CIDR or range`,
        )
      if (
        cidr &&
        (read.range.family !== cidr.family ||
          read.range.first < cidr.base ||
          read.range.last > lastOf(cidr))
      )
        return wrong(`${text} is outside ${formatCidr(cidr)}`)
      entries.push({ range: read.range, line, text })
      if (entries.length > mostExclusions)
        return { ok: false, line: null, what: tooManyExclusions, reason: tooManyExclusions }
    }
  }
  return { ok: true, entries }
}

const shortened = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 80)}…`)

/**
 * Addresses for hosts. IPv4 up to /30: all but the first and last; /31: both (RFC 3021). IPv6 up to
 * /126: all but the first (RFC 4291 §2.6.1).
 */
export function usableRange(cidr: Cidr, firstAndLast: boolean): Range {
  const whole = rangeOfCidr(cidr)
  if (firstAndLast) return whole
  if (cidr.family === 4)
    return cidr.prefix <= 30 ? { ...whole, first: whole.first + 1n, last: whole.last - 1n } : whole
  return cidr.prefix <= 126 ? { ...whole, first: whole.first + 1n } : whole
}

/**
 * The ranges from which a cluster may assign addresses: usable addresses without gateway and
 * exclusions, sorted and disjoint. The subnet must be valid.
 */
export function piecesOf(subnet: SubnetText): Range[] {
  const cidr = parseCidr(subnet.cidr)
  const excluded = cidr && readExclusions(subnet.exclude, cidr)
  if (!cidr || !excluded?.ok) throw new Error(`Not a valid subnet: ${subnet.cidr}`)
  const gateway = subnet.gateway === null ? null : parseAddress(subnet.gateway)
  const holes = [
    ...excluded.entries.map((e) => e.range),
    ...(gateway ? [rangeOfAddress(gateway)] : []),
  ]
  return withoutRanges(usableRange(cidr, subnet.first_and_last), holes)
}

/** Number of addresses that a cluster may assign. */
export const totalOf = (subnet: SubnetText): bigint => sizeOfRanges(piecesOf(subnet))

/** Canonical exclusions: sorted, joined, CIDRs as ranges. The exclusions must be valid. */
export function canonicalExclusions(lines: readonly string[], cidr: Cidr): string[] {
  const read = readExclusions(lines, cidr)
  if (!read.ok) throw new Error(read.reason)
  return mergeRanges(read.entries.map((e) => e.range)).map(formatRange)
}

/** Checks every rule that needs only the subnet itself. An empty result means valid. */
export function subnetProblems(subnet: SubnetText): SubnetProblems {
  const read = readSubnetCidr(subnet.cidr)
  const cidr = read.ok ? read.cidr : null
  const fields: Record<string, string> = read.ok ? {} : { cidr: read.reason }
  const gateway = gatewayProblem(subnet.gateway, cidr)
  if (gateway) fields['gateway'] = gateway
  const excluded = readExclusions(subnet.exclude, cidr)
  if (!excluded.ok) fields['exclude'] = excluded.reason
  else if (cidr && !gateway && totalOf(subnet) === 0n)
    fields['exclude'] = 'No usable addresses remain after exclusions'
  return { fields, corrected: read.ok ? null : read.corrected }
}

function gatewayProblem(text: string | null, cidr: Cidr | null): string | null {
  if (text === null) return null
  const gateway = parseAddress(text)
  if (!gateway) return 'Gateway must be an IP address'
  if (!cidr) return null
  if (cidr.prefix === (cidr.family === 4 ? 32 : 128))
    return `A /${cidr.prefix} subnet has no room for a gateway`
  if (!contains(cidr, gateway)) return `Gateway must be inside ${formatCidr(cidr)}`
  const isEdge = gateway.value === cidr.base || gateway.value === lastOf(cidr)
  return cidr.family === 4 && cidr.prefix <= 30 && isEdge
    ? 'Gateway cannot be the network or broadcast address'
    : null
}

/** Warnings about values that are allowed but probably a mistake. */
export function subnetWarnings(subnet: SubnetText): string[] {
  const cidr = parseCidr(subnet.cidr)
  const exemplary = cidr && documentation.find((d) => overlap(d, cidr))
  return [
    ...(exemplary
      ? [
          `${formatCidr(exemplary)} is set aside for documentation: nothing on the internet is routed there`,
        ]
      : []),
    ...(subnet.vlan_id === 1 ? ['VLAN 1 is the default VLAN of most switches'] : []),
  ]
}

/**
 * Used addresses in per cent with one decimal: never 0 if something is used, never 100 if something
 * is free. Null if unknown.
 */
export function utilisation(used: number | null, total: number | null): string | null {
  if (used === null || total === null || total === 0) return null
  if (used === 0) return '0 %'
  const percent = Math.min((used / total) * 100, 100)
  if (percent < 0.1) return '<0.1 %'
  return `${percent === 100 ? '100' : Math.min(Math.round(percent * 10) / 10, 99.9).toFixed(1)} %`
}
