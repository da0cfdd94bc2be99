/** Measures the list of servers, in a browser whose processor is slowed. */
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import type { Admin } from './checkouts.ts'
import { type Floor, measureFloor, save, saveWithOpenings } from './floor.ts'
import { inPage } from './in-page.ts'
import { median } from './numbers.ts'
import { openings, openingTime, settle, slowedPage, typeInSearch } from './slowed.ts'

/**
 * What one round measures. Times in ms, scrolling in frames per second, `blank` in per cent of the
 * frames.
 */
export interface Measured {
  firstRow: number
  scroll50: number
  scroll1000: number
  blank: number
  keystroke: number
  palette: number
  menu: number
  requestsSignIn: number
  requestsList: number
  /** Paths that the list asks of the API, each as often as it is asked for. */
  callsList: readonly string[]
  nodesPerRow: number
  nodes1000: number
  floor: Floor | undefined
}

/**
 * How often the list is opened for the median of the first row, which varies most: three openings
 * gave ratios from 0.43 to 1.07 for the same two checkouts.
 */
const loads = 7

interface Scrolled {
  fps: number
  blank: number
}

/** Opens the list. The storage state `signedIn` contains the user's tokens. */
async function openList(
  browser: Browser,
  url: string,
  signedIn: Awaited<ReturnType<BrowserContext['storageState']>>,
  size?: number,
): Promise<Page> {
  const page = await slowedPage(browser, { baseURL: url, storageState: signedIn })
  await page.goto(size === undefined ? '/infra/servers' : `/infra/servers?size=${size}`)
  return page
}

/** `withFloor`: measures the same page without scripts, too. */
export async function measure(
  browser: Browser,
  url: string,
  admin: Admin,
  withFloor: boolean,
): Promise<Measured> {
  const first = await browser.newContext({ baseURL: url })
  const requests = new Set<Request>()
  first.on('request', (request) => request.url().startsWith('http') && requests.add(request))
  const entry = await first.newPage()
  await entry.goto('/auth/login')
  await entry.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  await entry.waitForLoadState('networkidle')
  const requestsSignIn = requests.size
  await entry.getByLabel('Email').fill(admin.email)
  await entry.getByLabel('Password', { exact: true }).fill(admin.password)
  await entry.getByRole('button', { name: 'Sign in', exact: true }).click()
  await entry.waitForURL((to) => to.pathname === '/')
  const signedIn = await first.storageState()
  await first.close()

  const firstRows: number[] = []
  for (let i = 0; i < loads; i++) {
    const page = await openList(browser, url, signedIn)
    firstRows.push(await page.evaluate<number>('bench.firstRow'))
    await page.context().close()
  }

  const listed = await browser.newContext({ baseURL: url, storageState: signedIn })
  await listed.addInitScript(inPage)
  requests.clear()
  listed.on('request', (request) => request.url().startsWith('http') && requests.add(request))
  const counted = await listed.newPage()
  await counted.goto('/infra/servers')
  await counted.locator('tbody tr[data-row]').first().waitFor()
  await settle(counted)
  const requestsList = requests.size
  const callsList = [...requests]
    .map((request) => new URL(request.url()).pathname)
    .filter((path) => path.startsWith('/v1/'))
  await listed.close()

  const fifty = await openList(browser, url, signedIn, 50)
  await fifty.evaluate('bench.firstRow')
  await settle(fifty)
  const nodesPerRow = await fifty.evaluate<number>(
    `(() => { const rows = document.querySelectorAll('tbody tr[data-row]'); return [...rows].reduce((sum, row) => sum + 1 + row.querySelectorAll('*').length, 0) / rows.length })()`,
  )
  const scroll50 = await fifty.evaluate<Scrolled>('bench.scroll(1500, 3000)')

  const palette = await openingTime(fifty, openings.palette)
  const menu = await openingTime(fifty, openings.menu)
  const saved = withFloor ? await saveWithOpenings(fifty) : undefined
  await fifty.context().close()

  const thousand = await openList(browser, url, signedIn)
  await thousand.evaluate('bench.firstRow')
  await settle(thousand)
  const { fps: scroll1000, blank } = await thousand.evaluate<Scrolled>('bench.scroll(3000, 4000)')
  const nodes1000 = await thousand.evaluate<number>(
    `document.querySelectorAll('main table *').length`,
  )
  const long = withFloor ? await save(thousand) : undefined
  await typeInSearch(thousand)
  // Each key while the answer to the text before it arrives.
  for (const key of 'falcon-00') {
    const answered = thousand.waitForResponse(
      (response) => new URL(response.url()).pathname === '/v1/nodes',
    )
    await thousand.keyboard.press(key)
    await answered
  }
  await thousand.keyboard.press('1')
  await settle(thousand)
  const keystroke = await thousand.evaluate<number>('bench.keystroke')
  await thousand.context().close()
  const floor = saved && long ? await measureFloor(browser, url, saved, long) : undefined
  return {
    firstRow: median(firstRows),
    scroll50: scroll50.fps,
    scroll1000,
    blank,
    keystroke,
    palette,
    menu,
    requestsSignIn,
    requestsList,
    callsList,
    nodesPerRow,
    nodes1000,
    floor,
  }
}
