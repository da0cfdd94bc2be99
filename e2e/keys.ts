/** Uses a page by keyboard alone, and checks that the focus is visible at every stop. */
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

export const isFocused = (locator: Locator): Promise<boolean> =>
  locator.evaluate((element) => element === element.ownerDocument.activeElement)

export interface Keys {
  key: (name: string) => Promise<void>
  type: (text: string) => Promise<void>
  /**
   * Waits until the element has the focus. @throws Error that names the element that has the focus
   * instead
   */
  focused: (locator: Locator) => Promise<void>
  /** Waits until the element or something in it has a visible focus. */
  focusedIn: (locator: Locator) => Promise<void>
  /**
   * Presses Tab until the element has the focus, and checks that the focus is visible at every
   * stop.
   */
  tabTo: (wanted: Locator, by?: 'Tab' | 'Shift+Tab') => Promise<void>
  /** Tabs to the element and presses Enter. */
  enter: (wanted: Locator, by?: 'Tab' | 'Shift+Tab') => Promise<void>
  /** Moves down the open menu to an item. */
  walkTo: (item: string | RegExp) => Promise<void>
  /** Tabs to a select and moves down to the option whose text begins with the given text. */
  choose: (select: Locator, text: string) => Promise<void>
}

export function keysOf(page: Page): Keys {
  const key = (name: string) => page.keyboard.press(name)

  /**
   * The focused element, and whether its focus is visible: an outline on it, on its frame, on the
   * mark beside a hidden input, or on the ring of a grid.
   */
  const focus = () =>
    page.evaluate<{ what: string; seen: boolean }>(`(() => {
      const element = document.activeElement
      const up = [element, element.parentElement, element.parentElement?.parentElement, element.parentElement?.parentElement?.parentElement]
      const around = [...up, element.nextElementSibling, ...document.querySelectorAll('[role="grid"]:focus > [aria-hidden]')].filter(Boolean)
      const outlined = (e) => { const { outlineStyle, outlineWidth } = getComputedStyle(e); return outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 }
      const what = element.tagName.toLowerCase() + ' ' + (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60)
      return { what, seen: around.some(outlined) }
    })()`)

  async function holds(locator: Locator, look: () => Promise<boolean>): Promise<void> {
    try {
      await expect.poll(look).toBe(true)
    } catch {
      throw new Error(`${String(locator)} has not the focus, but ${(await focus()).what}`)
    }
  }

  async function tabTo(wanted: Locator, by: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await wanted.waitFor()
    const way: string[] = []
    for (let stops = 0; stops < 120; stops++) {
      if (await isFocused(wanted)) return
      await key(by)
      const { what, seen } = await focus()
      way.push(what)
      // Skip `body`, which has the focus after the page's last stop, while Tab moves through the
      // browser's own controls.
      if (what.startsWith('body ')) continue
      expect({ what, seen }).toEqual({ what, seen: true })
    }
    throw new Error(`${String(wanted)} was not reached:\n${way.join('\n')}`)
  }

  const focused = (locator: Locator) => holds(locator, () => isFocused(locator))
  return {
    key,
    type: (text) => page.keyboard.type(text),
    focused,
    async focusedIn(locator) {
      await holds(locator, () =>
        locator.evaluate((element) => element.contains(element.ownerDocument.activeElement)),
      )
      const { what, seen } = await focus()
      // The page's `main` element gets no outline.
      if (!what.startsWith('main ')) expect({ what, seen }).toEqual({ what, seen: true })
    },
    tabTo,
    async enter(wanted, by) {
      await tabTo(wanted, by)
      await key('Enter')
    },
    async walkTo(item) {
      const wanted = page.getByRole('menuitem', { name: item })
      await wanted.waitFor()
      for (let steps = 0; steps < 20 && !(await isFocused(wanted)); steps++) await key('ArrowDown')
      await focused(wanted)
    },
    async choose(select, text) {
      await tabTo(select)
      const chosen = async () => (await select.locator('option:checked').textContent()) ?? ''
      await key('Home')
      for (let steps = 0; steps < 30 && !(await chosen()).startsWith(text); steps++)
        await key('ArrowDown')
      expect(await chosen()).toContain(text)
    },
  }
}
