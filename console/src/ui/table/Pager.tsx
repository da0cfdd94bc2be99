import { pageSizes } from '../../lib/list-search.ts'
import { count as thousands } from '../../lib/units.ts'
import { IconButton } from '../inputs/Button.tsx'
import { Select } from '../inputs/Choices.tsx'
import css from './Pager.module.css'

interface PagerProps {
  page: number
  perPage: number
  total: number
  plural: string
  onPage: (page: number) => void
  onPerPage?: (perPage: number) => void
  /** The sizes that are offered. */
  sizes?: readonly number[]
}

/** "1–15 of 148 servers", the page size, and page buttons. `plural` is the noun. */
export function Pager({
  page,
  perPage,
  total,
  plural,
  onPage,
  onPerPage,
  sizes = pageSizes,
}: PagerProps) {
  const pages = Math.max(1, Math.ceil(total / perPage))
  const first = total === 0 ? 0 : (page - 1) * perPage + 1
  const last = Math.min(total, page * perPage)
  return (
    <div className={css['pager']}>
      <span aria-live="polite">
        {pages === 1
          ? `${thousands(total)} ${plural}`
          : `${thousands(first)}–${thousands(last)} of ${thousands(total)} ${plural}`}
      </span>
      {onPerPage && total > pageSizes[0] && (
        <span className={css['size']}>
          <Select
            size="small"
            aria-label="Rows a page"
            value={String(perPage)}
            options={[...new Set([...sizes, perPage])]
              .toSorted((a, b) => a - b)
              .map((n) => ({ value: String(n), text: `${thousands(n)} a page` }))}
            onValue={(n) => onPerPage(Number(n))}
          />
        </span>
      )}
      {pages > 1 && (
        <nav className={css['nav']} aria-label="Pages">
          <IconButton
            icon="chevron-left"
            label="Previous page"
            can={page > 1 ? undefined : { ok: false, reason: 'This is the first page' }}
            onClick={() => onPage(page - 1)}
          />
          <span>
            Page {page} of {pages}
          </span>
          <IconButton
            icon="chevron-right"
            label="Next page"
            can={page < pages ? undefined : { ok: false, reason: 'This is the last page' }}
            onClick={() => onPage(page + 1)}
          />
        </nav>
      )}
    </div>
  )
}
