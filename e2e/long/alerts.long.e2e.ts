/** Channels and messages, as an admin meets them in the browser. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { closePages, launch, open, signIn, tell } from '../browser.ts'
import { admin, type Installation, startInstallation } from '../installation.ts'

let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]

const received: string[] = []
const receiver = createServer((request, response) => {
  received.push(String(request.headers['webhook-signature']))
  request.resume().on('end', () => response.end('told the night shift'))
})

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  ;[installation, browser] = await Promise.all([
    startInstallation({
      servers: 1,
      settings: () => Promise.resolve({ STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' }),
    }),
    launch(),
  ])
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
  receiver.closeAllConnections()
  receiver.close()
})
beforeEach(async () => {
  ;({ context, page, errors } = await open(browser, installation.url))
  await signIn(page, admin)
})
afterEach(async ({ task }) => {
  await tell(page, task.result?.state)
  await context.close()
  expect(errors.splice(0)).toEqual([])
})

test('an admin adds a webhook with the keyboard alone, sends a test, and reads the answer of the receiver', async () => {
  await page.goto('/alerts/channels')
  await page.getByRole('heading', { name: 'Nobody is notified yet' }).waitFor()
  const add = page.getByRole('button', { name: 'Add channel' })
  await add.focus()
  await page.keyboard.press('Enter')
  const form = page.getByRole('dialog', { name: 'Add channel' })
  await form.getByLabel('Name').focus()
  await page.keyboard.type('on-call')
  await form.getByLabel('URL').focus()
  await page.keyboard.type('http://169.254.169.254/latest')
  await page.keyboard.press('Enter')
  // The API's refusal stands at the field.
  await form.getByText('STEELYARD_ALERT_NETWORKS').waitFor()
  await form
    .getByLabel('URL')
    .fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in`)
  await page.keyboard.press('Enter')
  await page.getByText('on-call was added: send a test').waitFor()
  const row = page.getByRole('row').filter({ hasText: 'on-call' })
  await row.getByText('Not tested').waitFor()
  await page.getByRole('button', { name: 'Actions for on-call' }).click()
  await page.getByRole('menuitem', { name: 'Send a test' }).click()
  await page.getByText('A test message arrived at on-call').waitFor()
  await row.getByText('Works').waitFor()
  expect(received).toEqual([expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)])

  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByRole('button', { name: 'Actions for Test message of Steelyard' }).click()
  await page.getByRole('menuitem', { name: 'Show' }).click()
  const message = page.getByRole('dialog', { name: 'Test message of Steelyard' })
  await message.getByText('told the night shift').waitFor()
  await message.getByText('status 200').waitFor()
})
