import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { operationList } from '#contract/operations.ts'
import { count, counted } from '#contract/words.ts'
import { query } from '../../api/query.ts'
import { SkeletonRows } from '../../ui/feedback/States.tsx'
import { Popover } from '../../ui/overlay/Popover.tsx'
import { part } from '../../ui/part.tsx'
import { Spinner } from '../../ui/pictures/Icon.tsx'
import css from './RunningOperations.module.css'

/** The code is loaded when the list is opened. */
const List = part(() => import('./OperationsInList.tsx'))

/**
 * The header's list of running operations: how many, and what each does. Those that wait for their
 * time are on the pages of their clusters.
 */
export function RunningOperations() {
  const { data } = useQuery(
    query(operationList, { query: { status: 'in_progress', per_page: 20 } }),
  )
  if (data === undefined || data.items.length === 0) return null
  const { items: running, total } = data
  return (
    <Popover
      label="Operations in progress"
      align="end"
      width="360px"
      trigger={
        <button
          type="button"
          className={css['ops']}
          aria-label={counted(total, 'running operation')}
        >
          <Spinner className="c-accent" />
          <span className="num">
            {count(total)}
            <span className={css['word']}> running</span>
          </span>
        </button>
      }
    >
      {(close) => (
        <Suspense fallback={<SkeletonRows rows={running.length} />}>
          <List operations={running} onGo={close} />
        </Suspense>
      )}
    </Popover>
  )
}
