import { cx } from '../cx.ts'
import type { Column } from './DataTable.tsx'
import css from './DataTable.module.css'
import { Icon } from '../pictures/Icon.tsx'
import { as } from './roles.ts'
import { Tooltip } from '../overlay/Tooltip.tsx'

/**
 * Whether a column is shown. The user's choice decides; without a choice, all columns are shown
 * that aren't `hidden`.
 */
export const isShown = (
  { id, fixed = false, hidden = false }: Pick<Column<never>, 'id' | 'fixed' | 'hidden'>,
  shown: readonly string[] | undefined,
): boolean => fixed || (shown === undefined ? !hidden : shown.includes(id))

interface HeadProps<Row> {
  column: Column<Row>
  /** Whether there is room for the help icon. */
  help: boolean
  sort: string | undefined
  onSort: ((sort: string) => void) | undefined
}

/** The heading of a column. */
export function Head<Row>({ column, help, sort, onSort }: HeadProps<Row>) {
  const direction =
    sort === column.id ? 'ascending' : sort === `-${column.id}` ? 'descending' : undefined
  return (
    <th {...as.head} scope="col" aria-sort={direction} className={cx(column.numeric && css['r'])}>
      <span className={css['head']} data-sorted={direction}>
        {column.sortable && onSort ? (
          <button
            type="button"
            className={css['sort']}
            onClick={() => onSort(direction === 'ascending' ? `-${column.id}` : column.id)}
          >
            {column.head}
            {direction && (
              <Icon name={direction === 'ascending' ? 'arrow-up' : 'arrow-down'} size={12} />
            )}
          </button>
        ) : (
          column.head
        )}
        {help && column.help !== undefined && (
          <Tooltip text={column.help} delay={0}>
            <button type="button" className={css['help']} aria-label={column.help}>
              <Icon name="help" size={12} />
            </button>
          </Tooltip>
        )}
      </span>
    </th>
  )
}
