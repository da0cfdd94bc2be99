import {
  type ButtonHTMLAttributes,
  cloneElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { placeBelow } from './place.ts'
import css from './Popover.module.css'

type TriggerProps = ButtonHTMLAttributes<HTMLButtonElement> & { popoverTarget?: string }

interface PopoverProps {
  label: string
  trigger: ReactElement<TriggerProps>
  align?: 'start' | 'end'
  /** CSS width. */
  width?: string
  onOpen?: (() => void) | undefined
  children: ReactNode | ((close: () => void) => ReactNode)
}

/**
 * A small panel at a button. Uses the browser's popover: top layer, closes with Escape or a click
 * outside.
 */
export function Popover({
  label,
  trigger,
  align = 'start',
  width,
  onOpen,
  children,
}: PopoverProps) {
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const root = useRef<HTMLSpanElement>(null)
  const [open, setOpen] = useState(false)
  const close = useCallback(() => panel.current?.hidePopover(), [])
  useEffect(() => {
    if (!open || panel.current === null || root.current === null) return undefined
    const [box, anchor] = [panel.current, root.current]
    const put = () => placeBelow(box, anchor.getBoundingClientRect(), align)
    put()
    const ended = new AbortController()
    window.addEventListener('resize', put, { signal: ended.signal })
    document.addEventListener('scroll', put, { capture: true, signal: ended.signal })
    return () => ended.abort()
  }, [open, align])
  return (
    <span className={css['root']} ref={root}>
      {cloneElement(trigger, {
        popoverTarget: id,
        'aria-expanded': open,
        'aria-haspopup': 'dialog',
      })}
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
