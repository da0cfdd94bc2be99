import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { Breakpoint } from '../../lib/breakpoints.ts'
import { useMedia } from '../../lib/use-media.ts'
import type { Action } from '../actions.ts'
import { BulkBar } from './BulkBar.tsx'
import { cx } from '../cx.ts'
import { DataRow, type Does } from './DataRow.tsx'
import css from './DataTable.module.css'
import { Checkbox } from '../inputs/Field.tsx'
import { preloadMenu } from '../overlay/Menu.tsx'
import { RowMenu, type RowMenuHandle } from './RowMenu.tsx'
import type { Selection } from './selection.ts'
import { ErrorState, NoMatch, PastEnd, SkeletonRows } from '../feedback/States.tsx'
import { Head, isShown } from './TableHead.tsx'
import { tellWhole } from './tell-whole.ts'
import { useTip } from '../overlay/Tooltip.tsx'
import { useWindow } from './use-window.ts'

/** Whether the screen is at least as wide as a breakpoint. */
export type WidthFrom = Readonly<Record<Breakpoint, boolean>>

export interface Column<Row> {
  id: string
  head: string
  /** Text of the help icon beside the column's heading. */
  help?: string
  /** Renders a cell. `from`: the breakpoints that the screen's width reaches, so that the cell needn't render parts that are hidden. */
  cell: (row: Row, from: WidthFrom) => ReactNode
  sortable?: boolean
  numeric?: boolean
  /** Width in px, or a function of the breakpoints. Columns without a width share the rest. */
  width?: number | ((from: WidthFrom) => number | undefined)
  /** Hidden on narrower screens. */
  from?: Breakpoint
  /** Always shown: the user can't hide the column. */
  fixed?: boolean
  /** Hidden until the user chooses the column. */
  hidden?: boolean
  /** The column's place in the card that replaces a row below `sm`: one `name`, one `state` and one `fact` at most. Other columns are left out. */
  card?: 'name' | 'state' | 'fact'
}

/** Width in px of a column of names: fits the longest name, 25 characters. */
export const nameWidth = 210

const interactive = 'a,button,input,label,select,textarea,summary,[role="menuitem"]'
/** The button or link with an icon that contains the target of an event. Its accessible name is also its tooltip. */
const iconOf = (target: HTMLElement) => target.closest<HTMLElement>('button[aria-label],a[aria-label]')

/** Returns the list unchanged. Only for type inference: declares columns at module scope, typed by their row. */
export const columns = <Row,>(list: readonly Column<Row>[]): readonly Column<Row>[] => list

export interface DataTableProps<Row> {
  /** Accessible name of the table. */
  label: string
  /** The noun for "no match": "server". */
  noun?: string
  rows: readonly Row[] | undefined
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string
  /** Name of a row in the labels of its controls. */
  rowName: (row: Row) => string
  /** Link of a row: the whole row is then clickable. */
  href?: (row: Row) => string
  actions?: (row: Row) => readonly Action[]
  /** Detail that opens below the row; a click on a row without link opens it. */
  detail?: (row: Row) => ReactNode
  /** Keys of open rows, if the page keeps them (in its URL). By default the table keeps them. */
  opened?: ReadonlySet<string>
  onOpened?: (keys: ReadonlySet<string>) => void
  /** Column id, descending with a leading minus. */
  sort?: string | undefined
  onSort?: (sort: string) => void
  /** Ids of the columns to show. Default: all. */
  shown?: readonly string[] | undefined
  selection?: Selection
  /** Actions on the selection, and a note beside them such as "192 CU". */
  bulk?: { actions: readonly Action[]; note?: ReactNode; matching?: number; onSelectMatching?: () => void }
  /** Why a row is disabled and can't be selected; null if it is enabled. */
  disabled?: (row: Row) => string | null
  empty: ReactNode
  /** Goes to the first page. Set if the list has rows: an empty response then means that the page is past the end. */
  onFirstPage?: (() => void) | false
  /** Whether filters are set: an empty response then means "no match". */
  filtered?: boolean
  onReset?: () => void
  error?: unknown
  onRetry?: () => void
  /** Below the rows: the pager. */
  foot?: ReactNode
  /** Shown above the header, for instance that the data may be out of date. */
  notice?: ReactNode
  /** The table grows with its rows and the page scrolls, for short tables beside other content. */
  grows?: boolean
}

