import { Price } from '#contract/marketplace/money.ts'
import { type Read, readBy } from '../../../lib/fields.ts'

export const blank = { amount: '', currency: '', basis: 'compute_unit' as Price['basis'] }
export type Typed = typeof blank

export const typedOf = (price: Price | null): Typed => (price === null ? blank : { ...price })

/** The price of the form. A new offer may have none yet. */
export function readPrice(typed: Typed, isNew: boolean): Read<Price | null> {
  if (isNew && typed.amount.trim() === '' && typed.currency.trim() === '')
    return { ok: true, body: null }
  return readBy(Price, { ...typed, currency: typed.currency.toUpperCase() })
}

/** The API names the fields of the price `price.amount`; the form has them on the first level. */
export const fieldsOfPrice = (refused: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(refused).map(([path, sentence]) => [path.replace(/^price\./, ''), sentence]),
  )
