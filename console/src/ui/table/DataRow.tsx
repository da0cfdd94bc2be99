import { memo, type ReactNode, Suspense } from 'react'
import buttons from '../inputs/Button.module.css'
import fields from '../inputs/Field.module.css'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import type { Column, WidthFrom } from './DataTable.tsx'
import css from './DataTable.module.css'
import { as } from './roles.ts'
import { same } from './same.ts'
import { SkeletonRows } from '../feedback/States.tsx'

/** What a control of a row does; the table's body handles the click. */
export type Does = 'select' | 'menu' | 'detail'
const does = (what: Does) => ({ 'data-does': what })
/**
 * React wants a handler for a controlled checkbox; the table's body selects the row at the click.
 */
const onChange = () => undefined

/** What all rows of a table share. */
interface Shared<Row> {
  cols: readonly Column<Row>[]
  width: WidthFrom
  /** The row's controls include an arrow link. */
  hasArrow: boolean
  hasMenu: boolean
  detail: ((row: Row) => ReactNode) | undefined
  measure: (index: number, element: HTMLElement | null) => void
}

interface DataRowProps<Row> {
  row: Row
  index: number
  id: string
  name: string
  link: string | undefined
  /** Whether Tab moves the focus to this row. */
  isStop: boolean
  isOpen: boolean
  isDisabled: boolean
  /** Undefined in a table without selection. */
  selected: boolean | undefined
  shared: Shared<Row>
}

function DrawnRow<Row>({
  row,
  index,
  id,
  name,
  link,
  isStop,
  isOpen,
  isDisabled,
  selected,
  shared,
}: DataRowProps<Row>) {
  const { cols, width, hasArrow, hasMenu, detail, measure } = shared
  const hasControls = hasMenu || hasArrow || detail !== undefined
  const named = cols.findIndex((column) => column.card === 'name')
  return (
    <>
      <tr
        {...as.row}
        data-row={index}
        data-id={id}
        data-selected={selected || undefined}
        aria-rowindex={index + 1}
        className={cx(
          css['row'],
          (link !== undefined || detail) && css['hit'],
          isOpen && css['open'],
          isDisabled && css['off'],
        )}
        tabIndex={isStop ? 0 : -1}
      >
        {selected !== undefined && (
          <td {...as.cell} className={css['sel']}>
            <input
              type="checkbox"
              className={fields['mark']}
              aria-label={`Select ${name}`}
              checked={selected}
              disabled={isDisabled}
              onChange={onChange}
              {...does('select')}
            />
          </td>
        )}
        {cols.map((column, c) => {
          const first = c === Math.max(0, named)
          return (
            <td
              {...as.cell}
              key={column.id}
              data-card={column.card}
              className={cx(
                column.numeric && css['r'],
                column.fits && css['fits'],
                first && css['name'],
              )}
            >
              {first && link !== undefined ? (
                <a href={link} data-rowlink="" tabIndex={-1}>
                  {column.cell(row, width)}
                </a>
              ) : (
                column.cell(row, width)
              )}
            </td>
          )
        })}
        {hasControls && (
          <td {...as.cell} className={css['acts']}>
            {hasMenu && (
              <button
                type="button"
                className={buttons['icon']}
                aria-label={`Actions for ${name}`}
                aria-haspopup="menu"
                {...does('menu')}
              >
                <Icon name="more" />
              </button>
            )}
            {link !== undefined && hasArrow && (
              <a className={buttons['icon']} href={link} aria-label={`Open ${name}`}>
                <Icon name="arrow-right" />
              </a>
            )}
            {detail && (
              <button
                type="button"
                className={buttons['icon']}
                aria-label={`Details of ${name}`}
                aria-expanded={isOpen}
                {...does('detail')}
              >
                <Icon name={isOpen ? 'chevron-up' : 'chevron-down'} />
              </button>
            )}
          </td>
        )}
      </tr>
      {isOpen && detail && (
        <tr {...as.row} className={css['detail']} ref={(element) => measure(index, element)}>
          <td
            {...as.cell}
            colSpan={cols.length + (selected === undefined ? 0 : 1) + (hasControls ? 1 : 0)}
          >
            <div className={css['inside']}>
              {/* The detail's code may load only when the first row is opened. */}
              <Suspense fallback={<SkeletonRows rows={3} />}>{detail(row)}</Suspense>
            </div>
          </td>
        </tr>
      )}
    </>
  )
}

interface NameRowProps {
  index: number
  name: string
  /** Whether the table has checkboxes. */
  isIndented: boolean
  /** In px. */
  height: number
}

/** A row that scrolling passes too fast to read more than its name. */
export const NameRow = memo(({ index, name, isIndented, height }: NameRowProps) => (
  <tr
    {...as.row}
    data-row={index}
    data-indented={isIndented || undefined}
    aria-rowindex={index + 1}
    className={cx(css['row'], css['brief'])}
    style={{ height }}
  >
    <td {...as.cell} className={css['name']}>
      {name}
    </td>
  </tr>
))

/**
 * One row and its open detail. A page has many rows, so a row has few elements, and the table's
 * body handles the clicks on its controls. A row re-renders only when its content changes:
 * scrolling renders only new rows, and a refetched list only the rows that differ.
 */
export const DataRow = memo(DrawnRow, same) as typeof DrawnRow
