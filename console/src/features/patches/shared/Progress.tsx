import { hasEnded, type Operation, operationTitle } from '#contract/operations.ts'
import { count, counted } from '#contract/words.ts'
import { operationActions } from '../../../layout/operations/operation-actions.ts'
import { operationSaid, tookMs } from '../../../layout/operations/operation-state.ts'
import { paths } from '../../../lib/paths.ts'
import { duration } from '../../../lib/time/time.ts'
import { useNow } from '../../../lib/time/use-now.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import css from './Shared.module.css'

const isOver = ({ status }: Operation['steps'][number]): boolean =>
  status === 'done' || status === 'skipped'

/** How far a roll-out or an undo is, or why it stopped. The list of servers shows it one by one. */
export function Progress({ operation }: { operation: Operation }) {
  const now = useNow(!hasEnded(operation))
  const { tone, why } = operationSaid(operation)
  const done = operation.steps.filter(isOver).length
  return (
    <Alert
      tone={tone === 'danger' ? 'danger' : 'info'}
      action={
        <span className={css['acts']}>
          {operationActions(operation, undefined).map((action) => (
            <ActionButton key={action.label} {...action} size="small" />
          ))}
        </span>
      }
    >
      <b>
        <a href={paths.operation(operation.id)}>{operationTitle(operation)}</a>
      </b>{' '}
      <span className="num">
        {count(done)} of {counted(operation.steps.length, 'server')},{' '}
        {duration(tookMs(operation, now))}
      </span>
      {why !== null && <p>{why}</p>}
    </Alert>
  )
}
