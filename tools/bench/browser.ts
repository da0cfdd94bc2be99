/**
 * Measures the speed of the list of servers in a browser whose processor is slowed 4 times: the first row, scrolling, typing, ⌘K and a
 * row's menu, and the number of requests and elements. With a second built checkout, measures the two checkouts in turns and prints the ratio.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { authorize } from '#contract/sessions.ts'
import { apiClient, type Caller } from '../api-client.ts'
import { builtProgram, freePort, nodeFlags, run, type Running, usage } from '../processes.ts'
import { addSimulated } from '../simulated.ts'
import { launch } from './console.ts'

interface Admin {
  email: string
  password: string
}
export interface Options {
  admin: Admin
  /** Each round measures each checkout once; medians are printed. */
  rounds: number
  /** Numbers of servers to measure at. */
  fleets: readonly number[]
  /** Folder of a second checkout, with its packages installed and its console built. */
  against: string | undefined
  /** Folder for the databases. They are reused if they exist. */
  data: string
  say: (what: string, value: string, bar?: string) => void
}

const throttle = 4
export const nodeOf = (checkout: string) => join(checkout, 'node_modules', '.bin', 'node')

/** Starts the program of a checkout. */
export async function serve(checkout: string, admin: Admin, data: string, servers: number): Promise<{ url: string; program: Running }> {
  const port = await freePort()
  const env = {
    PORT: String(port),
    STEELYARD_DATA: data,
    STEELYARD_SIMULATE: String(servers),
    STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
    STEELYARD_ADMIN_EMAIL: admin.email,
    STEELYARD_ADMIN_PASSWORD: admin.password,
    LOG_LEVEL: 'error',
    // As `start.mjs` sets it. A process that ends writes its compiled code there.
    NODE_COMPILE_CACHE: join(data, 'compiled'),
  }
  // Older checkouts run from their sources.
  const main = existsSync(join(checkout, builtProgram)) ? builtProgram : 'backend/src/main.ts'
  const program = await run(nodeOf(checkout), [...nodeFlags, main, 'serve'], /^Steelyard is ready/, { cwd: checkout, env })
  return { url: `http://127.0.0.1:${port}`, program }
}

/** Waits until a program that has just started has done the work of its start: until it needs less than half a core for three seconds. */
export async function idle({ child }: Running): Promise<void> {
  const sampleMs = 3000
  for (let waitedMs = 0, before = usage(child.pid!).cpuSeconds; waitedMs < 180_000; waitedMs += sampleMs) {
    await pause(sampleMs)
    const now = usage(child.pid!).cpuSeconds
    if ((now - before) * 1000 < sampleMs / 2) return
    before = now
  }
}

/** A client that signs in again before its token expires. */
export function callerOf(url: string, admin: Admin): Caller {
  let signedIn: { token: string; at: number } | undefined
  return async (operation, asked) => {
    if (signedIn === undefined || Date.now() - signedIn.at > 300_000)
      signedIn = { token: (await apiClient(url).call(authorize, { body: admin })).accessToken, at: Date.now() }
    return apiClient(url, signedIn.token).call(operation, asked)
  }
}

/** What one round measures. Times in ms, scrolling in frames per second, `blank` in per cent of the frames. */
interface Measured {
  firstRow: number
  scroll50: number
  scroll1000: number
  blank: number
  keystroke: number
  palette: number
  menu: number
  requestsSignIn: number
  requestsList: number
  nodesPerRow: number
  nodes1000: number
}

