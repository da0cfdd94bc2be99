/** The labels and notes on the page of a server or a cluster. */
import type { Operation } from '#contract/operation.ts'
import type { Verdict } from '#contract/rule.ts'
import { allowed } from '../../api/session.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { editLabels } from '../modals.ts'
import LabelChips from './LabelChips.tsx'
import type { Labelled } from './labelled.ts'
import css from './ObjectLabels.module.css'

/** `call`: the call that changes them. `can`: the rule of the object. */
export function ObjectLabels({
  of,
  call,
  can,
}: {
  of: Labelled
  call: Pick<Operation, 'scope'>
  can: Verdict
}) {
  const permitted = allowed(call)
  const isEmpty = Object.keys(of.labels).length === 0 && of.notes === ''
  // A reader of an object without labels needs neither the space nor a button that refuses.
  if (isEmpty && !permitted.ok) return null
  return (
    <section className={css['object']} aria-label="Labels and notes">
      <div className={css['labels']}>
        {!isEmpty && <LabelChips labels={of.labels} of={of.kind} />}
        <Button
          kind="ghost"
          size="small"
          icon={isEmpty ? 'add' : 'edit'}
          can={permitted.ok ? can : permitted}
          onClick={() => void editLabels({ of })}
        >
          {isEmpty ? 'Add labels or notes' : 'Edit labels and notes'}
        </Button>
      </div>
      {of.notes !== '' && <p className={css['notes']}>{of.notes}</p>}
    </section>
  )
}
