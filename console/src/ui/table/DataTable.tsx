import {
  type CSSProperties,
  type ReactNode,
  Suspense,
  useDeferredValue,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { Breakpoint } from '../../lib/breakpoints.ts'
import { useMedia } from '../../lib/use-media.ts'
import type { Action } from '../actions.ts'
import { cx } from '../cx.ts'
import css from './DataTable.module.css'
import { Checkbox } from '../inputs/Choices.tsx'
import { as } from './roles.ts'
import { RowMenu, type RowMenuHandle } from './RowMenu.tsx'
import type { Selection } from './selection.ts'
import { ErrorState, NoMatch, PastEnd, SkeletonRows } from '../feedback/States.tsx'
import { TableBody } from './TableBody.tsx'
import { leastOf, tracksOf, type Width } from './tracks.ts'
import { Head, isShown } from './TableHead.tsx'
import { useTip } from '../overlay/Tooltip.tsx'
import { later } from '../part.tsx'

const BulkBar = later(() => import('./BulkBar.tsx'))

/** Whether the screen is at least as wide as a breakpoint. */
export type WidthFrom = Readonly<Record<Breakpoint, boolean>>

export interface Column<Row> {
  id: string
  head: string
  /** Text of the help icon beside the column's heading. */
  help?: string
  /**
   * Renders a cell. `from`: the breakpoints that the screen's width reaches, so that the cell
   * needn't render parts that are hidden.
   */
  cell: (row: Row, from: WidthFrom) => ReactNode
  sortable?: boolean
  numeric?: boolean
  /**
   * The content fits or clips itself, so that the cell needn't clip. Each clipping cell is one
   * more layer that the browser puts together when something opens above the table.
   */
  fits?: boolean
  /**
   * Width, or a function of the breakpoints and of the rows. Columns without a width share the rest.
   */
  width?: Width | undefined | ((from: WidthFrom, rows: readonly Row[]) => Width | undefined)
  /** Hidden on narrower screens. */
  from?: Breakpoint
  /** Always shown: the user can't hide the column. */
  fixed?: boolean
  /** Hidden until the user chooses the column. */
  hidden?: boolean
  /**
   * The column's place in the card that replaces a row below `sm`: one `name`, one `state` and one
   * `fact` at most. Other columns are left out.
   */
  card?: 'name' | 'state' | 'fact'
}

/** Width in px from which a column has room for the help icon beside its heading. */
const helpPx = 110

/** Width in px of a column of names: fits the longest name, 25 characters. */
export const nameWidth = 210

/**
 * Returns the list unchanged. Only for type inference: declares columns at module scope, typed by
 * their row.
 */
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
  /**
   * Called when the pointer or the focus reaches the button that opens a row's detail, to load what
   * the detail shows.
   */
  preloadDetail?: (row: Row) => void
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
  bulk?: {
    actions: readonly Action[]
    note?: ReactNode
    matching?: number
    onSelectMatching?: () => Promise<readonly string[]>
  }
  /** Why a row is disabled and can't be selected; null if it is enabled. */
  disabled?: (row: Row) => string | null
  empty: ReactNode
  /**
   * Goes to the first page. Set if the list has rows: an empty response then means that the page is
   * past the end.
   */
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
  /** For tables with many columns: less room between them, unless the screen is wide. */
  tight?: boolean
}

/**
 * A table with sorting, selection, detail rows and actions. Keyboard: arrows, Enter to open, Space
 * for the detail, x to select.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const {
    columns: all,
    rowKey,
    href,
    actions,
    detail,
    onSort,
    shown,
    selection,
    disabled,
    grows = false,
    tight = false,
  } = props
  const rendered = useDeferredValue(props.rows)
  // New rows render in slices, so that the user can go on typing. An empty list has nothing to keep
  // on the screen meanwhile.
  const rows = rendered?.length && props.rows?.length ? rendered : props.rows
  const [ownOpen, setOwnOpen] = useState<ReadonlySet<string>>(new Set())
  const { opened: open = ownOpen, onOpened: setOpen = setOwnOpen } = props
  const narrow = useMedia('below', 'sm')
  const [sm, md, lg, xl] = [
    useMedia('from', 'sm'),
    useMedia('from', 'md'),
    useMedia('from', 'lg'),
    useMedia('from', 'xl'),
  ]
  const width = useMemo(() => ({ xs: true, sm, md, lg, xl }), [sm, md, lg, xl])
  const cols = useMemo(
    () =>
      all.filter((c) =>
        narrow
          ? c.card !== undefined
          : (c.from === undefined || width[c.from]) && isShown(c, shown),
      ),
    [all, narrow, shown, width],
  )
  const widthOf = ({ width: w }: Column<Row>) =>
    typeof w === 'function' ? w(width, rows ?? []) : w
  const count = rows?.length ?? 0
  const menu = useRef<RowMenuHandle>(null)
  const tip = useTip()

  const selectable = useMemo(
    () => (rows ?? []).filter((row) => !disabled?.(row)).map(rowKey),
    [rows, disabled, rowKey],
  )

  if (rows === undefined)
    return (
      <section className={css['panel']}>
        {props.error === undefined || props.error === null ? (
          <SkeletonRows widths={cols.map((c) => (leastOf(widthOf(c)) ?? 140) - 30)} />
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

  // The row itself is the link. Only wide screens have room for an arrow as well.
  const arrow = href !== undefined && width.xl
  const controls = [actions, arrow, detail].filter(Boolean).length
  const allOn =
    selection !== undefined &&
    selectable.length > 0 &&
    selectable.every((key) => selection.has(key))
  const someOn = selection !== undefined && selectable.some((key) => selection.has(key))
  const widths = cols.map(widthOf)
  const { tracks, minWidth } = tracksOf(
    widths,
    selection ? 44 : 0,
    controls > 0 ? controls * 32 + 16 : 0,
  )

  return (
    <section className={css['panel']}>
      {props.notice}
      <div
        className={cx(css['scroll'], grows && css['grows'], tight && css['tight'])}
        data-tablescroll=""
      >
        <table
          {...as.table}
          className={css['tbl']}
          aria-label={props.label}
          aria-rowcount={count}
          style={{ '--tracks': tracks, minWidth: narrow ? undefined : minWidth } as CSSProperties}
        >
          <thead {...as.group}>
            <tr {...as.row}>
              {selection && (
                <th {...as.head} className={css['sel']}>
                  <Checkbox
                    hideLabel
                    label="Select all on this page"
                    checked={allOn}
                    indeterminate={someOn && !allOn}
                    onChange={(on) => selection.set(on ? selectable : [])}
                  />
                </th>
              )}
              {cols.map((column, i) => (
                <Head
                  key={column.id}
                  column={column}
                  help={width.md && (leastOf(widths[i]) ?? helpPx) >= helpPx}
                  sort={props.sort}
                  onSort={onSort}
                />
              ))}
              {controls > 0 && (
                <th {...as.head}>
                  <span className="sr">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <TableBody
            {...{
              rows,
              open,
              setOpen,
              cols,
              width,
              rowKey,
              rowName: props.rowName,
              selectable,
              hasArrow: arrow,
              menu,
              showTip: tip.show,
              hideTip: tip.hide,
            }}
            {...{ href, actions, detail, preloadDetail: props.preloadDetail, selection, disabled }}
          />
        </table>
      </div>
      {actions && <RowMenu ref={menu} />}
      {tip.bubble()}
      {props.foot}
      {selection && selection.size > 0 && props.bulk && (
        <Suspense fallback={null}>
          <BulkBar selection={selection} {...props.bulk} />
        </Suspense>
      )}
    </section>
  )
}
