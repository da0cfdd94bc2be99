import { type ButtonHTMLAttributes, cloneElement, type ReactElement, type ReactNode, useCallback, useEffect, useId, useRef, useState } from 'react'
import css from './Popover.module.css'

type TriggerProps = ButtonHTMLAttributes<HTMLButtonElement> & { popoverTarget?: string }

/** Distance between the box and its anchor, in px. */
const gap = 4

/** Puts a floating box below its anchor, or above if there is more room, and keeps the box on the screen. */
function place(box: HTMLElement, anchor: DOMRect, align: 'start' | 'end'): void {
  const { offsetWidth: width, offsetHeight: height } = box
  const [screenWidth, screenHeight] = [document.documentElement.clientWidth, document.documentElement.clientHeight]
  const below = screenHeight - anchor.bottom - gap - 8
  const above = anchor.top - gap - 8
  const up = height > below && above > below
  box.style.top = up ? 'auto' : `${anchor.bottom + gap}px`
  box.style.bottom = up ? `${screenHeight - anchor.top + gap}px` : 'auto'
  box.style.maxHeight = `${Math.max(120, up ? above : below)}px`
  const left = align === 'start' ? anchor.left : anchor.right - width
  box.style.left = `${Math.max(8, Math.min(left, screenWidth - width - 8))}px`
}

interface PopoverProps {
  label: string
  trigger: ReactElement<TriggerProps>
  align?: 'start' | 'end'
  /** CSS width. */
  width?: string
  onOpen?: (() => void) | undefined
  children: ReactNode | ((close: () => void) => ReactNode)
}

/** A small panel at a button. Uses the browser's popover: top layer, closes with Escape or a click outside. */
export function Popover({ label, trigger, align = 'start', width, onOpen, children }: PopoverProps) {
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const root = useRef<HTMLSpanElement>(null)
  const [open, setOpen] = useState(false)
  const close = useCallback(() => panel.current?.hidePopover(), [])
  useEffect(() => {
    if (!open || panel.current === null || root.current === null) return undefined
    const [box, anchor] = [panel.current, root.current]
    const put = () => place(box, anchor.getBoundingClientRect(), align)
    put()
    const ended = new AbortController()
    window.addEventListener('resize', put, { signal: ended.signal })
    document.addEventListener('scroll', put, { capture: true, signal: ended.signal })
    return () => ended.abort()
  }, [open, align])
  return (
    <span className={css['root']} ref={root}>
      {cloneElement(trigger, { popoverTarget: id, 'aria-expanded': open, 'aria-haspopup': 'dialog' })}
      <div
        ref={panel}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={label}
        className={css['popover']}
        style={{ width }}
        onToggle={(event) => {
          const isOpen = event.newState === 'open'
          setOpen(isOpen)
          if (isOpen) onOpen?.()
        }}
      >
        {open && (typeof children === 'function' ? children(close) : children)}
      </div>
    </span>
  )
}
