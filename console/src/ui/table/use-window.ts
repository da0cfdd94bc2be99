import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { typingEndsInMs } from '../typing.ts'
import { covers, nextRange, overscan, type Range, shrunk, visibleRows, type Window, windowOf } from './virtual.ts'

/** In px, until rows are measured: the height of a row, and how much of the screen's height a page needs above and below its rows. */
const [assumedRowHeight, assumedOutside] = [36, 160]
/** At least one: a hidden page has no height. */
const rowsOfScreen = () => Math.max(1, Math.ceil((innerHeight - assumedOutside) / assumedRowHeight))
/** Lists up to this length render completely, unless the user searches. */
const wholeUpTo = 200
/** Rows that one frame adds: in full while the list scrolls and while it rests, and as names. */
const [fullInScroll, fullAtRest, namesAtOnce] = [4, 6, 16]
/** Rows in full that one frame adds while the user searches, and rows that one frame removes then: in full, and as names. */
const [fullInSearch, fullGone, namesGone] = [3, 16, 100]
/** Rows above and below the visible ones that are rendered in full while the user searches. */
const searchAhead = 4
/**
 * A frame that adds rows delays scrolling if it takes longer than this, in ms. Then such frames are at most a tenth of the time while the list scrolls, and
 * there are none while it scrolls past more rows than they add.
 */
const smoothMs = 8

interface WindowParts {
  body: RefObject<HTMLTableSectionElement | null>
  count: number
  /** Key of the first row. When the key or the count changes, other rows are shown. */
  first: string
  openRows: readonly number[]
}

type Moment = 'now' | 'scroll' | 'rest'

interface Drawn extends Window {
  /** The rows that are rendered in full. The others show their name. */
  full: Range
  seen: Range
}

/** Whether the focus is in a search box. The next answer will replace the rows, and removing hundreds of them at once would delay a letter. */
const isSearching = () => document.activeElement?.matches('[type="search"]') ?? false

const wholeList = (count: number): Drawn => {
  const all = { from: 0, to: count }
  return { ...all, before: 0, after: 0, full: all, seen: { from: 0, to: Math.min(count, rowsOfScreen()) } }
}

/** The rows that are seen, the first `most` of them in full. */
function firstRows(count: number, rowHeight: number, seen: Range, most: number): Drawn {
  const from = seen.from < count ? seen.from : 0
  const to = Math.min(count, from + seen.to - seen.from)
  return { from, to, before: from * rowHeight, after: (count - to) * rowHeight, seen: { from, to }, full: { from, to: Math.min(to, from + most) } }
}

/**
 * The rows of a table body to render, whichever element scrolls. The visible rows are rendered in full and, while the list rests, the rows around them. All
 * other rows are rendered as names, so that scrolling changes nothing on the page and stays smooth on a slow computer. While the user searches, rows out of
 * sight go, because the answer replaces them.
 */
