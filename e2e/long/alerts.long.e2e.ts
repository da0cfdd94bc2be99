/** Channels, rules, silences and messages, as an admin meets them in the browser. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { alertRuleList } from '#contract/alerts/rules.ts'
import { silenceList } from '#contract/alerts/silences.ts'
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
  await tell(page, task)
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

const severity = (form: Locator, name: string) =>
  form.getByRole('group', { name: 'Severities' }).last().getByRole('checkbox', { name })
const row = (text: string) => page.getByRole('row').filter({ hasText: text })

test('a rule is added, with a sentence at each field that is wrong, then changed, paused and resumed', async () => {
  const rules = async () => (await installation.call(alertRuleList, { query: {} })).items
  const before = await rules()
  await page.goto('/alerts/rules')
  await page.getByRole('button', { name: 'Add rule' }).click()
  const form = page.getByRole('dialog', { name: 'Add rule' })
  const add = form.getByRole('button', { name: 'Add rule' })
  await form.getByLabel('When it has lasted').fill('-5')
  await form.getByLabel('Remind after').fill('999')
  await form.getByRole('checkbox', { name: /^Notify every channel/ }).uncheck()
  await add.click()
  for (const wrong of [
    /^Rule name must/,
    'Wait for 0 to 1440 minutes',
    'Remind after 1 to 168 hours',
    'Choose a channel',
  ])
    await form.getByText(wrong).waitFor()
  await form.getByLabel('Name').fill(before[0]!.name)
  await form.getByLabel('When it has lasted').fill('10')
  await form.getByLabel('Remind after').fill('')
  await form.getByRole('checkbox', { name: 'on-call' }).check()
  await add.click()
  // The API refuses a name that another rule has.
  await form.getByText('Rule name already exists. Please choose a different name.').waitFor()
  expect(await rules()).toEqual(before)

  await form.getByLabel('Name').fill('nights')
  await severity(form, 'Attention').check()
  await add.click()
  await page.getByText('nights was added').waitFor()
  await row('nights').getByText('after 10 min').waitFor()
  await row('nights').getByText('Active').waitFor()

  const act = async (name: string) => {
    await page.getByRole('button', { name: 'Actions for nights' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await act('Edit')
  const edit = page.getByRole('dialog', { name: 'Edit nights' })
  await edit.getByLabel('When it has lasted').fill('0')
  await edit.getByRole('button', { name: 'Save rule' }).click()
  await row('nights').getByText('at once').waitFor()
  await act('Pause')
  await row('nights').getByText('Paused').waitFor()
  await act('Resume')
  await row('nights').getByText('Active').waitFor()
  expect((await rules()).find((one) => one.name === 'nights')).toMatchObject({
    severities: ['down', 'degraded', 'attention'],
    channels: [{ name: 'on-call' }],
    wait_minutes: 0,
    remind_hours: null,
    paused: false,
  })
})

test('a silence of later and one of now are added, with a sentence at each field that is wrong', async () => {
  await page.goto('/alerts/silences')
  await page.getByRole('heading', { name: 'Nothing is silenced' }).waitFor()
  const opened = async () => {
    await page.getByRole('button', { name: 'Add silence' }).first().click()
    return page.getByRole('dialog', { name: 'Add silence' })
  }
  const form = await opened()
  const add = form.getByRole('button', { name: 'Add silence' })
  await form.getByLabel('Starts').fill('2031-05-02T08:00')
  await form.getByLabel('Ends').fill('2031-05-01T08:00')
  await add.click()
  for (const wrong of [
    'Say why it is silenced',
    'Choose what is silenced; name all severities to silence everything',
    'The end is before the start',
  ])
    await form.getByText(wrong).waitFor()
  expect((await installation.call(silenceList, { query: {} })).total).toBe(0)
  await form.getByLabel('Why').fill('Works in the hall')
  await form.getByLabel('Ends').fill('2031-05-03T08:00')
  for (const name of ['Down', 'Degraded', 'Attention']) await severity(form, name).check()
  await add.click()
  await page.getByText('The silence was added').waitFor()
  await row('Works in the hall').getByText('Waiting').waitFor()
  const { items } = await installation.call(silenceList, { query: {} })
  expect(items).toMatchObject([
    {
      // The fields have the times of the browser.
      starts_at: new Date('2031-05-02T08:00').toISOString(),
      ends_at: new Date('2031-05-03T08:00').toISOString(),
      severities: ['down', 'degraded', 'attention'],
      by: admin.email,
    },
  ])

  const now = await opened()
  await now.getByLabel('Why').fill('Works on the rack')
  for (const name of ['Down', 'Degraded', 'Attention']) await severity(now, name).check()
  await now.getByRole('button', { name: 'Add silence' }).click()
  await row('Works on the rack').getByText('Active').waitFor()
})
