/** Ranges of decimal numbers as text, for filters: `10..20`, `10..`, `..20`, or one number. */
import type { RangeFilter } from '../list.ts'

/** Declares that a filter is a range of numbers. `unit` may be empty. */
export const inRange = (unit: string): RangeFilter => ({
  unit,
  accepts: (text) => readRange(text) !== null,
  sentence: 'A range is two numbers such as 32..64, or has one end such as 32.. or ..64',
  shown(text) {
    const range = readRange(text)
    return range === null ? text : rangeWords(range)
  },
  holds(text, value) {
    const { least, most } = readRange(text)!
    return (least === null || value >= Number(least)) && (most === null || value <= Number(most))
  },
})

/** Both ends are included; null: no limit on that side. */
export interface Range {
  readonly least: string | null
  readonly most: string | null
}

/**
 * Compares the numbers exactly: negative if `a` is smaller, 0 if both have the same value (`1.5`
 * and `1.50`), positive if `a` is larger.
 */
function compare(a: string, b: string): number {
  const fractions = [a, b].map((text) => text.split('.')[1] ?? '')
  const digits = Math.max(...fractions.map((fraction) => fraction.length))
  const [x, y] = [a, b].map((text, i) =>
    BigInt(text.split('.')[0]! + fractions[i]!.padEnd(digits, '0')),
  )
  return x! < y! ? -1 : x! > y! ? 1 : 0
}

const pattern = /^(\d{1,12}(?:\.\d{1,12})?)?(?:(\.\.)(\d{1,12}(?:\.\d{1,12})?)?)?$/

/** Null if the text is no range, or if the first number is the larger one. */
export function readRange(text: string): Range | null {
  const match = pattern.exec(text)
  if (!match) return null
  const [, first = null, dots, second = null] = match
  if (first === null && second === null) return null
  const range = { least: first, most: dots === undefined ? first : second }
  return range.least !== null && range.most !== null && compare(range.least, range.most) > 0
    ? null
    : range
}

/** The text of a range; empty without a limit. */
export const writeRange = ({ least, most }: Range): string =>
  least === null && most === null ? '' : `${least ?? ''}..${most ?? ''}`

/** "32–64", "32 or more", "at most 64", "64": a range for display. */
export function rangeWords({ least, most }: Range): string {
  if (least === null) return most === null ? '' : `at most ${most}`
  if (most === null) return `${least} or more`
  return compare(least, most) === 0 ? least : `${least}–${most}`
}
