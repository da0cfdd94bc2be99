import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'

/** Lists up to this length render whole. */
const wholeUpTo = 200
/**
 * Rows above and below the visible ones that are rendered too, and by how many rows that range
 * moves at least.
 */
export const overscan = 24
const step = 4
/**
 * While a list scrolls faster than this, in px per ms, rows that come show their names only, until
 * it rests for `restMs`: a slow computer needs longer for the columns than for scrolling past them.
 */
const fast = 1.5
export const restMs = 100
/**
 * In px, until rows are measured: the height of a row, and how much of the screen's height a page
 * needs above and below its rows.
 */
const [assumedRowHeight, assumedOutside] = [36, 160]
/** At least one: a hidden page has no height. */
const rowsOfScreen = () => Math.max(1, Math.ceil((innerHeight - assumedOutside) / assumedRowHeight))

/**
 * Where the rows of a list are, in px from the top of the first one. Rows have equal heights; an
 * open row adds the height of its detail (`details`, by index).
 */
function placed(rowHeight: number, details: readonly (readonly [number, number])[]) {
  const topOf = (row: number): number =>
    details.reduce((top, [index, height]) => (index < row ? top + height : top), row * rowHeight)
  const rowAt = (y: number): number => {
    let row = Math.floor(y / rowHeight)
    while (row > 0 && topOf(row) > y) row--
    return row
  }
  return { topOf, rowAt }
}

interface Range {
  from: number
  to: number
  /** The rows that show their columns. Null: all of the range. */
  full: Omit<Range, 'full'> | null
}
interface WindowParts {
  body: RefObject<HTMLTableSectionElement | null>
  count: number
  openRows: readonly number[]
}

/**
 * The rows of a table body to render: all of a short list; of a long one those in view and some
 * around them, whichever element scrolls, those outside of `full` as names. `before` and `after`:
 * height of the rows that are not rendered, in px.
 */
export function useWindow({ body, count, openRows }: WindowParts) {
  const [rowHeight, setRowHeight] = useState(assumedRowHeight)
  const [details, setDetails] = useState<ReadonlyMap<number, number>>(new Map())
  // The first rendering shows only as many rows as the screen can hold, so that it is quick.
  const [range, setRange] = useState<Range>(() => ({ from: 0, to: rowsOfScreen(), full: null }))
  const isWhole = count <= wholeUpTo
  const opened = openRows.join(',')
  const rows = useMemo(() => {
    const open = new Set(opened.split(',').map(Number))
    return placed(
      rowHeight,
      [...details].filter(([index]) => open.has(index)),
    )
  }, [rowHeight, details, opened])

  const seen = useRef({ top: 0, at: 0 })
  /** Renders the rows in view. Returns whether the list scrolls too fast for their columns. */
  const look = useCallback(
    (scroll?: Event): boolean => {
      const element = body.current
      // Elements of a hidden page have no size.
      if (isWhole || element === null || element.offsetHeight === 0) return false
      const height = element.querySelector<HTMLElement>('[data-id]')?.offsetHeight ?? 0
      // Another height runs the effect below again, and with it this function.
      if (height > 0) setRowHeight(height)
      const { top } = element.getBoundingClientRect()
      const [was, at] = [seen.current, scroll?.timeStamp ?? 0]
      const isFast = Math.abs(top - was.top) > fast * (at - was.at) && scroll !== undefined
      seen.current = { top, at }
      const box = element.closest('[data-tablescroll]')?.getBoundingClientRect()
      const first = rows.rowAt(Math.max(0, box?.top ?? 0) - top) - overscan
      const last = rows.rowAt(Math.min(innerHeight, box?.bottom ?? innerHeight) - top) + overscan
      const from = Math.max(0, Math.floor(first / step) * step)
      const to = Math.ceil((last + 1) / step) * step
      setRange((old) => {
        const full = isFast ? (old.full ?? old) : null
        return old.from === from && old.to === to && old.full === full ? old : { from, to, full }
      })
      return isFast
    },
    [body, isWhole, rows],
  )

  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    const rest = () => void look()
    let resting = 0
    const onScroll = (event: Event) => {
      clearTimeout(resting)
      if (look(event)) resting = window.setTimeout(rest, restMs)
    }
    document.addEventListener('scroll', onScroll, { capture: true, passive: true, signal })
    window.addEventListener('resize', rest, { signal })
    // Also called when a page that was mounted while hidden becomes visible.
    const resized = new ResizeObserver(rest)
    if (body.current) resized.observe(body.current)
    const frame = requestAnimationFrame(rest)
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(resting)
      resized.disconnect()
      ended.abort()
    }
  }, [body, look])

  /** Reports the element of a row's detail, so that its height is taken into account. */
  const measure = useCallback((index: number, element: HTMLElement | null) => {
    const height = element?.offsetHeight
    if (height !== undefined)
      setDetails((was) => (was.get(index) === height ? was : new Map(was).set(index, height)))
  }, [])
  /** Renders a row, which is about to get the focus; the browser scrolls to it then. */
  const reveal = (index: number) => {
    if (!isWhole && (index < range.from || index >= range.to || range.full !== null))
      setRange({ from: Math.max(0, index - overscan), to: index + overscan, full: null })
  }
  const from = isWhole ? 0 : Math.min(range.from, Math.max(0, count - 1))
  const to = isWhole ? count : Math.min(range.to, count)
  return {
    from,
    to,
    full: (isWhole ? null : range.full) ?? { from, to },
    rowHeight,
    before: rows.topOf(from),
    after: rows.topOf(count) - rows.topOf(to),
    measure,
    reveal,
  }
}
