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
        <Suspense fallback={<SkeletonRows rows={data.items.length} />}>
          <List operations={data.items} onGo={close} />
        </Suspense>
      )}
    </Popover>
  )
}
