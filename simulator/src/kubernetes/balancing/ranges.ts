import { isIPv4, isIPv6 } from 'node:net'

/** An address as a number, with its family. */
export interface Address {
  value: bigint
  family: 4 | 6
}

/** First to last address, inclusive. */
export interface Range {
  from: bigint
  to: bigint
  family: 4 | 6
  /**
   * Whether the range was written as a CIDR, so that its network and broadcast addresses are known.
   */
  isCidr: boolean
}

/** Null if invalid. */
export const parseAddress = (text: string): Address | null => {
  if (isIPv4(text))
    return {
      value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n),
      family: 4,
    }
  if (!isIPv6(text) || text.includes('%')) return null
  const [head = '', tail] = canonical(text).split('::')
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const all = [
    ...before,
    ...Array.from({ length: 8 - before.length - after.length }, () => '0'),
    ...after,
  ]
  return { value: all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n), family: 6 }
}

/** Canonical IPv6 address, in hexadecimal groups only. */
const canonical = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1)

export const formatAddress = ({ value, family }: Address): string => {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  return canonical(
    Array.from({ length: 8 }, (_, group) =>
      ((value >> BigInt(112 - group * 16)) & 65_535n).toString(16),
    ).join(':'),
  )
}

/** `203.0.113.0/24`; null if invalid. Host bits are dropped. */
export const parseCidr = (text: string): Range | null => {
  const [address = '', length = ''] = text.split('/')
  const parsed = parseAddress(address)
  const bits = parsed?.family === 4 ? 32 : 128
  if (!parsed || !/^\d{1,3}$/.test(length) || Number(length) > bits) return null
  const size = 1n << BigInt(bits - Number(length))
  const from = parsed.value - (parsed.value % size)
  return { from, to: from + size - 1n, family: parsed.family, isCidr: true }
}

/** A range between two addresses of one family; null if invalid. */
export const parseRange = (first: string, last: string): Range | null => {
  const [from, to] = [parseAddress(first), parseAddress(last)]
  if (!from || !to || from.family !== to.family || to.value < from.value) return null
  return { from: from.value, to: to.value, family: from.family, isCidr: false }
}

export const overlap = (one: Range, other: Range): boolean =>
  one.family === other.family && one.from <= other.to && other.from <= one.to
export const contains = (range: Range, { value, family }: Address): boolean =>
  range.family === family && range.from <= value && value <= range.to
export const sizeOf = ({ from, to }: Range): bigint => to - from + 1n
export const rangeText = ({ from, to, family }: Range): string =>
  `${formatAddress({ value: from, family })} - ${formatAddress({ value: to, family })}`
