import type { Related } from '#contract/errors.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import type { KeptDraft } from '../../api/use-draft.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { DraftNotice } from '../../ui/feedback/DraftNotice.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import { differences, draftOf, problemsOfFields, type SubnetDraft } from './subnet-form.ts'
import css from './SubnetForm.module.css'

/** Why a subnet was not saved. */
export type Refusal =
  | { kind: 'failed'; message: string; fields: Readonly<Record<string, string>>; related: Related | null }
  | { kind: 'stale'; message: string; theirs: Subnet }

/** Above the form: a draft that was put back, what somebody else changed meanwhile, and why saving failed. */
export function FormNotices({
  restored,
  newer,
  was,
  mine,
  refusal,
  onDiscard,
  onTheirs,
  onMerge,
}: {
  restored: KeptDraft<SubnetDraft>['restored']
  newer: Subnet | null
  /** As it was when the page was opened. */
  was: Subnet | null
  mine: SubnetDraft
  refusal: Refusal | null
  onDiscard: () => void
  onTheirs: (theirs: Subnet) => void
  onMerge: (theirs: Subnet) => void
}) {
  const theirs = refusal?.kind === 'stale' ? refusal.theirs : newer
  // A field that is shown with its sentence needs no second one.
  const atField = refusal?.kind === 'failed' && Object.keys(problemsOfFields(refusal.fields)).length > 0
  return (
    <div className={css['alerts']}>
      {restored !== null && <DraftNotice what="subnet" {...restored} onDiscard={onDiscard} />}
      {theirs !== null && was !== null && (
        <Alert tone="warn">
          <b>{refusal?.kind === 'stale' ? refusal.message : 'Somebody else has changed this subnet since you opened it.'}</b>{' '}
          {refusal?.kind === 'stale' && 'Nothing was saved. What you typed is still here.'}
          <Compared was={draftOf(was)} theirs={draftOf(theirs)} mine={mine} />
          <span className="row wrap" style={{ marginTop: 'var(--s-2)' }}>
            <Button size="small" kind="primary" onClick={() => onMerge(theirs)}>
              Keep mine upon theirs
            </Button>
            <Button size="small" onClick={() => onTheirs(theirs)}>
              Take theirs
            </Button>
          </span>
        </Alert>
      )}
      {refusal?.kind === 'failed' && !atField && <Alert tone="danger">{refusal.message}</Alert>}
    </div>
  )
}

function Compared({ was, theirs, mine }: { was: SubnetDraft; theirs: SubnetDraft; mine: SubnetDraft }) {
  const list = differences(was, theirs, mine)
  if (list.length === 0) return <p>Its fields are as they were; only who has it has changed.</p>
  return (
    <table className={css['compare']}>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">When you opened it</th>
          <th scope="col">Theirs</th>
          <th scope="col">Yours</th>
        </tr>
      </thead>
      <tbody>
        {list.map((d) => (
          <tr key={d.field}>
            <th scope="row">{d.label}</th>
            <td className="mono">{d.was}</td>
            <td className="mono">{d.theirs}</td>
            <td className="mono">{d.mine}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
