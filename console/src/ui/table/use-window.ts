import { type RefObject, useCallback, useEffect, useMemo, useState } from 'react'

/** Lists up to this length render whole. */
const wholeUpTo = 200
/**
 * Rows above and below the visible ones that are rendered too, and by how many rows that range
 * moves at least.
 */
export const overscan = 24
const step = 4
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
export function placed(rowHeight: number, details: ReadonlyMap<number, number>) {
  const opened = [...details].toSorted(([a], [b]) => a - b)
  return {
    topOf: (row: number): number =>
      row * rowHeight +
      opened.reduce((sum, [index, height]) => (index < row ? sum + height : sum), 0),
    rowAt(y: number): number {
      let added = 0
      for (const [index, height] of opened) {
        const end = (index + 1) * rowHeight + added
        if (y < end) break
        if (y < end + height) return index
        added += height
      }
      return Math.floor((y - added) / rowHeight)
    },
  }
}

interface WindowParts {
  body: RefObject<HTMLTableSectionElement | null>
  count: number
  openRows: readonly number[]
}

/**
 * The rows of a table body to render: all of a short list; of a long one those in view and some
 * around them, whichever element scrolls. `before` and `after`: height of the other rows, in px.
 */
export function useWindow({ body, count, openRows }: WindowParts) {
  const [rowHeight, setRowHeight] = useState(assumedRowHeight)
  const [details, setDetails] = useState<ReadonlyMap<number, number>>(new Map())
  // The first rendering shows only as many rows as the screen can hold, so that it is quick.
  const [range, setRange] = useState(() => ({ from: 0, to: rowsOfScreen() }))
  const isWhole = count <= wholeUpTo
  const opened = openRows.join(',')
  const rows = useMemo(() => {
    const open = new Set(opened === '' ? [] : opened.split(',').map(Number))
    return placed(rowHeight, new Map([...details].filter(([index]) => open.has(index))))
  }, [rowHeight, details, opened])

  /**
   * The visible part of the screen and the top of the first row; undefined if the list is hidden,
   * because elements of a hidden page have no size.
   */
  const view = useCallback(() => {
    const element = body.current
    if (element === null || element.offsetHeight === 0) return undefined
    const box = element.closest('[data-tablescroll]')?.getBoundingClientRect()
    return {
      top: element.getBoundingClientRect().top,
      from: Math.max(0, box?.top ?? 0),
      to: Math.min(innerHeight, box?.bottom ?? innerHeight),
    }
  }, [body])
  const look = useCallback(() => {
    const seen = isWhole ? undefined : view()
    if (seen === undefined) return
    // Another height runs the effect below again, and with it this function.
    const height = body.current?.querySelector<HTMLElement>('[data-id]')?.offsetHeight ?? 0
    if (height > 0) setRowHeight(height)
    const from = Math.max(
      0,
      Math.floor((rows.rowAt(seen.from - seen.top) - overscan) / step) * step,
    )
    const to = Math.ceil((rows.rowAt(seen.to - seen.top) + 1 + overscan) / step) * step
    setRange((was) => (was.from === from && was.to === to ? was : { from, to }))
  }, [body, isWhole, rows, view])

  useEffect(() => {
    const ended = new AbortController()
    document.addEventListener('scroll', look, {
      capture: true,
      passive: true,
      signal: ended.signal,
    })
    window.addEventListener('resize', look, { signal: ended.signal })
    // Also called when a page that was mounted while hidden becomes visible.
    const resized = new ResizeObserver(look)
    if (body.current) resized.observe(body.current)
    const frame = requestAnimationFrame(look)
    return () => {
      cancelAnimationFrame(frame)
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
  /** Scrolls a row into view, and renders it. */
  const reveal = useCallback(
    (index: number) => {
      const row = body.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)
      if (row) return row.scrollIntoView({ block: 'nearest' })
      const seen = view()
      if (seen === undefined) return
      const scroller = body.current?.closest<HTMLElement>('[data-tablescroll]')
      const drawnBy =
        scroller && scroller.scrollHeight > scroller.clientHeight
          ? scroller
          : document.scrollingElement
      drawnBy?.scrollBy({ top: seen.top + rows.topOf(index) - (seen.from + seen.to) / 2 })
      look()
    },
    [body, rows, view, look],
  )
  const from = isWhole ? 0 : Math.min(range.from, Math.max(0, count - 1))
  const to = isWhole ? count : Math.min(range.to, count)
  return {
    from,
    to,
    before: rows.topOf(from),
    after: rows.topOf(count) - rows.topOf(to),
    measure,
    reveal,
  }
}
