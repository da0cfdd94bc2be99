/**
 * Second factors, passkeys, the identity provider, invitations, roles, and the pages of profile and
 * admins, as users meet them.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { userCreate } from '#contract/users.ts'
import { clientId, clientSecret, codeOf, realProvider } from '../tools/identity-provider.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, launch, open, signIn, tell } from './browser.ts'
import { admin, type Installation, startInstallation } from './installation.ts'

let installation: Installation
let provider: Awaited<ReturnType<typeof realProvider>>
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]

const person = (name: string) => ({
  email: `${name}@steelyard.demo`,
  password: `the pass phrase of nobody else, ${name.length}`,
})

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({
      servers: 1,
      host: 'localhost',
      async settings(url) {
        provider = await realProvider(
          { hal: { email: 'hal@example.com', email_verified: true, name: 'Hal', groups: ['ops'] } },
          url,
        )
        return {
          STEELYARD_PUBLIC_URL: url,
          STEELYARD_OIDC_ISSUER: provider.issuer,
          STEELYARD_OIDC_CLIENT_ID: clientId,
          STEELYARD_OIDC_CLIENT_SECRET: clientSecret,
          STEELYARD_OIDC_NAME: 'Example Login',
          STEELYARD_OIDC_SCOPES: 'openid email profile groups',
          STEELYARD_OIDC_ROLES: 'ops=operator',
        }
      },
    }),
    launch(),
  ])
  for (const [name, role] of [
    ['tess', 'operator'],
    ['pia', 'operator'],
    ['vera', 'viewer'],
  ] as const)
    await installation.call(userCreate, { body: { ...person(name), name, role } })
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

const button = (name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

async function logOut(): Promise<void> {
  await button(/Profile$/).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await heading('Sign in to your account').waitFor()
}

/** Types email and password, and submits them. */
async function typeCredentials(who: { email: string; password: string }): Promise<void> {
  await page.getByLabel('Email').fill(who.email)
  await page.getByLabel('Password', { exact: true }).fill(who.password)
  await button('Sign in').click()
}

test('a user sets up an authenticator app, and then signs in with password and code, or with a recovery code', async () => {
  const tess = person('tess')
  await signIn(page, tess)
  await page.goto('/profile?tab=security')
  await button('Set up').click()
  const setUp = dialog('Set up an authenticator app')
  await setUp.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  const secret = (await setUp.locator('code').innerText()).replaceAll(' ', '')
  await setUp.getByLabel('Code of the app').fill(codeOf(secret, Date.now()))
  await setUp.getByRole('button', { name: 'Confirm' }).click()
  const codes = dialog('Your recovery codes')
  const recovery = await codes.getByRole('listitem').first().innerText()
  await codes.getByRole('button', { name: 'I have kept them' }).click()
  await page.getByText('10 unused codes').waitFor()

  await logOut()
  await typeCredentials(tess)
  await heading('Enter your code').waitFor()
  const code = page.getByLabel('Code', { exact: true })
  await expect
    .poll(() => code.evaluate((element) => element === element.ownerDocument.activeElement))
    .toBe(true)
  await code.fill('000000')
  await button('Sign in').click()
  await page.getByRole('alert').first().waitFor()
  // The code of the setup was used already, so the next one is needed.
  await code.fill(codeOf(secret, Date.now(), 1))
  await button('Sign in').click()
  await heading('Overview').waitFor()

  await logOut()
  await typeCredentials(tess)
  await code.fill(recovery)
  await button('Sign in').click()
  await heading('Overview').waitFor()
  await page.goto('/profile?tab=security')
  await page.getByText('9 unused codes').waitFor()
})

test('a user adds a passkey and signs in with it, without an email', async () => {
  const devices = await context.newCDPSession(page)
  await devices.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const
  await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, automaticPresenceSimulation: true },
  })
  const pia = person('pia')
  await signIn(page, pia)
  await page.goto('/profile?tab=security')
  await button('Add passkey').click()
  await dialog('Add a passkey').getByLabel('Name').fill('laptop')
  await button('Continue').click()
  await dialog('Your recovery codes').getByRole('button', { name: 'I have kept them' }).click()
  await page.getByRole('list', { name: 'Passkeys' }).getByText('laptop').waitFor()
  await logOut()
  await button('Sign in with a passkey').click()
  await heading('Overview').waitFor()
  await page.goto('/profile')
  await page.getByText(pia.email).first().waitFor()
})

test('at an IP address the passkey is disabled and says why', async () => {
  await page.goto(`http://127.0.0.1:${new URL(installation.url).port}/auth/login`)
  const passkey = button('Sign in with a passkey')
  await passkey.waitFor()
  expect(await passkey.getAttribute('aria-disabled')).toBe('true')
  await passkey.hover()
  await page
    .getByRole('tooltip')
    .getByText('The passkeys of this Steelyard work only at localhost')
    .waitFor()
})

