import type { ReactNode } from 'react'

export interface PlainColumn<Row> {
  head: ReactNode
  /** Of the heading and of the cells. */
  className?: string | undefined
  cell: (row: Row) => ReactNode
  /** Of a cell alone, such as a tooltip or its label in a narrow layout. */
  props?: (row: Row) => { title?: string | undefined; className?: string | undefined; 'data-label'?: string }
}

interface PlainTableProps<Row> {
  columns: readonly (PlainColumn<Row> | false)[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  className?: string | undefined
  headClassName?: string | undefined
  label?: string
}

/** A small table without sorting, selection or states: rows of facts inside a panel. */
export function PlainTable<Row>({ columns, rows, rowKey, className, headClassName, label }: PlainTableProps<Row>) {
  const shown = columns.filter((column) => column !== false)
  return (
    <table className={className} aria-label={label}>
      <thead className={headClassName}>
        <tr>
          {shown.map(({ head, className: ofColumn }, i) => (
            <th key={i} scope="col" className={ofColumn}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
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
