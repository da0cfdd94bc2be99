import { type Operation, operationTitle } from '#contract/operations.ts'
import { paths } from '../../lib/paths.ts'
import { nowOf, phaseCount, phasesOf } from '../../lib/phases.ts'
import { duration } from '../../lib/time/time.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { Meter } from '../../ui/pictures/Meter.tsx'
import css from './RunningOperations.module.css'

/**
 * What each running operation does, with a link to its page, and a link to all operations. `onGo`
 * is called when the user follows a link.
 */
export default function OperationsInList({
  operations,
  onGo,
}: {
  operations: readonly Operation[]
  onGo: () => void
}) {
  return (
    <>
      <ul className={css['list']}>
        {operations.map((operation) => (
          <Running key={operation.id} operation={operation} onGo={onGo} />
        ))}
      </ul>
      <a className={css['all']} href={paths.operations()} onClick={onGo}>
        All operations
      </a>
    </>
  )
}

export function Running({ operation, onGo }: { operation: Operation; onGo?: () => void }) {
  const now = useNow(true)
  const { at, of } = phaseCount(phasesOf(operation.steps))
  const title = operationTitle(operation)
  return (
    <li className={css['one']}>
      <div className="row">
        <a className={css['title']} href={paths.operation(operation.id)} onClick={onGo}>
          {title}
        </a>
        <span className={css['time']}>
          {operation.started_at === null
            ? 'waiting'
            : duration(now - Date.parse(operation.started_at))}
        </span>
      </div>
      {of > 0 && <Meter value={at - 1} of={of} label={`Steps of ${title}`} />}
      <p>
        {of > 0 && (
          <b className="c-accent num">
            Step {at} of {of}{' '}
          </b>
        )}
        {nowOf(operation)}
      </p>
    </li>
  )
}