/** A table with sorting, selection, detail rows and actions. Keyboard: arrows, Enter to open, Space for the detail, x to select. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { rows, columns: all, rowKey, href, actions, detail, onSort, shown, selection, disabled, onOpened, grows = false } = props
  const [ownOpen, setOwnOpen] = useState<ReadonlySet<string>>(new Set())
  const open = props.opened ?? ownOpen
  const [active, setActive] = useState(0)
  const body = useRef<HTMLTableSectionElement>(null)
  const narrow = useMedia('below', 'sm')
  const [sm, md, lg, xl] = [useMedia('from', 'sm'), useMedia('from', 'md'), useMedia('from', 'lg'), useMedia('from', 'xl')]
  const width = useMemo(() => ({ xs: true, sm, md, lg, xl }), [sm, md, lg, xl])
  const cols = useMemo(
    () => all.filter((c) => (narrow ? c.card !== undefined : (c.from === undefined || width[c.from]) && isShown(c, shown))),
    [all, narrow, shown, width],
  )
  const widthOf = ({ width: w }: Column<Row>) => (typeof w === 'function' ? w(width) : w)
  const count = rows?.length ?? 0
  const openRows = open.size === 0 ? [] : (rows ?? []).flatMap((row, i) => (open.has(rowKey(row)) ? [i] : []))
  const view = useWindow({ body, count, openRows })
  const menu = useRef<RowMenuHandle>(null)
  const tip = useTip()

  // Stable props, so that rows don't re-render during scrolling.
  const toggleOpen = useCallback(
    (key: string) => {
      const next = new Set(open)
      if (!next.delete(key)) next.add(key)
      if (onOpened) onOpened(next)
      else setOwnOpen(next)
    },
    [open, onOpened],
  )
  const selectable = useMemo(() => (rows ?? []).filter((row) => !disabled?.(row)).map(rowKey), [rows, disabled, rowKey])
  // Set by an arrow key. The row gets the focus after rendering, because it may not have been rendered before.
  const walk = useRef(false)
  useLayoutEffect(() => {
    if (!walk.current) return
    walk.current = false
    body.current?.querySelector<HTMLElement>(`[data-row="${active}"]`)?.focus()
  }, [active])

  if (rows === undefined)
    return (
      <section className={css['panel']}>
        {props.error === undefined || props.error === null ? (
          <SkeletonRows widths={cols.map((c) => (widthOf(c) ?? 140) - 30)} />
        ) : (
          <ErrorState error={props.error} onRetry={props.onRetry} />
        )}
      </section>
    )
  if (count === 0)
    return (
      <section className={css['panel']}>
        {props.notice}
        {props.onFirstPage ? (
          <PastEnd onFirst={props.onFirstPage} />
        ) : props.filtered && props.onReset ? (
          <NoMatch what={`No ${props.noun ?? 'row'}`} onReset={props.onReset} />
        ) : (
          props.empty
        )}
      </section>
    )

  // On narrow screens the row itself is the link.
  const arrow = href !== undefined && width.md
  const controls = [actions, arrow, detail].filter(Boolean).length
  const span = cols.length + (selection ? 1 : 0) + (controls > 0 ? 1 : 0)
  const allOn = selection !== undefined && selectable.length > 0 && selectable.every((key) => selection.has(key))
  const someOn = selection !== undefined && selectable.some((key) => selection.has(key))
  const minWidth = cols.reduce((sum, c) => sum + (widthOf(c) ?? 130), (selection ? 44 : 0) + controls * 32 + 16)

  /** The row that contains the event's target; null if the target is outside of rows or in a table inside a row's detail. */
  const rowOf = (event: { target: EventTarget; currentTarget: EventTarget }) => {
    const element = (event.target as Element).closest<HTMLElement>('tr[data-row]')
    const row = rows[Number(element?.dataset['row'])]
    return element?.parentElement === event.currentTarget && row !== undefined ? { element, row } : null
  }

  const onClick = (event: MouseEvent<HTMLTableSectionElement>) => {
    const of = rowOf(event)
    if (of === null) return
    const target = event.target as HTMLElement
    const control = target.closest<HTMLElement>('[data-does]')
    const does = control?.dataset['does'] as Does | undefined
    const link = href?.(of.row)
    tip.hide()
    if (control && does === 'menu') menu.current?.toggle(control, () => actions?.(of.row) ?? [])
    else if (does === 'select') selection?.toggle(rowKey(of.row), event.shiftKey ? selectable : null)
    else if (does === 'detail') toggleOpen(rowKey(of.row))
    else if (target.closest(interactive) !== null || (getSelection()?.toString() ?? '') !== '') return
    else if (link === undefined) {
      if (detail && event.button === 0) toggleOpen(rowKey(of.row))
    } else if (event.metaKey || event.ctrlKey || event.button === 1) window.open(link, '_blank', 'noopener')
    else if (event.button === 0) of.element.querySelector<HTMLAnchorElement>('a[data-rowlink]')?.click()
  }
  const onFocus = (event: FocusEvent<HTMLTableSectionElement>) => {
    const target = event.target as HTMLElement
    if (rowOf(event)?.element === target) setActive(Number(target.dataset['row']))
    else if (target.dataset['does'] === 'menu') preloadMenu()
    const named = iconOf(target)
    if (named?.matches(':focus-visible')) tip.show(named, named.ariaLabel, 0)
  }
  const onPointerOver = (event: PointerEvent<HTMLTableSectionElement>) => {
    tellWhole(event)
    const named = iconOf(event.target as HTMLElement)
    if (named?.dataset['does'] === 'menu') preloadMenu()
    if (named && event.pointerType !== 'touch') tip.show(named, named.ariaLabel, 500)
  }
  const onPointerOut = (event: PointerEvent<HTMLTableSectionElement>) => {
    const named = iconOf(event.target as HTMLElement)
    if (named && !named.contains(event.relatedTarget as Node | null)) tip.hide()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTableSectionElement>) => {
    const target = event.target as HTMLElement
    const of = rowOf(event)
    if (of === null || event.metaKey || event.ctrlKey || event.altKey) return
    if (target.dataset['does'] === 'menu' && event.key === 'ArrowDown') {
      event.preventDefault()
      return target.click()
    }
    if (of.element !== target) return
    const { row } = of
    const at = Number(target.dataset['row'])
    const go = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: count - 1, PageDown: at + 10, PageUp: at - 10 }[event.key]
    if (go !== undefined) {
      const to = Math.max(0, Math.min(count - 1, go))
      walk.current = true
      view.reveal(to)
      setActive(to)
      if (to === active) target.focus()
    } else if (event.key === 'Enter' && !href && detail) toggleOpen(rowKey(row))
    else if (event.key === 'Enter') target.querySelector<HTMLAnchorElement>('a[data-rowlink]')?.click()
    else if (event.key === ' ' && detail) toggleOpen(rowKey(row))
    else if ((event.key.toLowerCase() === 'x' || event.key === ' ') && selection && !disabled?.(row))
      selection.toggle(rowKey(row), event.shiftKey ? selectable : null)
    else return
    event.preventDefault()
  }

  return (
    <section className={css['panel']}>
      {props.notice}
      <div className={cx(css['scroll'], grows && css['grows'])} data-tablescroll="">
        <table className={css['tbl']} aria-label={props.label} aria-rowcount={count} style={narrow ? undefined : { minWidth }}>
          <thead>
            <tr>
              {selection && (
                <th className={css['sel']}>
                  <Checkbox
                    hideLabel
                    label="Select all on this page"
                    checked={allOn}
                    indeterminate={someOn && !allOn}
                    onChange={(on) => selection.set(on ? selectable : [])}
                  />
                </th>
              )}
              {cols.map((column) => (
                <Head key={column.id} column={column} width={widthOf(column)} help={width.md} sort={props.sort} onSort={onSort} />
              ))}
              {controls > 0 && (
                <th style={{ width: controls * 32 + 20 }}>
                  <span className="sr">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          {/* The handlers are for keys that move between rows, and for titles of cut text. */}
          <tbody
            ref={body}
            onClick={onClick}
            onAuxClick={onClick}
            onKeyDown={onKeyDown}
            onFocus={onFocus}
            onBlur={tip.hide}
            onPointerOver={onPointerOver}
            onPointerOut={onPointerOut}
          >
            {view.before > 0 && <Space height={view.before} span={span} />}
            {rows.slice(view.from, view.to).map((row, i) => {
              const index = view.from + i
              const id = rowKey(row)
              return (
                <DataRow
                  key={id}
                  id={id}
                  row={row}
                  index={index}
                  cols={cols}
                  width={width}
                  name={props.rowName(row)}
                  link={href?.(row)}
                  arrow={arrow}
                  hasMenu={actions !== undefined}
                  isStop={index === Math.min(active, count - 1) || (i === 0 && (active < view.from || active >= view.to))}
                  isOpen={open.has(id)}
                  isDisabled={(disabled?.(row) ?? null) !== null}
                  selected={selection?.has(id)}
                  detail={detail}
                  measure={view.measure}
                />
              )
            })}
            {view.after > 0 && <Space height={view.after} span={span} />}
          </tbody>
        </table>
      </div>
      {actions && <RowMenu ref={menu} />}
      {tip.bubble()}
      {props.foot}
      {selection && props.bulk && <BulkBar selection={selection} {...props.bulk} />}
    </section>
  )
}

const Space = ({ height, span }: { height: number; span: number }) => (
  <tr aria-hidden="true" className={css['space']}>
    <td colSpan={span} style={{ height }} />
  </tr>
)
