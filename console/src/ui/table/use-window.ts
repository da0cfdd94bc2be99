import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { towards, visibleRows, type Window } from './virtual.ts'

/** In px, until rows are measured. */
const assumedRowHeight = 36
/** Lists up to this length render completely. */
const wholeUpTo = 200
/** Time, in ms, that one frame may spend on rendering rows while the list scrolls. Other rows follow in the next frames, so that scrolling stays smooth. */
const frameBudgetMs = 4

interface WindowParts {
  body: RefObject<HTMLTableSectionElement | null>
  count: number
  openRows: readonly number[]
}

/** Determines which rows of a table body to render while the page or any other element scrolls. */
export function useWindow({ body, count, openRows }: WindowParts) {
  const whole = count <= wholeUpTo
  const rowHeight = useRef(assumedRowHeight)
  const heights = useRef(new Map<number, number>())
  const all = { from: 0, to: count, before: 0, after: 0 }
  const [drawn, setDrawn] = useState<Window>({ ...all, to: 0 })
  if (count > 0 && (drawn.to === 0 || drawn.from >= count)) {
    // The first rows have arrived, or the rendered rows no longer exist. Until rows are measured, render as many as fit on the screen.
    const to = Math.min(count, Math.ceil(innerHeight / assumedRowHeight))
    setDrawn({ ...all, to, after: (count - to) * assumedRowHeight })
  }
  const latest = useRef(drawn)
  useLayoutEffect(() => {
    latest.current = drawn
  }, [drawn])
  const frame = useRef(0)
  const msPerRow = useRef(0.5)
  const opened = openRows.join(',')

  /** Renders the rows in view. `most`: maximum number of rows added at each end. */
  const update = useCallback(
    (most = count) => {
      const element = body.current
      // Elements of a hidden page have no size to measure.
      if (element === null || whole || element.offsetHeight === 0) return undefined
      const box = element.closest('[data-tablescroll]')?.getBoundingClientRect()
      const top = element.getBoundingClientRect().top
      const [clipTop, clipBottom] = [Math.max(0, box?.top ?? 0), Math.min(innerHeight, box?.bottom ?? innerHeight)]
      const open = new Set(opened === '' ? [] : opened.split(',').map(Number))
      const extra = new Map([...heights.current].filter(([index]) => open.has(index)))
      const view = { count, rowHeight: rowHeight.current, extra, top: clipTop - top, bottom: clipBottom - top }
      const wanted = visibleRows(view)
      const next = towards(latest.current, wanted, most, view)
      const { from, to, before, after } = latest.current
      if (from === next.from && to === next.to && before === next.before && after === next.after) return undefined
      latest.current = next
      setDrawn(next)
      return { isDone: next.from === wanted.from && next.to === wanted.to, added: Math.max(0, from - next.from) + Math.max(0, next.to - to) }
    },
    [body, count, whole, opened],
  )

  // Rows are measured here, and not while the list scrolls.
  const measureRows = useCallback(() => {
    const height = body.current?.querySelector<HTMLElement>('[data-row]')?.offsetHeight ?? 0
    if (height > 0) rowHeight.current = height
    update()
  }, [body, update])
  useLayoutEffect(measureRows, [measureRows])
  useEffect(() => {
    if (whole) return undefined
    const ended = new AbortController()
    const { signal } = ended
    // The browser sends at most one scroll event per frame, before it lays the page out.
    const onFrame = () => {
      const began = performance.now()
      const change = flushSync(() => update(Math.max(1, Math.floor(frameBudgetMs / msPerRow.current))))
      if (change && change.added > 0) msPerRow.current += ((performance.now() - began) / change.added - msPerRow.current) / 4
      cancelAnimationFrame(frame.current)
      if (change?.isDone === false) frame.current = requestAnimationFrame(onFrame)
    }
    document.addEventListener('scroll', onFrame, { capture: true, passive: true, signal })
    window.addEventListener('resize', measureRows, { signal })
    // Also called when a page that was mounted while hidden becomes visible.
    const resized = new ResizeObserver(measureRows)
    if (body.current) resized.observe(body.current)
    return () => {
      cancelAnimationFrame(frame.current)
      resized.disconnect()
      ended.abort()
    }
  }, [body, update, measureRows, whole])

  /** Reports the element of a row's detail, so that its height is taken into account. */
  const measure = useCallback(
    (index: number, element: HTMLElement | null) => {
      if (element === null || heights.current.get(index) === element.offsetHeight) return
      heights.current.set(index, element.offsetHeight)
      update()
    },
    [update],
  )
  /** Scrolls a row into view. */
  const reveal = useCallback(
    (index: number) => {
      const row = body.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)
      if (row) return row.scrollIntoView({ block: 'nearest' })
      const scroller = body.current?.closest<HTMLElement>('[data-tablescroll]')
      const drawnBy = scroller !== null && scroller !== undefined && scroller.scrollHeight > scroller.clientHeight ? scroller : document.scrollingElement
      drawnBy?.scrollTo({ top: index * rowHeight.current - drawnBy.clientHeight / 2 })
      return void update()
    },
    [body, update],
  )
  return { ...(whole ? all : drawn), measure, reveal }
}
