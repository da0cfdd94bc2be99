/** Which rows of a long list to render. Rows have equal heights; an open row adds the height of its detail. All in px. */
export interface Viewport {
  count: number
  rowHeight: number
  /** Height of the detail under a row, by the row's index. */
  extra: ReadonlyMap<number, number>
  /** Visible part of the list, from the top of its first row. */
  top: number
  bottom: number
}

export interface Window {
  /** `from`: first row to render. `to`: one past the last row to render. */
  from: number
  to: number
  /** Height of the empty space in place of the rows above (`before`) and below (`after`). */
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

/** Rows that are rendered above and below the visible ones. */
export const overscan = 6

/** The window from one row up to another, with the space around it. */
function windowOf(from: number, to: number, { count, rowHeight, extra }: Viewport): Window {
  const extras = sorted(extra)
  const before = heightUpTo(from, rowHeight, extras)
  return { from, to, before, after: heightUpTo(count, rowHeight, extras) - heightUpTo(to, rowHeight, extras) }
}

export function visibleRows(view: Viewport): Window {
  const { count, rowHeight, extra, top, bottom } = view
  const extras = sorted(extra)
  const clamp = (row: number) => Math.max(0, Math.min(count, row))
  const from = Math.max(0, clamp(rowAt(Math.max(0, top), rowHeight, extras)) - overscan)
  return windowOf(from, Math.max(from, clamp(rowAt(Math.max(0, bottom), rowHeight, extras) + 1 + overscan)), view)
}

/** One step from the window `now` to `wanted`: adds at most `most` rows at each end. If they have no row in common, starts at the first visible row. */
export function towards(now: Window, wanted: Window, most: number, view: Viewport): Window {
  const stays = now.to > wanted.from && now.from < wanted.to
  const start = Math.min(wanted.to, wanted.from + overscan)
  const [from, to] = stays ? [now.from, now.to] : [start, start]
  return windowOf(Math.max(wanted.from, from - most), Math.min(wanted.to, to + most), view)
}
