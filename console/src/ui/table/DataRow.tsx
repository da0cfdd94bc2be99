import { memo, type MouseEvent, type ReactNode, Suspense, useRef } from 'react'
import type { Action } from '../actions.ts'
import { IconButton, IconLink } from '../inputs/Button.tsx'
import { cx } from '../cx.ts'
import type { Column } from './DataTable.tsx'
import css from './DataTable.module.css'
import { Checkbox } from '../inputs/Field.tsx'
import { Menu } from '../overlay/Menu.tsx'
import type { Selection } from './selection.ts'
import { SkeletonRows } from '../feedback/States.tsx'

const interactive = 'a,button,input,label,select,textarea,summary,[role="menuitem"]'

interface DataRowProps<Row> {
  row: Row
  index: number
  id: string
  cols: readonly Column<Row>[]
  name: string
  /** The row's controls include an arrow link. */
  arrow: boolean
  /** Whether Tab moves the focus to this row. */
  isStop: boolean
  isOpen: boolean
  /** Why the row is disabled. */
  why: string | null
  selection: Selection | undefined
  /** Keys of the selectable rows, in order. */
  selectable: readonly string[]
  href: ((row: Row) => string) | undefined
  actions: ((row: Row) => readonly Action[]) | undefined
  detail: ((row: Row) => ReactNode) | undefined
  onActive: (index: number) => void
  onOpen: (id: string) => void
  measure: (index: number, element: HTMLElement | null) => void
}

function DrawnRow<Row>(props: DataRowProps<Row>) {
  const { row, index, id, cols, name, arrow, isStop, isOpen, why, selection, selectable, href, actions, detail, measure } = props
  const shift = useRef(false)
  const link = href?.(row)
  const acts = actions?.(row) ?? []
  const hasControls = actions !== undefined || arrow || detail !== undefined
  const press = (event: MouseEvent<HTMLTableRowElement>) => {
    if ((event.target as HTMLElement).closest(interactive) !== null || (getSelection()?.toString() ?? '') !== '') return
    if (link === undefined) {
      if (detail && event.button === 0) props.onOpen(id)
    } else if (event.metaKey || event.ctrlKey || event.button === 1) window.open(link, '_blank', 'noopener')
    else if (event.button === 0) event.currentTarget.querySelector<HTMLAnchorElement>('a[data-rowlink]')?.click()
  }
  return (
    <>
      <tr
        data-row={index}
        data-selected={selection?.has(id) || undefined}
        aria-rowindex={index + 1}
        className={cx(css['row'], (link !== undefined || detail) && css['hit'], isOpen && css['open'], why !== null && css['off'])}
        tabIndex={isStop ? 0 : -1}
        onFocus={(event) => event.target === event.currentTarget && props.onActive(index)}
        onClick={press}
        onAuxClick={press}
      >
        {selection && (
          <td className={css['sel']}>
            <Checkbox
              hideLabel
              label={`Select ${name}`}
              checked={selection.has(id)}
              disabled={why !== null}
              onShift={(held) => {
                shift.current = held
              }}
              onChange={() => selection.toggle(id, shift.current ? selectable : null)}
            />
          </td>
        )}
        {cols.map((column, c) => {
          const first = column.card === 'name' || (c === 0 && !cols.some((other) => other.card === 'name'))
          return (
            <td key={column.id} data-card={column.card} className={cx(column.numeric && css['r'], first && css['name'])}>
              {first && link !== undefined ? (
                <a href={link} data-rowlink="" tabIndex={-1}>
                  {column.cell(row)}
                </a>
              ) : (
                column.cell(row)
              )}
            </td>
          )
        })}
        {hasControls && (
          <td className={css['acts']}>
            {acts.length > 0 && <Menu label={`Actions for ${name}`} items={acts} trigger={<IconButton icon="more" label={`Actions for ${name}`} />} />}
            {link !== undefined && arrow && <IconLink icon="arrow-right" label={`Open ${name}`} href={link} />}
            {detail && (
              <IconButton icon={isOpen ? 'chevron-up' : 'chevron-down'} label={`Details of ${name}`} aria-expanded={isOpen} onClick={() => props.onOpen(id)} />
            )}
          </td>
        )}
      </tr>
      {isOpen && detail && (
        <tr className={css['detail']} ref={(element) => measure(index, element)}>
          <td colSpan={cols.length + (selection ? 1 : 0) + (hasControls ? 1 : 0)}>
            <div className={css['inside']}>
              {/* The code of the detail may load when the first row is opened. */}
              <Suspense fallback={<SkeletonRows rows={3} />}>{detail(row)}</Suspense>
            </div>
          </td>
        </tr>
      )}
    </>
  )
}

/** One row and its open detail. Re-renders only on its own changes, so scrolling renders only new rows. */
export const DataRow = memo(DrawnRow) as typeof DrawnRow
