import type { ReactNode } from 'react'

export interface PlainColumn<Row> {
  head: ReactNode
  cell: (row: Row) => ReactNode
  /** CSS class of the heading and of the cells. */
  className?: string | undefined
  /**
   * Attributes of the column's body cells, not of its header: a class, a tooltip, or the label for
   * a narrow layout.
   */
  props?: (row: Row) => {
    className?: string | undefined
    title?: string | undefined
    'data-label'?: string
  }
}

interface PlainTableProps<Row> {
  /** Columns that are false are left out. */
  columns: readonly (PlainColumn<Row> | false)[]
  rows: readonly Row[]
  className?: string | undefined
  headClassName?: string | undefined
  label?: string
}

/** A small table of facts, without sorting, selection or states of its own. */
export function PlainTable<Row>({
  columns,
  rows,
  className,
  headClassName,
  label,
}: PlainTableProps<Row>) {
  const shown = columns.filter((column) => column !== false)
  return (
    <table className={className} aria-label={label}>
      <thead className={headClassName}>
        <tr>
          {shown.map((column, i) => (
            <th key={i} scope="col" className={column.className}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, r) => (
          <tr key={r}>
            {shown.map(({ className: ofColumn, cell, props }, i) => (
              <td key={i} className={ofColumn} {...props?.(row)}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
