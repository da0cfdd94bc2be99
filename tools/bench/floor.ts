/**
 * The floor of what a user waits for: the same page in the same browser, with the same elements and
 * styles and without a script of the console. A few lines of script show a copy of the menu or of
 * the palette.
 */
import type { Browser, Page } from 'playwright-core'
import { close, openings, openingTime, slowedPage, typeInSearch } from './slowed.ts'

/** Times in ms. */
export interface Floor {
  keystroke: number
  palette: number
  menu: number
}

/** The page's HTML without scripts. Its style sheets are still those of the server. */
export const save = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    const copy = document.documentElement.cloneNode(true)
    for (const element of copy.querySelectorAll('script, link:not([rel="stylesheet"])')) element.remove()
    return '<!doctype html>' + copy.outerHTML
  })()`)

/**
 * The page's HTML without scripts, with a template of what each opening adds, and a mark on the
 * element to which it is added.
 */
export async function saveWithOpenings(page: Page): Promise<string> {
  const templates: string[] = []
  for (const [name, opening] of Object.entries(openings)) {
    await page.evaluate(`globalThis.before = new Set(document.querySelectorAll('*'))`)
    await opening.prepare(page, 0)
    await opening.open(page, 0)
    await page.locator(opening.selector).waitFor()
    await page.evaluate('bench.rests()')
    const added = await page.evaluate<string>(`(() => {
      let parent = document.querySelector('${opening.selector}')
      while (!before.has(parent)) parent = parent.parentElement
      parent.setAttribute('data-floor-${name}', '')
      return [...parent.children].filter((child) => !before.has(child)).map((child) => child.outerHTML).join('')
    })()`)
    templates.push(`<template data-floor="${name}">${added}</template>`)
    await close(page, opening)
  }
  return (await save(page)).replace('</body>', () => `${templates.join('')}</body>`)
}

const opens = String.raw`
let shown = []
const show = (name, focused) => {
  const copy = document.querySelector('template[data-floor="' + name + '"]').content.cloneNode(true)
  shown = [...copy.children]
  document.querySelector('[data-floor-' + name + ']').append(copy)
  document.querySelector(focused).focus({ preventScroll: true })
}
addEventListener('click', ({ target }) => target.closest('[aria-haspopup="menu"]') && show('menu', '${openings.menu.selector}'))
addEventListener('keydown', (event) => {
  if (event.key === 'Escape') for (const element of shown) element.remove()
  if (event.key !== 'k' || !event.ctrlKey) return
  event.preventDefault()
  show('palette', '${openings.palette.selector}')
})
`

/** Opens a saved page at its address, with the styles of the server. */
async function openSaved(browser: Browser, url: string, html: string): Promise<Page> {
  const page = await slowedPage(browser, { baseURL: url })
  await page.route('**/infra/servers', (route) =>
    route.fulfill({ contentType: 'text/html; charset=utf-8', body: html }),
  )
  await page.goto('/infra/servers')
  await page.evaluate('document.fonts.ready.then(() => bench.rests())')
  return page
}

/** `list`: the list with its openings. `long`: the list of 1,000 rows. */
export async function measureFloor(
  browser: Browser,
  url: string,
  list: string,
  long: string,
): Promise<Floor> {
  const page = await openSaved(browser, url, list)
  await page.evaluate(opens)
  const palette = await openingTime(page, openings.palette)
  const menu = await openingTime(page, openings.menu)
  await page.context().close()

  const typed = await openSaved(browser, url, long)
  await typeInSearch(typed)
  const keystroke = await typed.evaluate<number>('bench.keystroke')
  await typed.context().close()
  return { keystroke, palette, menu }
}
