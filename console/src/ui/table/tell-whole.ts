import type { PointerEvent } from 'react'

/** Whether text is cut off. Texts for screen readers only, which are 1 px wide, don't count. */
const isCut = (e: HTMLElement): boolean =>
  e.clientWidth > 1 &&
  e.scrollWidth > e.clientWidth + 1 &&
  getComputedStyle(e).overflowX !== 'visible'

let rest: ReturnType<typeof setTimeout> | undefined

/**
 * Handler for a table's body: gives cut text a title with the full text. Elements with their own
 * title keep that title. Measures once the pointer rests, as measuring at every row that scrolls by
 * under the pointer would slow the scrolling.
 */
export function tellWhole({ target }: PointerEvent<HTMLElement>): void {
  clearTimeout(rest)
  rest = setTimeout(() => tell(target as Element), 100)
}

function tell(target: Element): void {
  const cell = target.closest('td')
  if (cell === null || cell.colSpan > 1) return
  const parts = [cell, ...cell.querySelectorAll<HTMLElement>('*')]
  for (const part of parts) {
    // Remove a title that was set earlier: the text may have changed.
    if (part.dataset['told'] === undefined) continue
    delete part.dataset['told']
    part.removeAttribute('title')
  }
  const cut = parts.findLast(isCut)
  if (cut === undefined || cut.closest('[title]') !== null) return
  cut.title = cut.innerText.trim()
  cut.dataset['told'] = ''
}
