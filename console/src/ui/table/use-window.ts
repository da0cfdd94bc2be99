import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { visibleRows, type Window } from './virtual.ts'

/** Lists up to this length render completely. */
const wholeUpTo = 200
const step = 8

interface WindowParts {
  body: RefObject<HTMLTableSectionElement | null>
  count: number
  openRows: readonly number[]
}

/** The visible rows of a table body, whichever element scrolls. */
export function useWindow({ body, count, openRows }: WindowParts) {
  const whole = count <= wholeUpTo
  const rowHeight = useRef(36)
  const heights = useRef(new Map<number, number>())
  const all = { from: 0, to: count, before: 0, after: 0 }
  const [drawn, setDrawn] = useState<Window>({ ...all, to: Math.min(count, 60), after: Math.max(0, count - 60) * 36 })
  const opened = openRows.join(',')

  const update = useCallback(() => {
    const element = body.current
    if (element === null || whole) return
    const first = element.querySelector<HTMLElement>('[data-row]')
    if (first !== null && first.offsetHeight > 0) rowHeight.current = first.offsetHeight
    const box = element.closest('[data-tablescroll]')?.getBoundingClientRect()
    const top = element.getBoundingClientRect().top
    const [clipTop, clipBottom] = [Math.max(0, box?.top ?? 0), Math.min(innerHeight, box?.bottom ?? innerHeight)]
    const open = new Set(opened === '' ? [] : opened.split(',').map(Number))
    const extra = new Map([...heights.current].filter(([index]) => open.has(index)))
    const next = visibleRows({ count, rowHeight: rowHeight.current, extra, top: clipTop - top, bottom: clipBottom - top, step })
    setDrawn((now) => (now.from === next.from && now.to === next.to && now.before === next.before && now.after === next.after ? now : next))
  }, [body, count, whole, opened])

  // Also runs after each change of the rendered rows, because the box gets its height from the rows.
  useLayoutEffect(update, [update, drawn])
  useEffect(() => {
    if (whole) return undefined
    let frame = 0
    const later = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(update)
    }
    const ended = new AbortController()
    document.addEventListener('scroll', later, { capture: true, passive: true, signal: ended.signal })
    window.addEventListener('resize', later, { signal: ended.signal })
    return () => {
      cancelAnimationFrame(frame)
      ended.abort()
    }
  }, [update, whole])

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
      return update()
    },
    [body, update],
  )
  return { ...(whole ? all : drawn), measure, reveal }
}
