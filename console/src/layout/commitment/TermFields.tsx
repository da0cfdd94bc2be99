import { ccPriceBases } from '#contract/marketplace/cc-terms.ts'
import { perHour } from '#contract/marketplace/money.ts'
import { sentence } from '../../lib/text.ts'
import { zone } from '../../lib/time/time.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import css from './TermFields.module.css'
import type { TypedTerms } from './terms.ts'

const { Text, Choose } = fieldsFor<TypedTerms>()
const bases = ccPriceBases.map((value) => ({ value, text: sentence(perHour[value]) }))

/**
 * The fields of a commitment's terms, inside a form with these values. `emptyStart`: what a
 * commitment without a start means.
 */
export function TermFields({
  optional,
  emptyStart,
}: {
  /** Whether price and end may be left empty. */
  optional: boolean
  emptyStart: string
}) {
  return (
    <>
      <div className={css['three']}>
        <Text
          name="price"
          label="Price"
          optional={optional}
          inputMode="decimal"
          placeholder="1.25"
        />
        <Text
          name="currency"
          label="Currency"
          optional={optional}
          maxLength={5}
          autoCapitalize="characters"
          placeholder="EUR"
        />
        <Choose name="basis" label="For" options={bases} />
      </div>
      <div className={css['two']}>
        <Text name="starts_at" label="Start" optional type="datetime-local" hint={emptyStart} />
        <Text
          name="expires_at"
          label="End"
          optional={optional}
          type="datetime-local"
          hint={`Times in ${zone()}`}
        />
      </div>
      <Text
        name="offer_id"
        label="OfferID"
        optional
        mono
        hint="The offer that the capacity is sold with"
        maxLength={66}
      />
    </>
  )
}
