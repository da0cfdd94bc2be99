import { useRef } from 'react'

/** What has the focus now; of a menu that is about to close, the button that opened it. */
function holder(): HTMLElement | null {
  const now = document.activeElement
  const held = now?.closest('[role="menu"]') ? document.querySelector('[aria-haspopup="menu"][aria-expanded="true"]') : now
  return held instanceof HTMLElement && held !== document.body ? held : null
}

/** What the last dialog gives it back to: for one that takes the place of another. */
let opener: HTMLElement | null = null

/** What has the focus now, and where that is in a dialog, what had it before this one. */
function holders(): readonly (HTMLElement | null)[] {
  const held = holder()
  if (!held?.closest('[role="dialog"]')) opener = held
  return [held, opener]
}

/** The button of the page that says the same: what an empty list began with stands above the list once there is something in it. */
const twinOf = (gone: HTMLElement): HTMLElement | undefined =>
  gone instanceof HTMLButtonElement && gone.textContent !== ''
    ? [...document.querySelectorAll<HTMLButtonElement>('#content button')].find((button) => button.textContent === gone.textContent)
    : undefined

/**
 * Gives the focus back to what had it when `open` became true; where that is gone to its like, or to the page's content (WCAG 2.4.3).
 * Radix gives it to its own trigger only, and what opens our dialogs lies elsewhere: the result goes to `onCloseAutoFocus`.
 */
export function useFocusBack(open: boolean): (event: Event) => void {
  const was = useRef(false)
  const before = useRef<readonly (HTMLElement | null)[]>([])
  // While drawing: once the dialog stands, the focus is in it, and the menu that led here is gone.
  if (open !== was.current) {
    was.current = open
    if (open) before.current = holders()
  }
  return (event) => {
    event.preventDefault()
    // The next dialog has it already.
    if (document.activeElement?.closest('[role="dialog"]')) return
    const were = before.current.filter((element) => element !== null)
    const to =
      were.find((element) => element.isConnected) ?? were.map(twinOf).find((twin) => twin !== undefined) ?? document.querySelector<HTMLElement>('#content')
    to?.focus({ preventScroll: true })
  }
}