/** A script that runs in the page before the page's own scripts. A string, because this script can't import modules. */
const inPage = String.raw`
const frame = () => new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))
// This task runs after the frame that is being made.
const afterFrame = () => new Promise((resolve) => {
  const channel = new MessageChannel()
  channel.port1.onmessage = () => resolve(performance.now())
  channel.port2.postMessage(null)
})
// Looks at the end of a frame's scripts, so that the frame in which the element is found is the one that paints the element.
const appears = async (selector) => {
  do await frame()
  while (!document.querySelector(selector))
  return afterFrame()
}
const bench = {
  firstRow: appears('tbody tr[data-row]'),
  /** Resolves after ten frames in a row that were on time and changed nothing. */
  async rests() {
    let changed = false
    const changes = new MutationObserver(() => (changed = true))
    changes.observe(document.body, { childList: true, subtree: true, attributes: true })
    for (let calm = 0, last = await frame(); calm < 10; ) {
      const now = await frame()
      calm = changed || now - last > 34 ? 0 : calm + 1
      changed = false
      last = now
    }
    changes.disconnect()
  },
  /** Scrolls the list down and up at an even speed, by script in every frame, so that each frame needs the page's own thread. */
  async scroll(pxPerSecond, ms) {
    const box = document.querySelector('[data-tablescroll]')
    const rows = box.getElementsByTagName('tbody')[0]
    const head = box.querySelector('thead').offsetHeight
    const { top, bottom } = box.getBoundingClientRect()
    const most = box.scrollHeight - box.clientHeight
    const began = performance.now()
    let frames = 0
    let blank = 0
    for (let now = began; now - began < ms; frames++) {
      const way = ((now - began) / 1000 * pxPerSecond) % (2 * most)
      box.scrollTop = way < most ? way : 2 * most - way
      now = await frame()
      // Not a list of all rows: looking at a thousand in every frame would be measured, too.
      const first = rows.querySelector(':scope > [data-row]')
      let last = rows.lastElementChild
      while (!last.hasAttribute('data-row')) last = last.previousElementSibling
      if (first.getBoundingClientRect().top > top + head + 1 || last.getBoundingClientRect().bottom < bottom - 1) blank++
    }
    return { fps: frames / ((performance.now() - began) / 1000), blank: (100 * blank) / frames }
  },
  /** Measures from the next input of this type until the element is painted, in ms; \`opened\` has the result. */
  expect(type, selector) {
    bench.opened = new Promise((resolve) => addEventListener(type, async ({ timeStamp }) => resolve(await appears(selector) - timeStamp), { capture: true, once: true }))
  },
  keystroke: 0,
}
// From the key to the next paint, rounded to 8 ms by the browser (Event Timing).
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.name.startsWith('key')) bench.keystroke = Math.max(bench.keystroke, entry.duration)
}).observe({ type: 'event', durationThreshold: 16 })
globalThis.bench = bench
`

interface Scrolled {
  fps: number
  blank: number
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Opens the list in a new browser context, in which nothing is cached. The storage state `signedIn` contains the user's tokens. */
async function openList(browser: Browser, url: string, signedIn: Awaited<ReturnType<BrowserContext['storageState']>>, size?: number): Promise<Page> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 900 }, storageState: signedIn })
  await context.addInitScript(inPage)
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: throttle })
  await page.goto(size === undefined ? '/infra/servers' : `/infra/servers?size=${size}`)
  return page
}