test('a user signs in through the identity provider, and returns to the page that was wanted', async () => {
  provider.signsIn('hal')
  await page.goto('/infra/servers')
  await heading('Sign in to your account').waitFor()
  await button('Sign in with Example Login').click()
  await page.getByRole('table', { name: 'Servers', exact: true }).waitFor()
  await page.goto('/profile')
  await page.getByText('hal@example.com').first().waitFor()
  await page.getByText('Operator', { exact: true }).waitFor()
})

longTest(
  'cancelling at the identity provider leads back to the sign-in, with the reason',
  async () => {
    provider.signsIn(undefined)
    await page.goto('/auth/login')
    await button('Sign in with Example Login').click()
    await heading('You are not signed in').waitFor()
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('link', { name: 'Back to sign in' }).click()
    await heading('Sign in to your account').waitFor()
  },
)

longTest(
  'an action that needs a recent proof asks for the password once, and then succeeds',
  async () => {
    await signIn(page)
    await page.goto('/profile?tab=tokens')
    const keys: (string | undefined)[] = []
    // The server asks only 15 minutes after the sign-in, so the first answer is replaced.
    await page.route('**/v1/tokens', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      keys.push(route.request().headers()['idempotency-key'])
      const needed = { error: 'Confirm that it is you.', code: 'proof_needed', request_id: 'r' }
      return keys.length === 1 ? route.fulfill({ status: 409, json: needed }) : route.continue()
    })
    await button('Create API token').first().click()
    const create = dialog('Create API token')
    await create.getByLabel('Name').fill('monitoring')
    await create.getByRole('checkbox', { name: 'servers:read' }).check()
    await create.getByRole('button', { name: 'Create token' }).click()
    const proof = dialog('Confirm that it is you')
    await proof.getByLabel('Password', { exact: true }).fill('not the password')
    await proof.getByRole('button', { name: 'Confirm' }).click()
    await proof.getByText('This is not your password').waitFor()
    await proof.getByLabel('Password', { exact: true }).fill(admin.password)
    await proof.getByRole('button', { name: 'Confirm' }).click()
    await dialog('API token monitoring')
      .getByText(/^sy-api-/)
      .waitFor()
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(keys[1])
    await button('Done').click()
    await page.getByRole('row', { name: /monitoring/ }).waitFor()
    await button('Actions for monitoring').click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await dialog('Revoke monitoring?').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No API tokens yet').waitFor()
  },
)

test('an invitation creates an account once, and its user appears without a reload', async () => {
  await signIn(page)
  await page.goto('/admin/users')
  await page.getByRole('table', { name: 'Users' }).waitFor()
  await button('Invite').click()
  const invite = dialog('Invite a user')
  await invite.getByLabel('Email').fill('ines@example.com')
  await invite.getByLabel('Name').fill('Ines')
  await invite.getByRole('button', { name: 'Create invitation' }).click()
  const link = await dialog('Invitation for ines@example.com').locator('code').innerText()
  await button('Done').click()

  const guest = await open(browser, installation.url)
  await guest.page.goto(link)
  await guest.page.getByText('ines@example.com').waitFor()
  expect(guest.page.url()).not.toContain('#')
  await guest.page.getByLabel('Password', { exact: true }).fill('twelve or more characters')
  await guest.page.getByRole('button', { name: 'Create account' }).click()
  await guest.page.getByRole('heading', { level: 1, name: 'Your account is ready' }).waitFor()
  await page.getByRole('row', { name: /ines@example\.com/ }).waitFor()
  await guest.page.goto(link)
  await guest.page
    .getByRole('alert')
    .getByText(/^This invitation was accepted already/)
    .waitFor()
  await signIn(guest.page, { email: 'ines@example.com', password: 'twelve or more characters' })
  await guest.context.close()
  expect(guest.errors).toEqual([])
})

longTest(
  'a viewer sees the name of the role and who can give another one, and no page of admins',
  async () => {
    await signIn(page, person('vera'))
    await page.goto('/profile')
    await page.getByText('Viewer', { exact: true }).waitFor()
    await page
      .getByRole('region', { name: 'Who can give you another role' })
      .getByText(admin.email)
      .waitFor()
    await button(/Profile$/).click()
    const entry = page.getByRole('menuitem', { name: /^Admin/ })
    expect(await entry.getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    for (const path of ['/admin/users', '/audit']) {
      await page.goto(path)
      await page.getByText(/^You are a viewer\. Another role is given by/).waitFor()
    }
  },
)

longTest('an admin sees all sessions, ends one, and finds it in the audit log', async () => {
  const other = await open(browser, installation.url)
  await signIn(other.page, person('vera'))
  await signIn(page)
  await page.goto('/admin/sessions')
  await page
    .getByRole('row', { name: /vera@/ })
    .first()
    .getByRole('button', { name: /^Actions for/ })
    .click()
  await page.getByRole('menuitem', { name: 'End session' }).click()
  await dialog(/^End the session of vera/)
    .getByRole('button', { name: 'End session' })
    .click()
  await dialog(/^End the session of vera/).waitFor({ state: 'detached' })
  await other.page.getByText('Session expired. Please sign in again.').first().waitFor()
  await page.goto(`/audit?action=session.ended`)
  await page.getByRole('row', { name: /vera@/ }).first().waitFor()
  await other.context.close()
})
