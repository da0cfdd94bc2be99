import { useQuery } from '@tanstack/react-query'
import { ccStatuses } from '#contract/marketplace/ccs.ts'
import { ccTones } from '../../ui/feedback/cc-tones.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import { sentence } from '../../lib/text.ts'
import { count } from '../../lib/units.ts'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { countsQuery } from './cc-queries.ts'
import css from './Marketplace.module.css'

/**
 * The number of commitments by status, of those that pass the search and the other filters. Each is
 * a button that filters the list by its status.
 */
export function Counters({
  search,
  onStatus,
}: {
  search: ListSearch
  onStatus: (status: string | undefined) => void
}) {
  const { data, error } = useQuery(countsQuery(search))
  const current = ccStatuses.find((status) => status === search['status'])
  const shown = (n: number | undefined) => (n === undefined ? '–' : count(n))
  return (
    <div
      className={css['counters']}
      role="group"
      aria-label="Status"
      title={error === null ? undefined : `The numbers could not be read: ${error.message}`}
    >
      <button
        type="button"
        aria-pressed={current === undefined}
        onClick={() => onStatus(undefined)}
      >
        <span className={css['n']}>{shown(data?.total)}</span>
        <span className="fs13">All</span>
      </button>
      {ccStatuses.map((status) => (
        <button
          key={status}
          type="button"
          aria-pressed={status === current}
          onClick={() => onStatus(status === current ? undefined : status)}
        >
          <span className={css['n']}>{shown(data?.by_status[status])}</span>
          <StatusDot tone={ccTones[status]}>{sentence(status)}</StatusDot>
        </button>
      ))}
    </div>
  )
}
