/**
 * Money as decimal text, such as "0.0625": floats can't represent most decimal fractions, so
 * amounts are never numbers. Products are exact, because they are computed with integers. Amounts
 * are rounded only where they are shown.
 */
import type { Words } from '../operation.ts'
import * as z from 'zod/mini'
import { count } from '../words.ts'

/** Digits before and after the point. They fit into PostgreSQL's numeric(20, 8). */
const digits = { whole: 12, fraction: 8 } as const
const unitsPerOne = 10n ** BigInt(digits.fraction)
const amountPattern = /^\d{1,12}(?:\.\d{1,8})?$/
const amountSentence = `An amount is a decimal number such as 12.50, not negative, with at most ${digits.whole} digits before the point and ${digits.fraction} after it`

/** Units of 10^-8 of a valid amount. */
function unitsOf(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole) * unitsPerOne + BigInt(fraction.padEnd(digits.fraction, '0'))
}

function textOf(units: bigint): string {
  const fraction = String(units % unitsPerOne)
    .padStart(digits.fraction, '0')
    .replace(/(?<!0)0+$/, '')
  return `${units / unitsPerOne}${fraction === '' ? '' : `.${fraction}`}`
}

/**
 * A valid amount without superfluous zeros, as it is stored and compared. The schema refuses other
 * text, which is returned unchanged.
 */
const canonical = (amount: string): string =>
  amountPattern.test(amount) ? textOf(unitsOf(amount)) : amount

/** Schema of an amount. The output has no superfluous zeros: "012.50" becomes "12.5". */
export const Amount = z
  .string(`${amountSentence}, as text in quotes`)
  .check(
    z.trim(),
    z.maxLength(digits.whole + 1 + digits.fraction, amountSentence),
    z.regex(amountPattern, amountSentence),
    z.overwrite(canonical),
  )

/** Code of ISO 4217 such as EUR, or the symbol of a token, such as USDC. */
export const Currency = z
  .string()
  .check(
    z.trim(),
    z.maxLength(5, 'A currency is written in 3 to 5 capital letters, such as EUR'),
    z.regex(/^[A-Z]{3,5}$/, 'A currency is written in 3 to 5 capital letters, such as EUR'),
  )

/** What one hour of the price pays for. */
export const priceBases = ['compute_unit', 'server', 'cluster'] as const
export type PriceBasis = (typeof priceBases)[number]

/** Price per hour. */
export const Price = z.strictObject({
  amount: Amount,
  currency: Currency,
  basis: z.enum(priceBases),
})
export type Price = z.infer<typeof Price>

/** The exact product of an amount and a whole number. */
export const times = (amount: string, factor: number): string =>
  textOf(unitsOf(amount) * BigInt(factor))

/** "12.5" → "12.50", "0.0625" stays: all digits of the amount, but at least two after the point. */
export function amountShown(amount: string): string {
  const [whole = '0', fraction = ''] = canonical(amount).split('.')
  return `${count(BigInt(whole))}.${fraction.padEnd(2, '0')}`
}

/** Words after an amount and its currency. */
export const perHour: Readonly<Record<PriceBasis, string>> = {
  compute_unit: 'per CU and hour',
  server: 'per server and hour',
  cluster: 'per hour',
}

/** "0.05 EUR per CU and hour". */
export const priceShown = ({ amount, currency, basis }: Price): string =>
  `${amountShown(amount)} ${currency} ${perHour[basis]}`

/** What an hour costs in total. Null if the number of priced units is unknown. */
export function hourlyTotal(
  { amount, basis }: Price,
  of: { readonly servers: number | null; readonly compute_units: number | null },
): string | null {
  if (basis === 'cluster') return canonical(amount)
  const units = basis === 'server' ? of.servers : of.compute_units
  return units === null ? null : times(amount, units)
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Price: [
      Price,
      'A price per hour. The amount is decimal text, because JSON numbers are inexact.',
    ],
  },
}
