import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type RefObject,
  type SyntheticEvent,
  memo,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { preloadMenu } from '../overlay/Menu.tsx'
import type { useTip } from '../overlay/Tooltip.tsx'
import { DataRow, type Does, NameRow } from './DataRow.tsx'
import type { Column, DataTableProps, WidthFrom } from './DataTable.tsx'
import css from './DataTable.module.css'
import { as } from './roles.ts'
import type { RowMenuHandle } from './RowMenu.tsx'
import { tellWhole } from './tell-whole.ts'
import { useWindow } from './use-window.ts'

const interactive = 'a,button,input,label,select,textarea,summary,[role="menuitem"]'
/**
 * The button or link with an icon that contains the target of an event. Its accessible name is also
 * its tooltip.
 */
const iconOf = (target: HTMLElement) =>
  target.closest<HTMLElement>('button[aria-label],a[aria-label]')

/** Props that the body takes from the table. */
type Taken =
  | 'rowKey'
  | 'rowName'
  | 'href'
  | 'actions'
  | 'detail'
  | 'preloadDetail'
  | 'selection'
  | 'disabled'
type TableBodyProps<Row> = { [Key in Taken]: DataTableProps<Row>[Key] } & {
  rows: readonly Row[]
  /** Keys of the open rows. */
  open: ReadonlySet<string>
  setOpen: (keys: ReadonlySet<string>) => void
  /** The columns that are shown. */
  cols: readonly Column<Row>[]
  width: WidthFrom
  /** Keys of the rows that can be selected. */
  selectable: readonly string[]
  hasArrow: boolean
  menu: RefObject<RowMenuHandle | null>
  showTip: ReturnType<typeof useTip>['show']
  hideTip: ReturnType<typeof useTip>['hide']
}

