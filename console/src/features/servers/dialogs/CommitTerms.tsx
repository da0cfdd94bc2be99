import type { CcTerms } from '#contract/marketplace/cc-terms.ts'
import { TermFields } from '../../../layout/commitment/TermFields.tsx'
import { blankTerms, type TypedTerms } from '../../../layout/commitment/terms.ts'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { readTerms } from './commit-terms.ts'

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
      <TermFields optional emptyStart="Empty, and no draft: when the delegation is confirmed" />
    </FormDialog>
  )
}
