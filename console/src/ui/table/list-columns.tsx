import type { ReactNode } from 'react'
import type { AnyList, BareColumn, ColumnKey, ItemOf, ListColumn, Value } from '#contract/list.ts'
import { sentence } from '../../lib/text.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { count, disk, memory } from '../../lib/units.ts'
import type { Column } from './DataTable.tsx'

/**
 * How a table renders a declared column: what a cell shows in place of the plain value, and the
 * column's look.
 */
type Cell<Row> = Partial<
  Pick<Column<Row>, 'cell' | 'numeric' | 'fits' | 'width' | 'from' | 'fixed' | 'card'>
>
export type Cells<L extends AnyList> = {
  readonly [K in BareColumn<L>]: Cell<ItemOf<L>> & Required<Pick<Column<ItemOf<L>>, 'cell'>>
} & {
  readonly [K in ColumnKey<L>]?: Cell<ItemOf<L>>
}

export const none = (
  <span className="t3" title="None">
    –
  </span>
)

/** Whether the API left this field out of the row, because the page would be too large. */
const isLeftOut = (row: unknown, field: string): boolean =>
  (row as { left_out?: readonly string[] | undefined }).left_out?.includes(field) ?? false

/** Stands for a field that is left out, so that nobody takes it for empty. */
const leftOut = (
  <span className="t3" title="Too large for this list: open the object to see it">
    Not in the list
  </span>
)

/** The time of an event, with the exact time on hover. */
export const Time = ({ at }: { at: string }) => (
  <time className="num" dateTime={at} title={exact(at)}>
    {moment(at)}
  </time>
)

type Kind = NonNullable<ListColumn<unknown>['kind']>
const kinds: Readonly<
  Record<Kind, { width: number; numeric?: true; shown: (value: NonNullable<Value>) => ReactNode }>
> = {
  text: { width: 150, shown: (value) => value },
  word: { width: 120, shown: (value) => sentence(String(value)) },
  mono: { width: 160, shown: (value) => <span className="mono">{value}</span> },
  number: { width: 84, numeric: true, shown: (value) => count(Number(value)) },
  memory: { width: 100, numeric: true, shown: (value) => memory(Number(value)) },
  disk: { width: 100, numeric: true, shown: (value) => disk(Number(value)) },
  time: { width: 120, shown: (value) => <Time at={String(value)} /> },
}

/**
 * The columns of a declared list: label, help, order and plain values come from the declaration.
 */
export const listColumns = <L extends AnyList>(
  list: L,
  cells: Cells<L>,
): readonly Column<ItemOf<L>>[] =>
  Object.entries(list.columns as Readonly<Record<string, ListColumn<ItemOf<L>>>>).map(
    ([id, { label, help, kind = 'text', sort, hidden, value }]) => {
      const { shown, ...look } = kinds[kind]
      const plain = (row: ItemOf<L>) => {
        const known = value?.(row) ?? null
        return known === null ? none : shown(known)
      }
      const cell: Cell<ItemOf<L>> = (cells as Readonly<Record<string, Cell<ItemOf<L>>>>)[id] ?? {
        from: 'md',
        ...look,
      }
      const shownCell = cell.cell ?? plain
      return {
        id,
        head: label,
        ...(help !== undefined && { help }),
        ...(sort && { sortable: true }),
        ...(hidden && { hidden }),
        ...cell,
        cell: (row, from) => (isLeftOut(row, id) ? leftOut : shownCell(row, from)),
      }
    },
  )
