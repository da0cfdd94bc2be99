/**
 * Measures whether lists can be read: no word of a status is cut, and on wide screens every row has
 * one line and all columns are in view.
 */
import type { Page } from 'playwright-core'

/** Screens of this width have one line a row. */
const wide = 1280
/** The most that a row of one line is high, in px. */
const rowPx = 40

/**
 * Runs in the page. A word of a status is cut if its own box or an element around it is narrower,
 * or if it is only reached by scrolling a table sideways.
 */
const measure = `(() => {
  const found = []
  const shows = (element) => element.clientWidth > 1 && element.checkVisibility()
  const textOf = (element) => {
    const range = document.createRange()
    range.selectNodeContents(element)
    return [...range.getClientRects()].filter(({ width }) => width > 1)
  }
  for (const word of document.querySelectorAll('tr [data-status] > :first-child')) {
    if (!shows(word.parentElement)) continue
    const said = word.innerText.trim()
    const rects = textOf(word)
    const [left, right] = [
      Math.min(...rects.map((r) => r.left)),
      Math.max(...rects.map((r) => r.right)),
    ]
    for (let box = word; box !== document.body; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === 'visible') continue
      const edge = box.getBoundingClientRect()
      if (left < edge.left - 1 || right > edge.right + 1 || word.scrollWidth > word.clientWidth + 1) {
        found.push('"' + said + '" is cut')
        break
      }
    }
  }
  if (innerWidth >= ${wide})
    for (const box of document.querySelectorAll('[data-tablescroll]')) {
      if (!shows(box)) continue
      const name = box.querySelector('table').getAttribute('aria-label')
      if (box.scrollWidth > box.clientWidth + 1) found.push(name + ' scrolls sideways')
      const tall = [...box.querySelectorAll('tr[data-row]')].filter((row) => row.clientHeight > ${rowPx})
      // A long reason, or what an event says, may wrap in tables without a page that shows it.
      const squeezed = tall.filter((row) => name !== 'Events' && !row.querySelector('[data-tall]'))
      if (squeezed.length > 0) found.push(name + ': "' + squeezed[0].innerText.replaceAll('\\n', ' ') + '" has several lines')
    }
  return found
})()`

/** What can't be read on the page as it is now. */
export const unreadable = (page: Page): Promise<string[]> => page.evaluate<string[]>(measure)
/** The widths at which lists are measured in full, in px. */
export const listWidths: readonly number[] = [375, 744, 1280, 1440, 1600, 1920]