function Body<Row>(props: TableBodyProps<Row>) {
  const {
    rows,
    cols,
    width,
    rowKey,
    rowName,
    href,
    actions,
    detail,
    preloadDetail,
    selection,
    selectable,
    disabled,
  } = props
  const { open, setOpen, hasArrow, menu, showTip, hideTip } = props
  const count = rows.length
  const [active, setActive] = useState(0)
  const body = useRef<HTMLTableSectionElement>(null)
  const openRows =
    open.size === 0 ? [] : rows.flatMap((row, i) => (open.has(rowKey(row)) ? [i] : []))
  const view = useWindow({ body, count, openRows })
  const { from, to, full, measure } = view
  const hasMenu = actions !== undefined
  const isIndented = selection !== undefined
  const shared = useMemo(
    () => ({ cols, width, hasArrow, hasMenu, detail, measure }),
    [cols, width, hasArrow, hasMenu, detail, measure],
  )
  const toggleOpen = (key: string) => {
    const next = new Set(open)
    if (!next.delete(key)) next.add(key)
    setOpen(next)
  }
  // Set by an arrow key. The row gets the focus after rendering, because it may not have been
  // rendered before.
  const walk = useRef(false)
  useLayoutEffect(() => {
    if (!walk.current) return
    walk.current = false
    body.current?.querySelector<HTMLElement>(`[data-row="${active}"]`)?.focus()
  }, [active])

  /**
   * The row that contains the event's target; null if the target is outside of rows or in a table
   * inside a row's detail.
   */
  const rowOf = (event: { target: EventTarget; currentTarget: EventTarget }) => {
    const element = (event.target as Element).closest<HTMLElement>('tr[data-row]')
    const row = rows[Number(element?.dataset['row'])]
    return element?.parentElement === event.currentTarget && row !== undefined
      ? { element, row }
      : null
  }

  const onClick = (event: MouseEvent<HTMLTableSectionElement>) => {
    const of = rowOf(event)
    if (of === null) return
    const target = event.target as HTMLElement
    const control = target.closest<HTMLElement>('[data-does]')
    const does = control?.dataset['does'] as Does | undefined
    const link = href?.(of.row)
    hideTip()
    if (control && does === 'menu') menu.current?.toggle(control, () => actions?.(of.row) ?? [])
    else if (does === 'select')
      selection?.toggle(rowKey(of.row), event.shiftKey ? selectable : null)
    else if (does === 'detail') toggleOpen(rowKey(of.row))
    else if (target.closest(interactive) !== null || (getSelection()?.toString() ?? '') !== '')
      return
    else if (link === undefined) {
      if (detail && event.button === 0) toggleOpen(rowKey(of.row))
    } else if (event.metaKey || event.ctrlKey || event.button === 1)
      window.open(link, '_blank', 'noopener')
    else if (event.button === 0)
      of.element.querySelector<HTMLAnchorElement>('a[data-rowlink]')?.click()
  }
  /** Loads what a control will show when the pointer or the focus reaches the control. */
  const preload = (event: SyntheticEvent<HTMLTableSectionElement>, control: HTMLElement | null) => {
    const does = control?.dataset['does'] as Does | undefined
    if (does === 'menu') preloadMenu()
    const of = does === 'detail' ? rowOf(event) : null
    if (of) preloadDetail?.(of.row)
  }
  const onFocus = (event: FocusEvent<HTMLTableSectionElement>) => {
    const target = event.target as HTMLElement
    if (rowOf(event)?.element === target) setActive(Number(target.dataset['row']))
    const named = iconOf(target)
    preload(event, named)
    if (named?.matches(':focus-visible')) showTip(named, named.ariaLabel, 0)
  }
  const onPointerOver = (event: PointerEvent<HTMLTableSectionElement>) => {
    tellWhole(event)
    const named = iconOf(event.target as HTMLElement)
    preload(event, named)
    if (named && event.pointerType !== 'touch') showTip(named, named.ariaLabel, 500)
  }
  const onPointerOut = (event: PointerEvent<HTMLTableSectionElement>) => {
    const named = iconOf(event.target as HTMLElement)
    if (named && !named.contains(event.relatedTarget as Node | null)) hideTip()
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
    const go = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: count - 1,
      PageDown: at + 10,
      PageUp: at - 10,
    }[event.key]
    if (go !== undefined) {
      const to = Math.max(0, Math.min(count - 1, go))
      walk.current = true
      view.reveal(to)
      setActive(to)
      if (to === active) target.focus()
    } else if (event.key === 'Enter' && !href && detail) toggleOpen(rowKey(row))
    else if (event.key === 'Enter')
      target.querySelector<HTMLAnchorElement>('a[data-rowlink]')?.click()
    else if (event.key === ' ' && detail) toggleOpen(rowKey(row))
    else if (
      (event.key.toLowerCase() === 'x' || event.key === ' ') &&
      selection &&
      !disabled?.(row)
    )
      selection.toggle(rowKey(row), event.shiftKey ? selectable : null)
    else return
    event.preventDefault()
  }

  // For keys that move between rows, for clicks, and for titles of cut text.
  const listeners = {
    onClick,
    onAuxClick: onClick,
    onKeyDown,
    onFocus,
    onBlur: hideTip,
    onPointerOver,
    onPointerOut,
  }
  const stop = active < full.from || active >= full.to ? full.from : active
  return (
    <tbody {...as.group} ref={body} {...listeners}>
      {view.before > 0 && <Space height={view.before} />}
      {rows.slice(from, to).map((row, i) => {
        const index = from + i
        const id = rowKey(row)
        const name = rowName(row)
        if (index < full.from || index >= full.to)
          return <NameRow key={id} {...{ index, name, isIndented, height: view.rowHeight }} />
        const is = {
          isStop: index === stop,
          isOpen: open.has(id),
          isDisabled: (disabled?.(row) ?? null) !== null,
          selected: selection?.has(id),
        }
        return (
          <DataRow
            key={id}
            id={id}
            row={row}
            index={index}
            name={name}
            link={href?.(row)}
            shared={shared}
            {...is}
          />
        )
      })}
      {view.after > 0 && <Space height={view.after} />}
    </tbody>
  )
}

/**
 * The rows in view, with the keyboard and the pointer on them. One listener of each kind serves all
 * rows; scrolling renders this component only. The page around the table renders at each response
 * and each change of its search, so this component renders only when its own input has changed.
 */
export const TableBody = memo(Body) as typeof Body

const Space = ({ height }: { height: number }) => (
  <tr aria-hidden="true" className={css['space']} style={{ height }} />
)
