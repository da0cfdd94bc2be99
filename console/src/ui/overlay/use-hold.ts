import { type MouseEvent, type RefObject, useEffect, useRef } from 'react'

/** A popover at a button of the dialog, such as a form shown as a command. */
const popover = () => document.querySelector<HTMLElement>('[popover="auto"]:popover-open')

/** A pointer or a key that would close the dialog: React's event, or the one that a library makes of it. */
type Closing = Pick<Event, 'preventDefault' | 'target'>

/**
 * What a dialog does not close by: anything while it is `locked`; Escape and a press beside it that close a popover standing on it;
 * a press on a toast; a press beside it once something was typed, which may be a slip and would lose it. Escape, the cross and Cancel are no slips.
 */
export function useHold(open: boolean, locked: boolean) {
  const typed: RefObject<boolean> = useRef(false)
  useEffect(() => {
    if (!open) typed.current = false
  }, [open])
  return {
    onInput: () => {
      typed.current = true
    },
    onEscapeKeyDown: (event: Closing) => {
      const above = popover()
      above?.hidePopover()
      if (locked || above !== null) event.preventDefault()
    },
    onPointerDownOutside: (event: Closing) => {
      const toast = event.target instanceof Element && event.target.closest('[data-sonner-toaster]') !== null
      if (locked || typed.current || toast || popover() !== null) event.preventDefault()
    },
  }
}

/** On what lies behind a dialog: a press there takes no focus, so that one that closes nothing leaves it where it is. */
export const keepFocus = (event: MouseEvent): void => {
  if (event.target === event.currentTarget) event.preventDefault()
}
