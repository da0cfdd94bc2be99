/** Signing in and out, and pages that require a sign-in. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { serverList } from '#contract/servers/servers.ts'
import { authorizeLogout, authorizeRefresh, sessionGet } from '#contract/sessions.ts'
import { userCreate, userList } from '#contract/users.ts'
import packageFile from '../package.json' with { type: 'json' }
import { apiClient } from '../tools/api-client.ts'
import { longTests } from '../tools/testing/length.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, launch, open, restMouse, signIn, tell, write } from './browser.ts'
import { gateTo } from './gate.ts'
import { admin, type Installation, sharedInstallation } from './installation.ts'

let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedInstallation(), launch()])
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
beforeEach(async () => {
  ;({ context, page, errors } = await open(browser, installation.url))
})
afterEach(async ({ task }) => {
  await tell(page, task)
  await context.close()
  expect(errors.splice(0)).toEqual([])
})

const email = () => page.getByRole('textbox', { name: 'Email' })
const password = () => page.getByLabel('Password', { exact: true })
const submit = async () => {
  await restMouse(page)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
const alert = () => page.getByRole('form', { name: 'Sign in to your account' }).getByRole('alert')
const notice = (text: string) =>
  page.getByRole('region', { name: /^Notices/ }).getByText(text, { exact: true })
const path = () => {
  const { pathname, search } = new URL(page.url())
  return pathname + search
}
const stored = () =>
  page.evaluate<Record<string, string>>('Object.fromEntries(Object.entries(localStorage))')
/** The stored tokens of a type, as `steelyard.token.<session>.<type>`. */
const token = async (type: 'access' | 'refresh'): Promise<string> => {
  const found = Object.entries(await stored()).find(
    ([key]) => key.startsWith('steelyard.token.') && key.endsWith(`.${type}`),
  )
  if (!found) throw new Error(`No ${type} token is stored`)
  return (JSON.parse(found[1]) as { value: string }).value
}

longTest('an empty form shows what is missing and sends nothing', async () => {
  let asked = 0
  const scripts: string[] = []
  page.on('request', (request) => request.url().endsWith('/v1/authorize') && asked++)
  page.on(
    'request',
    (request) => request.resourceType() === 'script' && scripts.push(request.url()),
  )
  await page.goto('/auth/login')
  await email().waitFor()
  await expect
    .poll(() => email().evaluate((element) => element === element.ownerDocument.activeElement))
    .toBe(true)
  // The sign-in page has a size limit: it doesn't fetch code that only the pages after sign-in
  // need.
  expect(scripts.filter((url) => /\/app-/.test(url))).toEqual([])
  await submit()
  await page.getByText('Enter your email').waitFor()
  await page.getByText('Enter your password').waitFor()
  expect(await email().evaluate((element) => element === element.ownerDocument.activeElement)).toBe(
    true,
  )
  await email().fill('nobody')
  await page.getByText('Enter an email address').waitFor()
  expect(asked).toBe(0)
})

test('a wrong password shows an error and a notice; the right one, with its spaces, signs in', async () => {
  await page.goto('/auth/login')
  await email().fill(`  ${admin.email} `)
  await password().fill(admin.password.trim().replace('tests', 'test'))
  await submit()
  await alert().getByText('Invalid email or password').waitFor()
  await notice('An unexpected error occurred: Invalid email or password').waitFor()
  expect(path()).toBe('/auth/login')
  await password().fill(` ${admin.password} `)
  // The error of the previous attempt may still be visible.
  await Promise.all([
    page.waitForResponse((response) => response.url().endsWith('/v1/authorize')),
    submit(),
  ])
  await expect
    .poll(
      async () =>
        (await page
          .getByRole('button', { name: 'Sign in', exact: true })
          .getAttribute('aria-busy')) === null,
    )
    .toBe(true)
  await alert().getByText('Invalid email or password').waitFor()
  await password().fill(admin.password)
  await submit()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  expect(path()).toBe('/')
})

longTest("the sign-in page says whom a user asks who can't sign in", async () => {
  await page.goto('/auth/login')
  await page
    .getByText(
      'Ask an administrator. The only administrator runs steelyard user recover on the machine of Steelyard.',
    )
    .waitFor()
})

longTest('the password is hidden and can be shown', async () => {
  await page.goto('/auth/login')
  await password().fill('abc')
  expect(await password().getAttribute('type')).toBe('password')
  expect(await password().getAttribute('autocomplete')).toBe('current-password')
  await page.getByRole('button', { name: 'Show password' }).click()
  expect(await password().getAttribute('type')).toBe('text')
  await page.getByRole('button', { name: 'Hide password' }).click()
  expect(await password().getAttribute('type')).toBe('password')
})

