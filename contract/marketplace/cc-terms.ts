/** The terms of capacity commitments. Separate from their calls, which forms of servers don't need. */
import * as z from 'zod/mini'
import { OfferId } from './offer-id.ts'
import { Amount, Currency, type PriceBasis } from './money.ts'

/** What one hour of the price pays for: a commitment is about one server. */
export const ccPriceBases = ['server', 'compute_unit'] as const satisfies readonly PriceBasis[]

/** Price per hour. */
export const CcPrice = z.strictObject({
  amount: Amount,
  currency: Currency,
  basis: z.enum(ccPriceBases),
})
export type CcPrice = z.infer<typeof CcPrice>

const [firstTime, lastTime] = ['2000-01-01T00:00:00Z', '2100-01-01T00:00:00Z']
const timeSentence =
  'Enter a time in ISO 8601 and UTC between 2000 and 2099, such as 2027-02-14T00:00:00Z'
/**
 * Whether the text is a time in UTC that exists, in the range: `Date` alone takes 30 February for 2
 * March.
 */
function isMoment(text: string): boolean {
  const at = Date.parse(text)
  const isWhole = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z$/.test(text)
  return (
    isWhole &&
    at >= Date.parse(firstTime) &&
    at < Date.parse(lastTime) &&
    new Date(at).toISOString().startsWith(text.slice(0, 10))
  )
}
// Without the library's check of times, which no other form loads.
const moment = z.string(timeSentence).check(z.refine(isMoment, { error: timeSentence }))

export const terms = {
  offer_id: z.nullable(OfferId),
  price: z.nullable(CcPrice),
  starts_at: z.nullable(moment),
  expires_at: z.nullable(moment),
}

/** Terms that are set; what is left out stays. */
export const CcTerms = z.strictObject({
  offer_id: z.optional(terms.offer_id),
  price: z.optional(terms.price),
  starts_at: z.optional(terms.starts_at),
  expires_at: z.optional(terms.expires_at),
})
export type CcTerms = z.infer<typeof CcTerms>
