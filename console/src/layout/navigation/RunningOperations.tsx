import { useQuery } from '@tanstack/react-query'
import { type Operation, operationList, operationTitle } from '#contract/operations.ts'
import { count, counted } from '#contract/words.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { nowOf, phaseCount, phasesOf } from '../../lib/phases.ts'
import { duration } from '../../lib/time.ts'
import { useNow } from '../../lib/use-now.ts'
import { Spinner } from '../../ui/pictures/Icon.tsx'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { Popover } from '../../ui/overlay/Popover.tsx'
import css from './RunningOperations.module.css'

/** Path of the page that shows an operation: the page of its target, or the assignment page. */
export function operationPage(operation: Pick<Operation, 'id' | 'kind' | 'target'>): string | null {
  const { kind, id } = operation.target
  if (operation.kind === 'clusterSubnetsAssign' && id !== null) return paths.assignSubnets({ cluster: id, operation: operation.id })
  if (id === null) return kind === 'server' ? paths.servers() : null
  return kind === 'cluster' ? paths.cluster(id) : kind === 'server' ? paths.server(id) : paths.datacenters()
}

/** The header's list of running operations: how many, and what each does. */
export function RunningOperations() {
  const { data } = useQuery(query(operationList, { query: { status: 'open', per_page: 20 } }))
  if (data === undefined || data.total === 0) return null
  return (
    <Popover
      label="Operations in progress"
      align="end"
      width="360px"
      trigger={
        <button type="button" className={css['ops']} aria-label={counted(data.total, 'running operation')}>
          <Spinner className="c-accent" />
          <span className="num">
            {count(data.total)}
            <span className={css['word']}> running</span>
          </span>
        </button>
      }
    >
      {(close) => (
        <ul className={css['list']}>
          {data.items.map((operation) => (
            <Running key={operation.id} operation={operation} onGo={close} />
          ))}
        </ul>
      )}
    </Popover>
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
