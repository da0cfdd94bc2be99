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

/** Rows above and below the visible ones that are rendered in full. */
export const overscan = 24

export type Range = Pick<Window, 'from' | 'to'>

/** The range with the space around it. */
export function windowOf({ from, to }: Range, { count, rowHeight, extra }: Viewport): Window {
  const extras = sorted(extra)
  const before = heightUpTo(from, rowHeight, extras)
  return { from, to, before, after: heightUpTo(count, rowHeight, extras) - heightUpTo(to, rowHeight, extras) }
}

/** The first visible row, and one past the last. */
export function visibleRows({ count, rowHeight, extra, top, bottom }: Viewport): Range {
  const extras = sorted(extra)
  const clamp = (row: number) => Math.max(0, Math.min(count, row))
  const from = clamp(rowAt(Math.max(0, top), rowHeight, extras))
  return { from, to: Math.max(from, clamp(rowAt(Math.max(0, bottom), rowHeight, extras) + 1)) }
}

/**
 * The range that follows `now`: at most `most` rows come, visible ones first, then up to `ahead` above and below them. Without `most`, all visible rows come
 * and no others. Rows farther away than three times `ahead` go. If no row of `now` is near, the range begins anew at the first visible row.
 */
export function nextRange(now: Range, seen: Range, count: number, ahead: number, most?: number): Range {
  const around = (rows: number): Range => ({ from: Math.max(0, seen.from - rows), to: Math.min(count, seen.to + rows) })
  const [near, kept] = [around(overscan), around(3 * ahead)]
  const stays = now.to >= near.from && now.from <= near.to
  let from = stays ? Math.max(now.from, kept.from) : seen.from
  let to = stays ? Math.min(now.to, kept.to) : seen.from
  let left = most ?? count
  const atMost = (rows: number) => {
    const added = Math.max(0, Math.min(left, rows))
    left -= added
    return added
  }
  for (const goal of most === undefined ? [seen] : [seen, around(ahead)]) {
    to += atMost(goal.to - to)
    from -= atMost(from - goal.from)
  }
  return { from, to }
}

/** The range on the way from `now` to `wanted`: at each end at most `most` rows go. The same object if nothing changes. */
export function shrunk(now: Range, wanted: Range, most: number): Range {
  if (wanted.from >= now.to || wanted.to <= now.from) return wanted
  const next = { from: Math.min(wanted.from, now.from + most), to: Math.max(wanted.to, now.to - most) }
  return next.from === now.from && next.to === now.to ? now : next
}

export const covers = (range: Range, other: Range): boolean => range.from <= other.from && range.to >= other.to