async function measure(browser: Browser, url: string, admin: Admin): Promise<Measured> {
  /** Waits until the page has sent its last request, which opens the stream of events, and nothing changes any more. */
  const settle = async (page: Page) => {
    await page.getByRole('contentinfo').getByText('Live', { exact: true }).waitFor()
    await page.evaluate('bench.rests()')
  }
  const first = await browser.newContext({ baseURL: url })
  const requests = new Set<object>()
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
  for (let i = 0; i < 3; i++) {
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
  await listed.close()

  const fifty = await openList(browser, url, signedIn, 50)
  await fifty.evaluate('bench.firstRow')
  await settle(fifty)
  const nodesPerRow = await fifty.evaluate<number>(
    `(() => { const rows = document.querySelectorAll('tbody tr[data-row]'); return [...rows].reduce((sum, row) => sum + 1 + row.querySelectorAll('*').length, 0) / rows.length })()`,
  )
  const scroll50 = await fifty.evaluate<Scrolled>('bench.scroll(1500, 3000)')

  /** Opens something four times with an input of this type, and returns the times in ms. */
  const opens = async (type: string, selector: string, open: (time: number) => Promise<void>, prepare?: (time: number) => Promise<void>) => {
    const times: number[] = []
    for (let time = 0; time < 4; time++) {
      await prepare?.(time)
      await settle(fifty)
      await fifty.evaluate(`bench.expect('${type}', '${selector}')`)
      await open(time)
      times.push(await fifty.evaluate<number>('bench.opened'))
      await fifty.keyboard.press('Escape')
      await fifty.locator(selector).waitFor({ state: 'detached' })
    }
    return times
  }
  const palette = await opens('keydown', '[role="dialog"] input', () => fifty.keyboard.press('Control+k'))
  const actions = (row: number) =>
    fifty
      .locator('tbody tr[data-row]')
      .nth(row)
      .getByRole('button', { name: /^Actions for/ })
  // The pointer rests on the button first, as a user's does; the menu's code is loaded meanwhile.
  const menu = await opens(
    'click',
    '[role="menu"]',
    (row) => actions(row).click(),
    (row) => actions(row).hover(),
  )
  await fifty.context().close()

  const thousand = await openList(browser, url, signedIn)
  await thousand.evaluate('bench.firstRow')
  await settle(thousand)
  const { fps: scroll1000, blank } = await thousand.evaluate<Scrolled>('bench.scroll(3000, 4000)')
  const nodes1000 = await thousand.evaluate<number>(`document.querySelectorAll('main table *').length`)
  await thousand.getByRole('searchbox', { name: 'Search servers' }).click()
  await settle(thousand)
  await thousand.evaluate('bench.keystroke = 0')
  // At a pace of 8 keys a second, at which the answer comes after the last key.
  for (const key of [...Array.from('amber-fal'), ...Array.from('amber-fal', () => 'Backspace')])
    await thousand.keyboard.press(key, { delay: 30 }).then(() => thousand.waitForTimeout(90))
  await settle(thousand)
  // Each key while the answer to the text before it arrives.
  for (const key of 'falcon-00') {
    const answered = thousand.waitForResponse((response) => new URL(response.url()).pathname === '/v1/nodes')
    await thousand.keyboard.press(key)
    await answered
  }
  await thousand.keyboard.press('1')
  await settle(thousand)
  const keystroke = await thousand.evaluate<number>('bench.keystroke')
  await thousand.context().close()
  return {
    firstRow: median(firstRows),
    scroll50: scroll50.fps,
    scroll1000,
    blank,
    keystroke,
    palette: median(palette),
    menu: median(menu),
    requestsSignIn,
    requestsList,
    nodesPerRow,
    nodes1000,
  }
}

const rows: readonly { key: keyof Measured; what: string; unit: string; bar: (servers: number) => string; ratio?: true }[] = [
  { key: 'firstRow', what: 'first row of the list', unit: ' ms', bar: (n) => `against 8a935b3 at most ${n > 1000 ? '0.70' : '0.86'}`, ratio: true },
  { key: 'scroll50', what: 'scrolling the list, 50 a page', unit: ' fps', bar: () => 'at least 55 fps' },
  { key: 'scroll1000', what: 'scrolling the list, 1,000 a page', unit: ' fps', bar: () => 'at least 55 fps' },
  { key: 'blank', what: 'frames with blank rows meanwhile', unit: ' %', bar: () => '' },
  { key: 'keystroke', what: 'worst keystroke in the search', unit: ' ms', bar: () => 'at most 64 ms' },
  { key: 'palette', what: '⌘K opens', unit: ' ms', bar: () => 'at most 70 ms' },
  { key: 'menu', what: "a row's menu opens", unit: ' ms', bar: () => 'at most 64 ms' },
  { key: 'requestsSignIn', what: 'requests of the sign-in page', unit: '', bar: () => 'at most 12' },
  { key: 'requestsList', what: 'requests of the list', unit: '', bar: () => 'at most 20' },
  { key: 'nodesPerRow', what: 'elements per row', unit: '', bar: () => '' },
  { key: 'nodes1000', what: 'elements of the table, 1,000 a page', unit: '', bar: () => '' },
]

export async function browserBudgets({ admin, rounds, fleets, against, data, say }: Options): Promise<void> {
  const checkouts = [...(against === undefined ? [] : [against]), process.cwd()]
  for (const servers of fleets) {
    const kept = join(data, String(servers))
    mkdirSync(kept, { recursive: true })
    const browser = await launch()
    const fleet = ['simulator/src/main.ts', '--servers', String(servers), '--data', join(kept, 'simulator')]
    const simulator = await run(nodeOf('.'), fleet, /^Simulator is ready/)
    try {
      // Adds the missing servers with the older checkout. The newer checkout can then upgrade its copy of the database.
      const { url, program } = await serve(checkouts[0]!, admin, kept, servers)
      await addSimulated(callerOf(url, admin), join(kept, 'simulator', 'control.sock'), { whole: against !== undefined })
      await program.stop()
      const copies = checkouts.map((checkout, i) => ({ checkout, data: `${kept}-${i}`, measured: [] as Measured[] }))
      for (const { data: copy } of copies) {
        spawnSync('rm', ['-rf', copy])
        // `cp -a` keeps the owner of the database's files.
        spawnSync('cp', ['-a', kept, copy])
      }
      for (let round = 0; round < rounds; round++) {
        // One program runs at a time: the contacts of the other one would take processor time from the browser.
        for (const { checkout, data: copy, measured } of copies) {
          const { url, program } = await serve(checkout, admin, copy, servers)
          try {
            await idle(program)
            measured.push(await measure(browser, url, admin))
          } finally {
            await program.stop()
          }
        }
      }
      say(`in a browser with ${servers} servers, processor slowed ${throttle} times`, against === undefined ? '' : 'now / other')
      for (const { key, what, unit, bar, ratio } of rows) {
        const [now, other] = copies.toReversed().map(({ measured }) => median(measured.map((one) => one[key])))
        const shown = (n: number) => n.toFixed(n < 100 && !Number.isInteger(n) ? 1 : 0)
        const value = other === undefined ? `${shown(now!)}${unit}` : `${shown(now!)} / ${shown(other)}${unit}`
        say(`  ${what}`, value, [bar(servers), ratio && other !== undefined && `is ${(now! / other).toFixed(2)}`].filter(Boolean).join(', '))
      }
    } finally {
      await browser.close()
      await simulator.stop()
    }
  }
}
