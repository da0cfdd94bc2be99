/** Walks through pages as a user who may change nothing, and looks at every disabled control. */
import type { Browser, Page, Request } from 'playwright-core'
import { userCreate } from '#contract/users.ts'
import { open, signIn } from '../browser.ts'
import type { Installation } from '../installation.ts'
import { settled } from '../screens/look.ts'

interface Walked {
  /** How many disabled controls were seen. */
  disabled: number
  /** Disabled controls that don't say why. */
  silent: string[]
  /** Requests that were not reads. */
  writes: string[]
}

/**
 * Clicks every visible disabled control. A control explains itself by its description, its title,
 * or the tooltip of the click. `replaced`: the page removed a control before it was looked at, so
 * the result is incomplete.
 */
const explain = String.raw`(async () => {
  const text = (element) => (element?.textContent ?? '').trim()
  const silent = []
  let replaced = false
  const controls = [...document.querySelectorAll('main :is(button, a, input, textarea, select, [role])')].filter(
    (control) => (control.matches(':disabled') || control.ariaDisabled === 'true') && control.checkVisibility(),
  )
  for (const control of controls) {
    const reason = () =>
      control.title +
      (control.closest('[title]')?.title ?? '') +
      (control.getAttribute('aria-describedby') ?? '').split(' ').map((id) => text(id && document.getElementById(id))).join('') +
      text(control.querySelector('small') ?? control.closest('label')?.querySelector('small'))
    for (let tries = 0; tries < 100 && control.isConnected && reason() === ''; tries++) {
      control.click()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    if (!control.isConnected) replaced = true
    else if (reason() === '') silent.push(control.ariaLabel ?? (text(control.closest('label') ?? control) || control.outerHTML.slice(0, 80)))
  }
  return { disabled: controls.length, silent, replaced }
})()`

type Explained = Pick<Walked, 'disabled' | 'silent'> & { replaced: boolean }

/** Looks at the page again if it replaced controls meanwhile, as after an event. */
async function explained(page: Page, path: string): Promise<Explained> {
  for (let tries = 0; tries < 5; tries++) {
    await settled(page)
    const seen = await page.evaluate<Explained>(explain)
    if (!seen.replaced) return seen
  }
  throw new Error(`${path} keeps replacing its disabled controls`)
}

/** Clicks a link to a path. Nothing has the focus before, so that the next page takes it. */
const click = `(path) => {
  document.activeElement?.blur()
  const link = document.createElement('a')
  link.href = path
  document.body.append(link)
  link.click()
  link.remove()
}`

/** Follows a link to a path, as users do: loading the console anew costs more than the page. */
async function follow(page: Page, path: string): Promise<void> {
  const from = new URL(page.url()).pathname
  // After a key the last page doesn't take the focus any more, which would look like the next one.
  await page.keyboard.press('Shift')
  await page.evaluate(`(${click})(${JSON.stringify(path)})`)
  // The router keeps a page whose path stays, and shows its other tab at once.
  if (new URL(path, page.url()).pathname !== from)
    await page.locator('body :focus').first().waitFor({ state: 'attached' })
}

async function walk(page: Page, paths: readonly string[]): Promise<Walked> {
  const walked: Walked = { disabled: 0, silent: [], writes: [] }
  const note = (request: Request) => {
    const { pathname } = new URL(request.url())
    // A preview changes nothing, but has a body.
    if (request.method() !== 'GET' && !/^\/v1\/session|\/preview$/.test(pathname))
      walked.writes.push(`${request.method()} ${pathname}`)
  }
  page.on('request', note)
  for (const [n, path] of paths.entries()) {
    await (n === 0 ? page.goto(path) : follow(page, path))
    // The screen before the frame, "Loading...", has a heading too, and nothing on it is busy.
    await page.locator('main#content').waitFor()
    await page
      // A dialog that the address opens hides the page behind it from assistive technology.
      .getByRole('heading', { level: 1, includeHidden: true })
      .first()
      .waitFor()
      .catch((error: unknown) => {
        throw new Error(`${path} shows no heading`, { cause: error })
      })
    const { disabled, silent } = await explained(page, path)
    walked.disabled += disabled
    walked.silent.push(...silent.map((control) => `${path}: ${control}`))
  }
  page.off('request', note)
  return walked
}

/** `errors`: what the pages have logged. */
export async function walkAsNewViewer(
  browser: Browser,
  { call, url }: Installation,
  paths: readonly string[],
): Promise<Walked & { errors: string[] }> {
  const viewer = { email: 'viewer@steelyard.demo', password: 'only looking at things' }
  await call(userCreate, { body: { ...viewer, name: 'Vera Viewer', role: 'viewer' } })
  const { page, context, errors } = await open(browser, url)
  await signIn(page, viewer)
  const walked = await walk(page, paths)
  await context.close()
  return { ...walked, errors }
}
