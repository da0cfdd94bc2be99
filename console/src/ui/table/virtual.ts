/** Which rows of a long list to render. Rows have equal heights; an open row adds the height of its detail. All in px. */
export interface Viewport {
  count: number
  rowHeight: number
  /** Height of the detail under a row, by the row's index. */
  extra: ReadonlyMap<number, number>
  /** Visible part of the list, from the top of its first row. */
  top: number
  bottom: number
  overscan?: number
  /** Rows are added and removed in groups of this size: rendering eight costs about as much as one. */
  step?: number
}

export interface Window {
  /** First row to render, and one past the last. */
  from: number
  to: number
  /** Empty space for the rows above and below. */
  before: number
  after: number
}

const sorted = (extra: ReadonlyMap<number, number>) => [...extra].toSorted(([a], [b]) => a - b)

function rowAt(y: number, rowHeight: number, extras: readonly (readonly [number, number])[]): number {
  let added = 0
  for (const [index, height] of extras) {
    const end = (index + 1) * rowHeight + added
    if (y < end) break
    if (y < end + height) return index
    added += height
  }
  return Math.floor((y - added) / rowHeight)
}

const heightUpTo = (row: number, rowHeight: number, extras: readonly (readonly [number, number])[]) =>
  row * rowHeight + extras.reduce((sum, [index, height]) => (index < row ? sum + height : sum), 0)

export function visibleRows({ count, rowHeight, extra, top, bottom, overscan = 12, step = 1 }: Viewport): Window {
  const extras = sorted(extra)
  const clamp = (row: number) => Math.max(0, Math.min(count, row))
  const from = Math.max(0, Math.floor((clamp(rowAt(Math.max(0, top), rowHeight, extras)) - overscan) / step) * step)
  const to = Math.max(from, clamp(Math.ceil((rowAt(Math.max(0, bottom), rowHeight, extras) + 1 + overscan) / step) * step))
  const before = heightUpTo(from, rowHeight, extras)
  return { from, to, before, after: heightUpTo(count, rowHeight, extras) - heightUpTo(to, rowHeight, extras) }
}
