/**
 * Measures the bytes and requests with which a browser loads pages of the console. The program
 * runs, so that no file can be forgotten.
 */
import { type Browser, chromium } from 'playwright-core'
import { findBrowser } from '../browsers.mjs'

export function launch(): Promise<Browser> {
  const executablePath = findBrowser()
  if (!executablePath)
    throw new Error('No browser found: apt-get install chromium, or set CHROME_PATH')
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
}

/** What a page may cost: its JavaScript with gzip, in bytes, and its requests. */
export const pageBudgets = {
  // The first script lists all pages; each costs 55 to 75 bytes. Shared patches are four pages. The
  // sentence for a user who can't sign in takes 100.
  signIn: { bytes: 97_420, requests: 12 },
  // 145 KiB. Rules that the list doesn't need, such as those for choosing disks, are in files of
  // their own, because a shared file goes into the frame of all pages as a whole.
  servers: { bytes: 148_480, requests: 20 },
  // Each kind of operation adds its row, which takes about 100 bytes. The file names of a dialog are
  // in the script of all pages, and take as much.
  createCluster: { bytes: 182_480, requests: 35 },
} as const
type PageCosts = Record<keyof typeof pageBudgets, { bytes: number; requests: number }>

/** Signs in and opens each page as a browser without a cache does. */
export async function pageCosts(
  browser: Browser,
  url: string,
  admin: { email: string; password: string },
): Promise<PageCosts> {
  const page = await browser.newPage()
  // A browser without a window has its mouse at the upper left corner, on the logo, and a link
  // under the mouse loads its page in advance.
  await page.addInitScript(
    "addEventListener('pointerover', (event) => event.stopImmediatePropagation(), true)",
  )
  let sent: { url: string; isScript: boolean }[] = []
  page.on('request', (request) =>
    sent.push({ url: request.url(), isScript: request.resourceType() === 'script' }),
  )
  const cost = async (path: string, isComplete: () => Promise<unknown>) => {
    // Leaves the previous page first, so that its requests don't count for this page.
    await page.goto('about:blank')
    sent = []
    await page.goto(url + path)
    await isComplete()
    await page.evaluate('document.fonts.ready.then(() => undefined)')
    const requests = sent.filter((one) => one.url.startsWith(url))
    let bytes = 0
    for (const script of new Set(requests.flatMap((one) => (one.isScript ? [one.url] : [])))) {
      const answer = await fetch(script, { headers: { 'accept-encoding': 'gzip' } })
      bytes += Number(answer.headers.get('content-length') ?? 0)
      await answer.arrayBuffer()
    }
    return { bytes, requests: requests.length }
  }
  // The footer shows "Live" when the event stream is open. Opening the stream is the last request
  // of a page.
  const isLive = () => page.getByRole('contentinfo').getByText('Live', { exact: true }).waitFor()
  try {
    const signIn = await cost('/auth/login', async () => {
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
      await page.waitForLoadState('networkidle')
    })
    await page.getByLabel('Email').fill(admin.email)
    await page.getByLabel('Password', { exact: true }).fill(admin.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL((to) => to.pathname === '/')
    const servers = await cost('/infra/servers', () =>
      Promise.all([page.getByRole('row').nth(3).waitFor(), isLive()]),
    )
    const createCluster = await cost('/infra/clusters/create', () =>
      Promise.all([page.getByLabel('Name').first().waitFor(), isLive()]),
    )
    return { signIn, servers, createCluster }
  } finally {
    await page.close()
  }
}
