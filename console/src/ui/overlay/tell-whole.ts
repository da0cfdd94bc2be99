import type { PointerEvent } from 'react'

/** What is only read out is one px wide. */
const isCut = (e: HTMLElement): boolean => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible'

/** On a table's body: text that is cut says itself in full under the pointer. What has a title of its own keeps that. */
export function tellWhole(event: PointerEvent<HTMLElement>): void {
  const cell = (event.target as Element).closest('td')
  if (cell === null || cell.colSpan > 1) return
  const parts = [cell, ...cell.querySelectorAll<HTMLElement>('*')]
  for (const part of parts) {
    // Told before: it may say something else by now.
    if (part.dataset['told'] === undefined) continue
    delete part.dataset['told']
    part.removeAttribute('title')
  }
  const cut = parts.findLast(isCut)
  if (cut === undefined || cut.closest('[title]') !== null) return
  cut.title = cut.innerText.trim()
  cut.dataset['told'] = ''
}