export function useWindow({ body, count, first, openRows }: WindowParts) {
  const whole = count <= wholeUpTo
  const rowHeight = useRef(assumedRowHeight)
  const heights = useRef(new Map<number, number>())
  // Until rows are measured, as many as the screen can hold.
  const [drawn, setDrawn] = useState(() => (whole ? wholeList(count) : firstRows(count, assumedRowHeight, { from: 0, to: rowsOfScreen() }, count)))
  const latest = useRef(drawn)
  useLayoutEffect(() => {
    latest.current = drawn
  }, [drawn])
  const [of, setOf] = useState({ first, count })
  if (of.first !== first || of.count !== count) {
    setOf({ first, count })
    // Few rows of the new list in full, so that the change is quick. The others follow in the next frames.
    setDrawn(whole && !isSearching() ? wholeList(count) : firstRows(count, rowHeight.current, latest.current.seen, isSearching() ? fullInSearch : fullAtRest))
  }
  const frame = useRef(0)
  /** How long a frame that adds rows takes, with layout and painting, in ms. */
  const cost = useRef(0)
  /** The first visible row at a time while the list scrolls. Null while it rests. */
  const pace = useRef<{ row: number; at: number } | null>(null)
  const later = useRef(0)
  const opened = openRows.join(',')

  /** Whether no row is to come or go. */
  const isDone = useCallback(() => whole && latest.current.full.to - latest.current.full.from >= count && !isSearching(), [whole, count])
  /** The visible part of the list; null if the list is hidden or done. */
  const look = useCallback(() => {
    const element = body.current
    // Elements of a hidden page have no size to measure.
    if (element === null || isDone() || element.offsetHeight === 0) return null
    const box = element.closest('[data-tablescroll]')?.getBoundingClientRect()
    const top = element.getBoundingClientRect().top
    const [clipTop, clipBottom] = [Math.max(0, box?.top ?? 0), Math.min(innerHeight, box?.bottom ?? innerHeight)]
    const open = new Set(opened === '' ? [] : opened.split(',').map(Number))
    const extra = new Map([...heights.current].filter(([index]) => open.has(index)))
    return { count, rowHeight: rowHeight.current, extra, top: clipTop - top, bottom: clipBottom - top }
  }, [body, count, isDone, opened])

  /** How many rows in full this frame of scrolling may add. */
  const mostInScroll = useCallback((row: number): number => {
    if (cost.current <= smoothMs) return fullInScroll
    const at = performance.now()
    const from = pace.current
    if (from !== null && at - from.at < 10 * cost.current) return 0
    pace.current = { row, at }
    return from !== null && Math.abs(row - from.row) <= fullInScroll ? fullInScroll : 0
  }, [])

  const again = useRef<(moment: Moment) => void>(() => undefined)
  /**
   * Adds rows in the next frame. While the user searches, after it: the frame may have laid the page out already, for a letter or an answer, and would do it
   * twice.
   */
  const addSoon = useCallback(() => {
    cancelAnimationFrame(frame.current)
    clearTimeout(later.current)
    const rest = () => again.current('rest')
    frame.current = requestAnimationFrame(() => (isSearching() ? (later.current = window.setTimeout(rest)) : rest()))
  }, [])
  /** Adds rows as far as the moment allows, and more in the next frames. `now`: all visible rows. */
  const step = useCallback(
    (moment: Moment): void => {
      // A frame that adds rows would delay the next letter.
      const waitMs = moment === 'rest' ? typingEndsInMs() : 0
      if (waitMs > 0) {
        clearTimeout(later.current)
        later.current = window.setTimeout(() => again.current('rest'), waitMs)
        return
      }
      const view = look()
      if (view === null) return
      const seen = visibleRows(view)
      const { full: was, ...names } = latest.current
      const searching = isSearching()
      if (moment !== 'scroll') pace.current = null
      const most = moment === 'scroll' ? mostInScroll(seen.from) : { now: undefined, rest: searching ? fullInSearch : fullAtRest }[moment]
      const frees = searching && moment === 'rest'
      const wanted = nextRange(was, seen, count, searching ? searchAhead : whole ? count : overscan, most)
      const full = frees ? shrunk(was, wanted, fullGone) : most === 0 || covers(was, wanted) ? was : wanted
      // Names follow when scrolling comes near their end and, while the list rests, after the rows in full.
      const isNear = !covers(names, { from: Math.max(0, seen.from - overscan), to: Math.min(count, seen.to + overscan) })
      const more = (isNear && !frees) || (moment === 'rest' && full === was) ? namesAtOnce : 0
      const range = frees ? shrunk(names, nextRange(names, seen, count, overscan, more), namesGone) : nextRange(names, seen, count, count, more)
      const touches = full.to >= range.from && full.from <= range.to
      const shown = touches ? { from: Math.min(range.from, full.from), to: Math.max(range.to, full.to) } : most === 0 ? range : full
      const next: Drawn = { ...windowOf(shown, view), full, seen }
      const isSame = full === was && next.from === names.from && next.to === names.to && next.before === names.before && next.after === names.after
      latest.current = isSame ? { ...latest.current, seen } : next
      if (!isSame && moment === 'now') setDrawn(next)
      else if (!isSame) {
        const began = performance.now()
        flushSync(() => setDrawn(next))
        // This timer runs after the frame, except while the user searches.
        if (!searching) setTimeout(() => (cost.current += (performance.now() - began - cost.current) / 4))
      }
      cancelAnimationFrame(frame.current)
      if (isSame && moment === 'rest') return
      // After a frame without scrolling the list rests.
      if (moment === 'scroll') frame.current = requestAnimationFrame(addSoon)
      else addSoon()
    },
    [count, whole, look, mostInScroll, addSoon],
  )

  useLayoutEffect(() => {
    again.current = step
  }, [step])

  // Rows are measured here, and not while the list scrolls.
  const measureRows = useCallback(() => {
    if (isDone()) return
    const height = body.current?.querySelector<HTMLElement>('[data-id]')?.offsetHeight ?? 0
    if (height > 0) rowHeight.current = height
    // The next frame paints what has changed. More rows follow one frame later, so that they don't delay it. During a search `addSoon` waits for the frame itself.
    cancelAnimationFrame(frame.current)
    if (isSearching()) addSoon()
    else frame.current = requestAnimationFrame(addSoon)
  }, [body, isDone, addSoon])
  useLayoutEffect(measureRows, [measureRows, step, first])
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    // The browser sends at most one scroll event per frame, before it lays the page out.
    const onScroll = () => step('scroll')
    document.addEventListener('scroll', onScroll, { capture: true, passive: true, signal })
    window.addEventListener('resize', measureRows, { signal })
    // The focus comes into a search box or leaves it.
    const onFocus = ({ target }: FocusEvent) => (target as Element).matches('[type="search"]') && measureRows()
    document.addEventListener('focusin', onFocus, { signal })
    document.addEventListener('focusout', onFocus, { signal })
    // Also called when a page that was mounted while hidden becomes visible.
    const resized = new ResizeObserver(measureRows)
    if (body.current) resized.observe(body.current)
    return () => {
      cancelAnimationFrame(frame.current)
      clearTimeout(later.current)
      resized.disconnect()
      ended.abort()
    }
  }, [body, step, measureRows])

  /** Reports the element of a row's detail, so that its height is taken into account. */
  const measure = useCallback(
    (index: number, element: HTMLElement | null) => {
      if (element === null || heights.current.get(index) === element.offsetHeight) return
      heights.current.set(index, element.offsetHeight)
      measureRows()
    },
    [measureRows],
  )
  /** Scrolls a row into view, and renders it in full. */
  const reveal = useCallback(
    (index: number) => {
      const row = body.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)
      const scroller = body.current?.closest<HTMLElement>('[data-tablescroll]')
      const drawnBy = scroller !== null && scroller !== undefined && scroller.scrollHeight > scroller.clientHeight ? scroller : document.scrollingElement
      if (row) row.scrollIntoView({ block: 'nearest' })
      else drawnBy?.scrollTo({ top: index * rowHeight.current - drawnBy.clientHeight / 2 })
      step('now')
    },
    [body, step],
  )
  return { ...drawn, rowHeight, measure, reveal }
}