test("?error= shows the console's message for a known code, and any other value as plain text", async () => {
  await page.goto('/auth/login?error=session_expired')
  await alert().getByText('Session expired. Please sign in again.').waitFor()
  const hostile = '<img src=x onerror="document.title=1"><b>hello</b>'
  await page.goto(`/auth/login?error=${encodeURIComponent(hostile)}`)
  await alert().getByText(`Sign-in problem: ${hostile}`).waitFor()
  expect(await alert().locator('img, b').count()).toBe(0)
  await page.goto(`/auth/login?error=${'x'.repeat(1000)}`)
  expect((await alert().innerText()).match(/x/g)).toHaveLength(300)
})

test('a page that requires sign-in redirects to the login page, and back after signing in', async () => {
  await page.goto('/infra/servers?status=maintenance&q=a')
  await page.waitForURL('**/auth/login')
  await email().fill(admin.email)
  await password().fill(admin.password)
  await submit()
  await page.getByRole('heading', { level: 1, name: /^Servers/ }).waitFor()
  expect(path()).toBe('/infra/servers?status=maintenance&q=a')
  await page.reload()
  await page.getByRole('heading', { level: 1, name: /^Servers/ }).waitFor()
})

const guarded = [
  '/infra',
  ...(longTests
    ? [
        '/infra/servers/x/create-patch',
        '/infra/datacenters',
        '/infra/servers',
        '/infra/clusters',
        '/infra/clusters/create',
      ]
    : []),
]
test.each(guarded)('without a session, %s shows none of its content', async (asked) => {
  const calls: string[] = []
  page.on('request', (request) => calls.push(new URL(request.url()).pathname))
  await page.goto(asked)
  await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
  expect(path()).toBe('/auth/login')
  expect(calls.filter((call) => /^\/v1\/(nodes|clusters|datacenters)/.test(call))).toEqual([])
})

test('the login page redirects signed-in users home', async () => {
  await signIn(page)
  await page.goto('/auth/login')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  expect(path()).toBe('/')
})

test('a session that was revoked elsewhere ends on the login page with a notice, and nothing stays stored', async () => {
  await signIn(page)
  await page.goto('/infra/servers')
  await page.getByRole('table', { name: 'Servers', exact: true }).waitFor()
  await apiClient(installation.url).call(authorizeLogout, {
    body: { refresh_token: await token('refresh') },
  })
  // The click makes a call, which gets a 401. The link may already be gone, because the end of the
  // live events also signs the user out; the test accepts both.
  await page
    .getByRole('navigation', { name: 'Sections' })
    .getByRole('link', { name: 'Clusters' })
    .evaluateAll((links) => links.forEach((link) => (link as unknown as { click(): void }).click()))
  await notice('Session expired. Please sign in again.').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
  expect(
    await page
      .getByRole('region', { name: /^Notices/ })
      .getByRole('listitem')
      .count(),
  ).toBe(1)
  expect(path()).toBe('/auth/login')
  expect(await stored()).toEqual({})
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
})

longTest('opening a page with a revoked session shows the same notice', async () => {
  await signIn(page)
  await apiClient(installation.url).call(authorizeLogout, {
    body: { refresh_token: await token('refresh') },
  })
  await page.goto('/infra/clusters')
  await notice('Session expired. Please sign in again.').waitFor()
  expect(path()).toBe('/auth/login')
  // The notice appears only once; the browser's console has the reason.
  expect(
    await page
      .getByRole('region', { name: /^Notices/ })
      .getByRole('listitem')
      .count(),
  ).toBe(1)
  expect(errors.splice(0)).toEqual([
    expect.stringMatching(/^console: The session could not be validated:/),
  ])
})

longTest('an invalid access token is renewed in the background, once for all calls', async () => {
  await signIn(page)
  const before = await token('access')
  let refreshes = 0
  page.on('request', (request) => request.url().endsWith('/v1/authorize/refresh') && refreshes++)
  // Expire the token while a new page loads: an open page would renew it at once.
  await page.addInitScript(`for (const [key, value] of Object.entries(localStorage)) if (key.endsWith('.access')) {
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(value), expiresAt: Date.now() - 1000 }))
  }`)
  await page.goto('/infra/servers')
  await page.getByRole('table', { name: 'Servers', exact: true }).waitFor()
  expect(refreshes).toBe(1)
  expect(await token('access')).not.toBe(before)
})

