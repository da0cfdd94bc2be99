import { type CcTerms, ccPriceBases } from '#contract/marketplace/cc-terms.ts'
import { perHour } from '#contract/marketplace/money.ts'
import { sentence } from '../../../lib/text.ts'
import { zone } from '../../../lib/time/time.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import css from './CommitTerms.module.css'
import { blankTerms, readTerms, type TypedTerms } from './commit-terms.ts'

const { Text, Choose } = fieldsFor<TypedTerms>()
const bases = ccPriceBases.map((value) => ({ value, text: sentence(perHour[value]) }))

/** Terms with what was typed for them. */
export interface Terms {
  readonly typed: TypedTerms
  readonly terms: CcTerms
}

/** Asks for the terms of a commitment of many servers, before its plan is made. */
export default function CommitTerms({
  last,
  onTerms,
}: {
  /** What was typed before. */
  last: TypedTerms | undefined
  onTerms: (terms: Terms) => void
}) {
  const form = useForm({
    initial: last ?? blankTerms,
    read: (typed: TypedTerms) => {
      const read = readTerms(typed)
      return read.ok ? { ok: true, body: { typed, terms: read.body } } : read
    },
    send: onTerms,
  })
  return (
    <FormDialog form={form} width="36rem" title="Commit capacity" submit="Show the plan">
      <p className="fs13 t2">
        Every chosen server gets these terms. What is left empty comes from the draft of the server;
        one without a draft needs a price and an end.
      </p>
      <div className={css['three']}>
        <Text name="price" label="Price" optional inputMode="decimal" placeholder="1.25" />
        <Text
          name="currency"
          label="Currency"
          optional
          maxLength={5}
          autoCapitalize="characters"
          placeholder="EUR"
        />
        <Choose name="basis" label="For" options={bases} />
      </div>
      <div className={css['two']}>
        <Text
          name="starts_at"
          label="Start"
          optional
          type="datetime-local"
          hint="Empty, and no draft: when the delegation is confirmed"
        />
        <Text
          name="expires_at"
          label="End"
          optional
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
    </FormDialog>
  )
}
