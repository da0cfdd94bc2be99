import type { Subnet } from '#contract/network/subnets.ts'
import type { KeptDraft } from '../../../api/use-draft.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { DraftNotice } from '../../../ui/feedback/DraftNotice.tsx'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import type { Form } from '../../../ui/form/use-form.ts'
import { differences, draftOf, type SubnetDraft } from './subnet-form.ts'
import css from './SubnetForm.module.css'

interface FormNoticesProps {
  restored: KeptDraft['restored']
  /** The version that somebody else saved since the page opened, or null. */
  theirs: Subnet | null
  /** Whether saving was refused because of `theirs`. */
  refused: boolean
  /** The version at the time the page opened. */
  was: Subnet | null
  form: Pick<Form<SubnetDraft>, 'values' | 'problem'>
  onDiscard: () => void
  onTheirs: (theirs: Subnet) => void
  onMerge: (theirs: Subnet) => void
}

/** Notices above the form: a restored draft, changes by somebody else, and why saving failed. */
export function FormNotices({
  restored,
  theirs,
  refused,
  was,
  form: { values: mine, problem },
  onDiscard,
  onTheirs,
  onMerge,
}: FormNoticesProps) {
  return (
    <div className={css['alerts']}>
      {restored !== null && <DraftNotice what="subnet" {...restored} onDiscard={onDiscard} />}
      {theirs !== null && was !== null && (
        <Alert tone="warn">
          <b>{refused ? problem : 'Somebody else has changed this subnet since you opened it.'}</b>{' '}
          {refused && 'Nothing was saved. What you typed is still here.'}
          <Compared was={draftOf(was)} theirs={draftOf(theirs)} mine={mine} />
          <span className="row wrap" style={{ marginTop: 'var(--s-2)' }}>
            <ActionButton
              label="Apply my changes to the new version"
              size="small"
              kind="primary"
              run={() => onMerge(theirs)}
            />
            <ActionButton label="Discard my changes" size="small" run={() => onTheirs(theirs)} />
          </span>
        </Alert>
      )}
      {!refused && <Problem text={problem} />}
    </div>
  )
}

function Compared({
  was,
  theirs,
  mine,
}: {
  was: SubnetDraft
  theirs: SubnetDraft
  mine: SubnetDraft
}) {
  const list = differences(was, theirs, mine)
  if (list.length === 0)
    return <p>The fields of the subnet are unchanged; only its assignment has changed.</p>
  return (
    <table className={css['compare']}>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">When you opened the subnet</th>
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
