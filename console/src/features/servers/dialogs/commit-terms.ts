/** The form of the terms that many servers get. */
import { CcTerms } from '#contract/marketplace/cc-terms.ts'
import { type Read, readBy } from '../../../lib/fields.ts'

/** Under the API's field names and in the order of the form. `price` is the amount. */
export const blankTerms = {
  price: '',
  currency: '',
  basis: 'server',
  starts_at: '',
  expires_at: '',
  offer_id: '',
}
export type TypedTerms = typeof blankTerms

/** A text that is no time stays as it is, so that the schema refuses it. */
const isoOf = (local: string): string =>
  Number.isNaN(Date.parse(local)) ? local : new Date(local).toISOString()

/**
 * The terms that were typed. Empty fields are left out: they come from the draft of each server.
 * The plan judges the times of each server.
 */
export function readTerms(typed: TypedTerms): Read<CcTerms> {
  const read = readBy(CcTerms, {
    ...((typed.price !== '' || typed.currency !== '') && {
      price: {
        amount: typed.price,
        currency: typed.currency.toUpperCase(),
        basis: typed.basis,
      },
    }),
    ...(typed.starts_at !== '' && { starts_at: isoOf(typed.starts_at) }),
    ...(typed.expires_at !== '' && { expires_at: isoOf(typed.expires_at) }),
    ...(typed.offer_id !== '' && { offer_id: typed.offer_id.toLowerCase() }),
  })
  if (read.ok) return read
  const { 'price.amount': price, 'price.currency': currency, ...others } = read.fields
  return {
    ok: false,
    fields: {
      ...others,
      ...(price !== undefined && { price }),
      ...(currency !== undefined && { currency }),
    },
  }
}