test('logging out in one tab ends the session at once in every tab and on the server', async () => {
  await signIn(page)
  const other = await context.newPage()
  await other.goto('/infra/servers')
  await other.getByRole('heading', { level: 1, name: /^Servers/ }).waitFor()
  const old = await token('access')
  await page
    .getByRole('navigation', { name: 'Sections' })
    .getByRole('link', { name: 'Clusters' })
    .click()
  await page.waitForURL('**/infra/clusters')
  await page.getByRole('button', { name: 'Profile' }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
  expect(path()).toBe('/auth/login')
  expect(await stored()).toEqual({})
  await other.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
  expect(await other.getByText('Session expired').count()).toBe(0)
  await expect(apiClient(installation.url, old).call(sessionGet, {})).rejects.toThrow('401')
  await page.goBack()
  await page.getByRole('banner').getByText('Already have an account?').waitFor()
  expect(await page.getByRole('navigation', { name: 'Sections' }).count()).toBe(0)
})

const viewer = {
  email: 'viewer-of-sign-in@steelyard.demo',
  password: 'another password for the tests',
}
longTest.each([
  { isLost: false, what: 'a sign-out' },
  { isLost: true, what: 'a sign-out that never reached the server' },
])(
  'the late answer of a refresh in one tab does not reach the viewer who signs in in the other tab after $what',
  async ({ isLost }) => {
    const { total } = await installation.call(userList, { query: { q: viewer.email } })
    if (total === 0)
      await installation.call(userCreate, {
        body: { ...viewer, name: 'Vera Viewer', role: 'viewer' },
      })
    // The refresh may wait as long as the test takes.
    await page.addInitScript('AbortSignal.timeout = () => new AbortController().signal')
    await signIn(page)
    const other = await context.newPage()
    await other.goto('/infra/servers')
    await other.getByRole('table', { name: 'Servers', exact: true }).waitFor()

    const refreshed = Promise.withResolvers<{ access_token: string; refresh_token: string }>()
    const released = Promise.withResolvers<void>()
    await page.route('**/v1/authorize/refresh', async (route) => {
      const response = await route.fetch()
      refreshed.resolve((await response.json()) as { access_token: string; refresh_token: string })
      await released.promise
      await route.fulfill({ response })
    })
    const old = await token('refresh')
    await context.route('**/v1/authorize/logout', (route) =>
      isLost && route.request().postData()?.includes(old) ? route.abort() : route.continue(),
    )
    await page.evaluate(`for (const [key, value] of Object.entries(localStorage)) if (key.endsWith('.access')) {
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(value), expiresAt: Date.now() - 1000 }))
  }`)
    await page
      .getByRole('navigation', { name: 'Sections' })
      .getByRole('link', { name: 'Clusters' })
      .click()
    const late = await refreshed.promise

    await other
      .getByRole('complementary', { name: 'Main' })
      .getByRole('button', { name: 'Log out' })
      .click()
    await other.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
    await signIn(other, viewer)
    const ofViewer = await stored()
    released.resolve()
    // The tab that waited for the answer has ended the admin's session, and nobody can use its
    // tokens.
    await expect
      .poll(() =>
        apiClient(installation.url, late.access_token).call(sessionGet, {}).then(String, String),
      )
      .toContain('401')
    for (const tab of [page, other]) {
      await tab.goto('/profile')
      await tab.getByText(viewer.email, { exact: true }).first().waitFor()
    }
    expect(await stored()).toEqual(ofViewer)
    await expect(
      apiClient(installation.url).call(authorizeRefresh, {
        body: { refresh_token: late.refresh_token },
      }),
    ).rejects.toThrow('401')
    // A session is ended in the background without cookies, so that the response doesn't clear the
    // storage of the next one. The browser remarks on that.
    expect(errors.splice(0).filter((error) => !error.includes('Clear-Site-Data header'))).toEqual(
      [],
    )
  },
)

longTest(
  'a draft is kept without a question when the session ends, and restored after signing in; logging out asks first, and deletes the draft',
  async () => {
    await signIn(page)
    const { items } = await apiClient(installation.url, await token('access')).call(serverList, {})
    const editor = `/infra/servers/${items[0]!.id}/create-patch`
    await page.goto(editor)
    const name = page.getByRole('textbox', { name: 'Name' })
    await name.fill('kept')
    await write(page, 'machine: {}')
    await apiClient(installation.url).call(authorizeLogout, {
      body: { refresh_token: await token('refresh') },
    })
    // The preview gets a 401, unless the live events ended first.
    await page.keyboard.insertText(' # more')
    await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
    await email().fill(admin.email)
    await password().fill(admin.password)
    await submit()
    await page.getByText(/^A draft from .* was restored/).waitFor()
    expect([path(), await name.inputValue(), await page.getByRole('dialog').count()]).toEqual([
      editor,
      'kept',
      0,
    ])
    const logOut = page
      .getByRole('complementary', { name: 'Main' })
      .getByRole('button', { name: 'Log out' })
    await logOut.click()
    const question = page.getByRole('dialog', { name: 'Log out without saving?' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    await logOut.click()
    await question.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
    expect(await stored()).toEqual({})
    // Sign in again in the same tab, whose connection to the drafts database was closed when logging
    // out cleared the site's storage.
    await email().fill(admin.email)
    await password().fill(admin.password)
    await submit()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const sections = page.getByRole('navigation', { name: 'Sections' })
    await sections.getByRole('link', { name: 'Servers' }).click()
    await page.getByRole('link', { name: items[0]!.name, exact: true }).click()
    const create = page.getByRole('link', { name: 'Create patch' })
    await create.click()
    await name.fill('kept-again')
    await sections.getByRole('link', { name: 'Servers' }).click()
    await page
      .getByRole('dialog', { name: 'Leave without saving?' })
      .getByRole('button', { name: 'Leave' })
      .click()
    await page.getByRole('table', { name: 'Servers', exact: true }).waitFor()
    await page.getByRole('link', { name: items[0]!.name, exact: true }).click()
    await create.click()
    await page.getByText(/^A draft from .* was restored/).waitFor()
    expect(await name.inputValue()).toBe('kept-again')
  },
)

test('visitors see what Steelyard is, a link to sign in, and the waitlist', async () => {
  await page.goto('/')
  await page.getByRole('banner').getByText('Already have an account?').waitFor()
  expect(await page.getByText(packageFile.version).count()).toBe(1)
  await page.getByRole('banner').getByRole('button', { name: 'Join waitlist' }).click()
  const dialog = page.getByRole('dialog', { name: 'Join waitlist' })
  await dialog.getByRole('button', { name: 'Join', exact: true }).click()
  await dialog.getByText('Enter your name').waitFor()
  await dialog.getByText('Enter your email').waitFor()
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Ada Kowalska')
  await dialog.getByRole('textbox', { name: /^Company/ }).fill('Kowalska Compute')
  await dialog.getByRole('textbox', { name: 'Email' }).fill('ada@example.com')
  await dialog.getByRole('button', { name: 'Join', exact: true }).click()
  await dialog.getByText('You are on the list.').waitFor()
  await dialog.getByRole('button', { name: 'OK' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
})

longTest(
  'every tab shows within seconds that a hanging server is silent, and shows it as live after it answers again',
  async () => {
    const gate = await gateTo(installation.url)
    const { context: gated, page: one, errors: seen } = await open(browser, gate.url)
    try {
      await signIn(one)
      await one.getByText('Live', { exact: true }).waitFor()
      // One tab reads the stream and passes the events to the other tab.
      const two = await gated.newPage()
      await two.goto('/infra/servers')
      await two.getByText('Live', { exact: true }).waitFor()
      gate.shut()
      await Promise.all(
        [one, two].map((tab) => tab.getByText(/^Not answering since \d\d:\d\d:\d\d$/).waitFor()),
      )
      await two
        .getByRole('navigation', { name: 'Sections' })
        .getByRole('link', { name: 'Clusters' })
        .click()
      await two
        .getByText(
          /^Steelyard has not answered since .* This page is shown as soon as Steelyard answers\.$/,
        )
        .waitFor()
      gate.open()
      await Promise.all([one, two].map((tab) => tab.getByText('Live', { exact: true }).waitFor()))
      await two.getByRole('heading', { level: 1, name: /^Clusters/ }).waitFor()
      expect(seen.splice(0)).toEqual([])
    } finally {
      await gated.close()
      await gate.close()
    }
  },
)

test('on a narrow screen, the menu closes if dragged by a quarter of its width, and slides back if dragged less', async () => {
  await signIn(page)
  await page.setViewportSize({ width: 375, height: 800 })
  await page.getByRole('button', { name: 'Open menu' }).click()
  const menu = page.getByRole('dialog', { name: 'Menu' })
  const width = (await menu.boundingBox())!.width
  const drag = async (share: number) => {
    await page.mouse.move(200, 700)
    await page.mouse.down()
    await page.mouse.move(200 - (width * share) / 2, 700)
    await page.mouse.move(200 - width * share, 700)
    await page.mouse.up()
  }
  await expect.poll(async () => (await menu.boundingBox())!.x).toBe(0)
  await drag(0.2)
  await expect.poll(async () => (await menu.boundingBox())!.x).toBe(0)
  await drag(0.3)
  await menu.waitFor({ state: 'detached' })
})
