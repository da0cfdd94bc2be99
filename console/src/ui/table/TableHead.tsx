import { Button } from '../inputs/Button.tsx'
import { cx } from '../cx.ts'
import type { Column } from './DataTable.tsx'
import css from './DataTable.module.css'
import { Icon } from '../pictures/Icon.tsx'
import { Menu } from '../overlay/Menu.tsx'
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

interface ColumnsMenuProps<Row> {
  columns: readonly Column<Row>[]
  shown: readonly string[] | undefined
  onShown: (ids: string[] | undefined) => void
}

/** Menu of the shown columns. The caller stores the choice. */
export function ColumnsMenu<Row>({ columns: all, shown, onShown }: ColumnsMenuProps<Row>) {
  const ids = all.filter((c) => isShown(c, shown)).map((c) => c.id)
  return (
    <Menu
      label="Columns"
      trigger={<Button>Columns</Button>}
      items={[
        ...all
          .filter((c) => !c.fixed)
          .map((c) => ({
            label: c.head,
            checked: ids.includes(c.id),
            stay: true,
            run: () =>
              onShown(
                ids.includes(c.id)
                  ? ids.filter((id) => id !== c.id)
                  : all.map((x) => x.id).filter((id) => id === c.id || ids.includes(id)),
              ),
          })),
        'rule',
        { label: 'Reset columns', run: () => onShown(undefined) },
      ]}
    />
  )
}

/** Sort menu for narrow screens, which have no header to click. */
export function SortMenu<Row>({
  columns: all,
  sort,
  onSort,
}: {
  columns: readonly Column<Row>[]
  sort: string | undefined
  onSort: (sort: string) => void
}) {
  const id = sort?.replace(/^-/, '')
  const current = all.find((c) => c.id === id)
  return (
    <Menu
      label="Sort by"
      align="start"
      trigger={
        <Button iconAfter={sort?.startsWith('-') ? 'arrow-down' : 'arrow-up'}>
          {current?.head ?? 'Sort'}
        </Button>
      }
      items={all
        .filter((c) => c.sortable)
        .map((c) => ({
          label: c.head,
          checked: c.id === id,
          run: () => onSort(c.id === sort ? `-${c.id}` : c.id),
        }))}
    />
  )
}
