import { type Operation, operationTitle } from '#contract/operations.ts'
import { paths } from '../../lib/paths.ts'
import { nowOf, phaseCount, phasesOf } from '../../lib/phases.ts'
import { duration } from '../../lib/time.ts'
import { useNow } from '../../lib/use-now.ts'
import { Meter } from '../../ui/pictures/Meter.tsx'
import css from './RunningOperations.module.css'

/** Path of the page that shows an operation: the page of its target, or the assignment page. */
export function operationPage(operation: Pick<Operation, 'id' | 'kind' | 'target'>): string | null {
  const { kind, id } = operation.target
  if (operation.kind === 'clusterSubnetsAssign' && id !== null) return paths.assignSubnets({ cluster: id, operation: operation.id })
  if (id === null) return kind === 'server' ? paths.servers() : null
  return kind === 'cluster' ? paths.cluster(id) : kind === 'server' ? paths.server(id) : paths.datacenters()
}

/** What each running operation does, with a link to its page. `onGo` is called when the user follows a link. */
export default function OperationsInList({ operations, onGo }: { operations: readonly Operation[]; onGo: () => void }) {
  return (
    <ul className={css['list']}>
      {operations.map((operation) => (
        <Running key={operation.id} operation={operation} onGo={onGo} />
      ))}
    </ul>
  )
}

export function Running({ operation, onGo }: { operation: Operation; onGo?: () => void }) {
  const now = useNow(true)
  const { at, of } = phaseCount(phasesOf(operation.steps))
  const page = operationPage(operation)
  const title = operationTitle(operation)
  return (
    <li className={css['one']}>
      <div className="row">
        {page === null ? (
          <b className="clip">{title}</b>
        ) : (
          <a className={css['title']} href={page} onClick={onGo}>
            {title}
          </a>
        )}
        <span className={css['time']}>{operation.started_at === null ? 'waiting' : duration(now - Date.parse(operation.started_at))}</span>
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
