/** What is typed for the terms of a commitment of capacity: of one server, or of many at once. */
import { isoOf, localOf } from '../../lib/time/local-time.ts'

/**
 * Empty values, under the API's field names and in the order of the form. `price` is the amount; ""
 * means unknown.
 */
export const blankTerms = {
  price: '',
  currency: '',
  basis: 'server',
  starts_at: '',
  expires_at: '',
  offer_id: '',
}
export type TypedTerms = typeof blankTerms

type Times = Readonly<Record<'starts_at' | 'expires_at', string | null>>

/**
 * `known` if the field still shows it, which has no seconds. A text that is no time stays as it is,
 * so that the schema refuses it.
 */
const timeOf = (typed: string, known: string | null): string | null => {
  if (typed === '') return null
  return typed === localOf(known) ? known : (isoOf(typed) ?? typed)
}

/** The terms for the contract's schema; null for each that is empty. `known`: times before. */
export const termsOf = (
  { price, currency, basis, starts_at, expires_at, offer_id }: TypedTerms,
  known: Times = { starts_at: null, expires_at: null },
) => ({
  offer_id: offer_id === '' ? null : offer_id.toLowerCase(),
  price:
    price === '' && currency === ''
      ? null
      : { amount: price, currency: currency.toUpperCase(), basis },
  starts_at: timeOf(starts_at, known.starts_at),
  expires_at: timeOf(expires_at, known.expires_at),
})

/** The field of the form for a path of the API. */
const fieldOf = (path: string): string =>
  ({ 'price.amount': 'price', 'price.currency': 'currency', 'price.basis': 'basis' })[path] ?? path

/** The first sentence of each field, by the form's names. */
export function byField(refused: Readonly<Record<string, string>>): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [path, sentence] of Object.entries(refused)) fields[fieldOf(path)] ??= sentence
  return fields
}
