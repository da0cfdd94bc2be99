import { cloneElement, type HTMLAttributes, type ReactElement, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import css from './Tooltip.module.css'

type Trigger = HTMLAttributes<HTMLElement> & { 'aria-describedby'?: string | undefined }

/** Combines two handlers: runs `given`, the element's own handler, and then `then`. */
export const after =
  <E,>(given: ((event: E) => void) | undefined, then: (event: E) => unknown) =>
  (event: E): void => {
    given?.(event)
    then(event)
  }

/**
 * A sentence on hover and keyboard focus, hidden with Escape (WCAG 2.2, 1.4.13). The child must pass the handlers and description that it receives to its element.
 * `delay` in ms: 0 for help icons. Without a text, renders only the child.
 */
export function Tooltip({ text, delay = 350, children }: { text: ReactNode; delay?: number; children: ReactElement<Trigger> }) {
  const id = useId()
  const [at, setAt] = useState<DOMRect | null>(null)
  const timer = useRef(0)
  const show = (target: HTMLElement, wait: number) => {
    if (text === null) return
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => target.isConnected && setAt(target.getBoundingClientRect()), wait)
  }
  const hide = () => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setAt(null), 60)
  }
  useEffect(() => () => clearTimeout(timer.current), [timer])
  useEffect(() => {
    if (at === null) return undefined
    const close = () => setAt(null)
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && close()
    const ended = new AbortController()
    document.addEventListener('keydown', onKey, { signal: ended.signal })
    document.addEventListener('scroll', close, { capture: true, signal: ended.signal })
    return () => ended.abort()
  }, [at])
  const given = children.props
  const child = cloneElement(children, {
    'aria-describedby': at === null ? given['aria-describedby'] : id,
    onPointerEnter: after(given.onPointerEnter, (event) => event.pointerType !== 'touch' && show(event.currentTarget, delay)),
    onPointerLeave: after(given.onPointerLeave, hide),
    onFocus: after(given.onFocus, ({ currentTarget }) => currentTarget.matches(':focus-visible') && show(currentTarget, 0)),
    onBlur: after(given.onBlur, hide),
    // Touch has no hover: touching a disabled control shows its reason.
    onClick: after(given.onClick, (event) => (given['aria-disabled'] === true ? show(event.currentTarget, 0) : hide())),
  })
  return (
    <>
      {child}
      {at && text !== null && <Bubble id={id} at={at} text={text} onEnter={() => clearTimeout(timer.current)} onLeave={hide} />}
    </>
  )
}

function Bubble({ id, at, text, onEnter, onLeave }: { id: string; at: DOMRect; text: ReactNode; onEnter: () => void; onLeave: () => void }) {
  const ref = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    const bubble = ref.current
    if (bubble === null) return
    // The tooltip is in the top layer, so that no scroll box or dialog clips it.
    bubble.showPopover()
    const { width, height } = bubble.getBoundingClientRect()
    const above = at.top - height - 6
    bubble.style.top = `${above < 4 ? at.bottom + 6 : above}px`
    bubble.style.left = `${Math.max(8, Math.min(at.left + at.width / 2 - width / 2, document.documentElement.clientWidth - width - 8))}px`
  }, [at])
  return (
    <span ref={ref} id={id} role="tooltip" popover="manual" className={css['tip']} onPointerEnter={onEnter} onPointerLeave={onLeave}>
      {text}
    </span>
  )
}
