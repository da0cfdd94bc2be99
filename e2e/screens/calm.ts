/**
 * Counts the controls of a page: at most one primary button, three quiet controls above a list or in
 * a head, five tabs of a server and six of a cluster, and one row of controls on a phone.
 */
import type { Page } from 'playwright-core'

const most = { primary: 1, quiet: 3, Server: 5, Cluster: 6 } as const
/** One row of controls on a phone is not higher, in px. */
const rowPx = 56

/** Runs in the page. What is behind a dialog or a closed fold doesn't count. */
const count = `(() => {
  const main = document.querySelector('main') ?? document.body
  const seen = (within, what) => [...within.querySelectorAll(what)].filter((one) => one.checkVisibility())
  const primaries = seen(main, '[data-primary]').filter((one) => !one.closest('[role="dialog"], [role="menu"]'))
  return {
    primary: primaries.map((one) => one.innerText.trim() || one.getAttribute('aria-label')),
    bars: seen(main, '.toolbar, [data-acts]').map((bar) => ({
      quiet: seen(bar, 'button, a')
        .filter((one) => !one.hasAttribute('data-primary') && !one.closest('[role="menu"], [role="group"]'))
        .map((one) => one.getAttribute('aria-label') ?? one.innerText.trim()),
      height: bar.classList.contains('toolbar')
        ? Math.max(...[...bar.children].filter((one) => one.role !== 'group').map((one) => one.getBoundingClientRect().bottom))
          - bar.getBoundingClientRect().top
        : 0,
    })),
    tabs: ['Server', 'Cluster'].map((name) => [name, seen(main, 'nav[aria-label="' + name + '"] a').length]),
  }
})()`

interface Counted {
  readonly primary: readonly string[]
  readonly bars: readonly { readonly quiet: readonly string[]; readonly height: number }[]
  readonly tabs: readonly (readonly ['Server' | 'Cluster', number])[]
}

/** What is too much on a page, in sentences. */
export async function tooMuch(page: Page, width: number): Promise<string[]> {
  const { primary, bars, tabs } = await page.evaluate<Counted>(count)
  return [
    ...(primary.length > most.primary ? [`primary buttons: ${primary.join(', ')}`] : []),
    ...bars.flatMap(({ quiet, height }) => [
      ...(quiet.length > most.quiet ? [`quiet controls: ${quiet.join(', ')}`] : []),
      ...(width === 375 && height > rowPx
        ? [`the controls are ${Math.round(height)} px high`]
        : []),
    ]),
    ...tabs.flatMap(([name, n]) => (n > most[name] ? [`${n} tabs of a ${name}`] : [])),
  ]
}
