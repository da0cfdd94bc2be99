import { useRef } from 'react'

/** What can have the focus. In the picture of a rack that is a part of a drawing. */
type Holder = HTMLElement | SVGElement

/** The focused element or, in a menu that is about to close, the menu's button. */
function holder(): Holder | null {
  const now = document.activeElement
  const held = now?.closest('[role="menu"]')
    ? document.querySelector('[aria-haspopup="menu"][aria-expanded="true"]')
    : now
  const isHolder = held instanceof HTMLElement || held instanceof SVGElement
  return isHolder && held !== document.body ? held : null
}

/**
 * The element to which the last dialog returns the focus. A dialog that replaces that dialog
 * returns the focus to the same element.
 */
let opener: Holder | null = null

/**
 * The focused element and, if that is in a dialog, the element focused before the dialog opened.
 */
function holders(): readonly (Holder | null)[] {
  const held = holder()
  if (!held?.closest('[role="dialog"]')) opener = held
  return [held, opener]
}

/**
 * A button with the same label: the button of an empty list moves above the list after the list
 * gets items.
 */
const twinOf = (gone: Holder): HTMLElement | undefined =>
  gone instanceof HTMLButtonElement && gone.textContent !== ''
    ? [...document.querySelectorAll<HTMLButtonElement>('#content button')].find(
        (button) => button.textContent === gone.textContent,
      )
    : undefined

/**
 * Returns the focus to the element that had the focus when `open` became true. If the element is
 * gone, returns the focus to a button with the same label or to the page's content (WCAG 2.4.3).
 * Radix returns the focus only to its own trigger, which our dialogs don't have. Pass the result to
 * `onCloseAutoFocus`.
 */
export function useFocusBack(open: boolean): (event: Event) => void {
  const was = useRef(false)
  const before = useRef<readonly (Holder | null)[]>([])
  // Done during render: after mounting, the focus would already be in the dialog, and the menu that
  // opened the dialog would be gone.
  if (open !== was.current) {
    was.current = open
    if (open) before.current = holders()
  }
  return (event) => {
    event.preventDefault()
    // The next dialog already has the focus.
    if (document.activeElement?.closest('[role="dialog"]')) return
    const were = before.current.filter((element) => element !== null)
    const to =
      were.find((element) => element.isConnected) ??
      were.map(twinOf).find((twin) => twin !== undefined) ??
      document.querySelector<HTMLElement>('#content')
    to?.focus({ preventScroll: true })
  }
}
