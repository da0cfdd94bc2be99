/** Bytes of JavaScript that a browser downloads, with gzip. Requested from the running program like by a browser, so that no file can be forgotten. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

export function launch(): Promise<Browser> {
  const executablePath = [process.env['CHROME_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
    (p) => p && existsSync(p),
  )
  if (!executablePath) throw new Error('No browser found: apt-get install chromium, or set CHROME_PATH')
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] })
}

export async function consoleBytes(url: string, admin: { email: string; password: string }): Promise<{ signIn: number; servers: number }> {
  const browser = await launch()
  const page = await browser.newPage()
  const scripts = new Set<string>()
  page.on('request', (request) => request.resourceType() === 'script' && scripts.add(request.url()))
  const sent = async () => {
    let bytes = 0
    for (const script of scripts) {
      const answer = await fetch(script, { headers: { 'accept-encoding': 'gzip' } })
      bytes += Number(answer.headers.get('content-length') ?? 0)
      await answer.arrayBuffer()
    }
    return bytes
  }
  try {
    await page.goto(`${url}/auth/login`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    const signIn = await sent()
    await page.getByLabel('Email').fill(admin.email)
    await page.getByLabel('Password', { exact: true }).fill(admin.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL((to) => to.pathname === '/')
    // Scripts that the overview is still fetching count for the overview.
    await page.goto('about:blank')
    scripts.clear()
    await page.goto(`${url}/infra/servers`)
    await page.getByRole('row').nth(3).waitFor()
    return { signIn, servers: await sent() }
  } finally {
    await browser.close()
  }
}
