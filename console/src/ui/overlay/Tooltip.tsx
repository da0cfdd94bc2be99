import {
  cloneElement,
  type HTMLAttributes,
  type ReactElement,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
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
 * State of a tooltip. `id`: set while the tooltip is shown, for `aria-describedby`. `bubble`
 * renders the tooltip; its argument replaces the text.
 */
export function useTip() {
  const id = useId()
  const [shown, setShown] = useState<{ at: DOMRect; text: ReactNode } | null>(null)
  const timer = useRef(0)
  const stay = useCallback(() => clearTimeout(timer.current), [])
  /** `wait` in ms. */
  const show = useCallback((target: HTMLElement, text: ReactNode, wait: number) => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(
      () => target.isConnected && setShown({ at: target.getBoundingClientRect(), text }),
      wait,
    )
  }, [])
  const hide = useCallback(() => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setShown(null), 60)
  }, [])
  useEffect(() => stay, [stay])
  useEffect(() => {
    if (shown === null) return undefined
    const close = () => setShown(null)
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && close()
    const ended = new AbortController()
    document.addEventListener('keydown', onKey, { signal: ended.signal })
    document.addEventListener('scroll', close, { capture: true, signal: ended.signal })
    return () => ended.abort()
  }, [shown])
  const bubble = (text = shown?.text) =>
    shown && <Bubble id={id} at={shown.at} text={text} onEnter={stay} onLeave={hide} />
  return { id: shown === null ? undefined : id, show, hide, bubble }
}

/**
 * Shows a sentence on hover and keyboard focus, and hides the sentence with Escape (WCAG 2.2,
 * 1.4.13). The child must pass the received handlers and `aria-describedby` to its element. `delay`
 * in ms: 0 for help icons. Without a text, renders only the child.
 */
export function Tooltip({
  text,
  delay = 350,
  children,
}: {
  text: ReactNode
  delay?: number
  children: ReactElement<Trigger>
}) {
  const tip = useTip()
  const show = (target: HTMLElement, wait: number) => text !== null && tip.show(target, text, wait)
  const given = children.props
  const child = cloneElement(children, {
    'aria-describedby': tip.id ?? given['aria-describedby'],
    onPointerEnter: after(
      given.onPointerEnter,
      (event) => event.pointerType !== 'touch' && show(event.currentTarget, delay),
    ),
    onPointerLeave: after(given.onPointerLeave, tip.hide),
    onFocus: after(
      given.onFocus,
      ({ currentTarget }) => currentTarget.matches(':focus-visible') && show(currentTarget, 0),
    ),
    onBlur: after(given.onBlur, tip.hide),
    // Touch has no hover: touching a disabled control shows its reason.
    onClick: after(given.onClick, (event) =>
      given['aria-disabled'] === true ? show(event.currentTarget, 0) : tip.hide(),
    ),
  })
  return (
    <>
      {child}
      {text !== null && tip.bubble(text)}
    </>
  )
}

function Bubble({
  id,
  at,
  text,
  onEnter,
  onLeave,
}: {
  id: string
  at: DOMRect
  text: ReactNode
  onEnter: () => void
  onLeave: () => void
}) {
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
    <span
      ref={ref}
      id={id}
      role="tooltip"
      popover="manual"
      className={css['tip']}
      onPointerEnter={onEnter}
      onPointerLeave={onLeave}
    >
      {text}
    </span>
  )
}
