import type { AddressState } from '#contract/network/address-map.ts'
import { memo, useMemo } from 'react'
import {
  addressText,
  blockBits,
  cellAt,
  type Cell,
  cellsOf,
  type DrawnRun,
  type Stretch,
  stretchText,
} from './address-grid.ts'
import css from './AddressMap.module.css'
import { cx } from '../cx.ts'

export const stateWords: Readonly<Record<AddressState, string>> = {
  used: 'In use',
  free: 'Free',
  reserved: 'Reserved',
  excluded: 'Excluded',
  gateway: 'Gateway',
}

const perCent = (part: number): string =>
  part >= 0.01 ? `${Math.floor(part * 100)} %` : 'less than 1 %'
const said = ({ state, used }: Cell): string =>
  state === 'used' && used < 1
    ? `${perCent(used)} in use`
    : state === 'used'
      ? 'in use'
      : stateWords[state].toLowerCase()

/**
 * Label of a row: the last octets of its first address, or for IPv6 the number of cells before the
 * row. Label and column number identify a cell.
 */
function rowLabel(stretch: Stretch, index: number): string {
  if (stretch.family === 6) return index.toString(16)
  const octets = addressText(4, cellAt(stretch, index).base).split('.')
  return stretch.bits <= 8 ? octets[3]! : octets.slice(stretch.bits <= 16 ? 2 : 1).join('.')
}

interface AddressCellsProps {
  id: string
  runs: readonly DrawnRun[]
  stretch: Stretch
  columns: number
}

/** The cells of a stretch. Rendered once; the selected cell is a separate ring above them. */
export const AddressCells = memo(function AddressCells({
  id,
  runs,
  stretch,
  columns,
}: AddressCellsProps) {
  const cells = useMemo(() => cellsOf(runs, stretch), [runs, stretch])
  const rows = useMemo(
    () =>
      Array.from({ length: Math.ceil(cells.length / columns) }, (_, r) =>
        cells.slice(r * columns, (r + 1) * columns),
      ),
    [cells, columns],
  )
  const single = blockBits(stretch) === 0
  return (
    <>
      <div className={css['line']} aria-hidden="true">
        <span />
        {Array.from({ length: columns }, (_, c) => (
          <span key={c} className={css['x']}>
            {c < cells.length ? c.toString(16) : ''}
          </span>
        ))}
      </div>
      {rows.map((row, r) => (
        <div key={r} role="row" className={css['line']}>
          <span className={css['y']} aria-hidden="true">
            {rowLabel(stretch, r * columns)}
          </span>
          {row.map((cell, c) => {
            const index = r * columns + c
            const partly = cell.state === 'used' && cell.used < 1
            return (
              <span
                key={c}
                role="gridcell"
                id={`${id}-${index}`}
                data-cell={index}
                className={cx(css['cell'], css[cell.state], partly && css['part'])}
                aria-label={`${single ? addressText(stretch.family, stretch.base + BigInt(index)) : stretchText(cellAt(stretch, index))}, ${said(cell)}`}
              >
                {partly && (
                  <i style={{ height: `${Math.max(14, Math.round(cell.used * 100))}%` }} />
                )}
              </span>
            )
          })}
        </div>
      ))}
    </>
  )
})
