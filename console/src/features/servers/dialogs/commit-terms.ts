/** The form of the terms that many servers get. */
import { CcTerms } from '#contract/marketplace/cc-terms.ts'
import { byField, termsOf, type TypedTerms } from '../../../layout/commitment/terms.ts'
import { type Read, readBy } from '../../../lib/fields.ts'

/**
 * The terms that were typed. Empty fields are left out: they come from the draft of each server.
 * The plan judges the times of each server.
 */
export function readTerms(typed: TypedTerms): Read<CcTerms> {
  const terms = Object.entries(termsOf(typed)).filter(([, value]) => value !== null)
  const read = readBy(CcTerms, Object.fromEntries(terms))
  return read.ok ? read : { ok: false, fields: byField(read.fields) }
}
