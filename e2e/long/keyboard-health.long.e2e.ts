/** What is wrong, what happened and who is told, by keyboard alone. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alertRuleList } from '#contract/alerts/rules.ts'
import { silenceList } from '#contract/alerts/silences.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { closePages, inOneStory, launch, open, signIn } from '../browser.ts'
import { admin, type Installation, startInstallation } from '../installation.ts'
import { type Keys, keysOf } from '../keys.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let keys: Keys
let server: Server

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation({ servers: 3 }), launch()])
  server = (await installation.call(serverList, { query: {} })).items[0]!
  await installation.simulator(`/servers/${server.identity.uuid}/power-off`, {})
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page, admin)
  keys = keysOf(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const button = (name: string | RegExp) => page.getByRole('button', { name })
const link = (name: string | RegExp) => page.getByRole('link', { name, exact: true })
const rowsOf = (table: string) =>
  page.getByRole('table', { name: table, exact: true }).locator('tr[data-row]')

test(
  'a finding is followed from the overview to its server, and its details open and close in the list',
  { timeout: 300_000 },
  async () => {
    const { enter, tabTo, key, focused } = keys
    await page.goto('/')
    const line = page.getByRole('main').getByRole('listitem').filter({ hasText: 'No answer since' })
    // A free server is contacted every two minutes.
    await line.first().waitFor({ timeout: 240_000 })
    await enter(line.getByRole('link', { name: server.name }).first())
    await page.getByRole('heading', { level: 1, name: server.name }).waitFor()
    await page.goto('/findings')
    const row = rowsOf('Findings').first()
    await tabTo(row)
    await key('Space')
    await page.getByText('Server unreachable').last().waitFor()
    await key('Space')
    await focused(row)
  },
)

test('the history of a server is searched, an entry is opened, and the focus returns from the choice of a period', async () => {
  const { enter, tabTo, key, type, focused } = keys
  await page.goto(`/infra/servers/${server.id}`)
  await enter(
    page.getByRole('navigation', { name: 'Server' }).getByRole('link', { name: 'History' }),
  )
  const rows = rowsOf('History entries')
  await rows.first().waitFor()
  await key('/')
  await type('No answer')
  await rows.filter({ hasText: 'Added at' }).waitFor({ state: 'detached' })
  await tabTo(rows.first())
  await key('Space')
  await page.getByText('After', { exact: true }).waitFor()
  await key('Space')
  await enter(button('Choose a period'), 'Shift+Tab')
  const dialog = page.getByRole('dialog', { name: 'Choose a period' })
  await dialog.waitFor()
  await key('Escape')
  await dialog.waitFor({ state: 'detached' })
  await focused(button('Choose a period'))
})

test('the figures of a server are shown for another period', async () => {
  const { enter, choose } = keys
  await page.goto(`/infra/servers/${server.id}`)
  await enter(
    page.getByRole('navigation', { name: 'Server' }).getByRole('link', { name: 'Overview' }),
  )
  await choose(page.getByRole('combobox', { name: 'Period' }), 'Last 7 days')
  await page
    .getByText(/in this period/)
    .first()
    .waitFor()
})

test('a rule and a silence are added, and the deliveries are read', async () => {
  const { enter, tabTo, key, type } = keys
  await page.goto('/alerts/channels')
  await enter(link('Rules'))
  await enter(button('Add rule'))
  const rule = page.getByRole('dialog', { name: 'Add rule' })
  await tabTo(rule.getByLabel('Name'))
  await type('nights')
  await key('Enter')
  await page.getByText('nights was added').waitFor()
  expect(
    (await installation.call(alertRuleList, { query: {} })).items.map((r) => r.name),
  ).toContain('nights')

  await enter(link('Silences'), 'Shift+Tab')
  await enter(button('Add silence').first())
  const silence = page.getByRole('dialog', { name: 'Add silence' })
  await tabTo(silence.getByLabel('Why'))
  await type('Works in the hall')
  await tabTo(silence.getByRole('checkbox', { name: 'Attention' }))
  await key('Space')
  await enter(silence.getByRole('button', { name: 'Add silence' }))
  await page.getByText('The silence was added').waitFor()
  expect(
    (await installation.call(silenceList, { query: {} })).items.map((s) => [s.note, s.severities]),
  ).toEqual([['Works in the hall', ['attention']]])

  await enter(link('Deliveries'), 'Shift+Tab')
  await page.getByRole('heading', { name: 'No messages yet' }).waitFor()
})
