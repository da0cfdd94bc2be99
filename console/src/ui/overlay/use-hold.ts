import { type MouseEvent, type RefObject, useEffect, useRef } from 'react'

/** An open popover in the dialog, such as a form shown as a command. */
const popover = () => document.querySelector<HTMLElement>('[popover="auto"]:popover-open')

/** A pointer or key event that would close the dialog, from React or a library. */
type Closing = Pick<Event, 'preventDefault' | 'target'>

/**
 * Events that don't close a dialog: all while it is `locked`; Escape or a click outside that closes a popover in it;
 * a click on a toast; a click outside after input was typed, which may be accidental. Escape, the close icon and Cancel always close it.
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
      const toast = event.target instanceof Element && event.target.closest('[data-toasts]') !== null
      if (locked || typed.current || toast || popover() !== null) event.preventDefault()
    },
  }
}

/** For the backdrop: a click there doesn't take the focus out of the dialog. */
export const keepFocus = (event: MouseEvent): void => {
  if (event.target === event.currentTarget) event.preventDefault()
}
