/** Measures whether a status can be read: no word of it is cut. */
import type { Page } from 'playwright-core'

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
  return found
})()`

/** What can't be read on the page as it is now. */
export const unreadable = (page: Page): Promise<string[]> => page.evaluate<string[]>(measure)
/** The widths at which lists are measured, in px. */
export const listWidths = [375, 744, 1280, 1440, 1920] as const
