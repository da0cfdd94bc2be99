/** Labels, notes and quarantine of servers in the browser. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serverGet, serverList, type ListedServer } from '#contract/servers/servers.ts'
import { longTests } from '../tools/testing/length.ts'
import { longTest } from '../tools/testing/long-test.ts'
import {
  closePages,
  expectAccessible,
  inOneStory,
  launch,
  open,
  shot,
  signIn,
  widths,
} from './browser.ts'
import { type Installation, sharedUnlessFull } from './installation.ts'
import { rowAction } from './screens/acts.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let servers: readonly ListedServer[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    sharedUnlessFull({ servers: 3, speed: 20 }),
    launch(),
  ])
  servers = (await installation.call(serverList, { query: { sort: 'name' } })).items
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

/** Widths at which the screens are looked at. */
const opened = longTests ? widths : [375, 1280]

const labelsOf = async (i: number) =>
  (await installation.call(serverGet, { params: { id: servers[i]!.id } })).labels
const field = (dialog: ReturnType<Page['getByRole']>, name: string) =>
  dialog.getByRole('combobox', { name })
const rows = () => page.getByRole('table', { name: 'Servers' }).getByRole('row')

test('labels and notes are added on the page of a server, and taken back by Undo', async () => {
  await page.goto(`/infra/servers/${servers[0]!.id}`)
  await page.getByRole('button', { name: 'Add labels or notes' }).click()
  const dialog = page.getByRole('dialog', { name: `Labels and notes of ${servers[0]!.name}` })
  await field(dialog, 'Labels').fill('rack=3 gen=r640 ')
  await dialog.getByRole('textbox', { name: 'Notes' }).fill('Its fan hums')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const section = page.getByRole('region', { name: 'Labels and notes' })
  await section.getByRole('link', { name: 'rack=3' }).waitFor()
  await section.getByText('Its fan hums').waitFor()
  expect(await labelsOf(0)).toEqual({ rack: '3', gen: 'r640' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: 'Add labels or notes' }).waitFor()
  expect(await labelsOf(0)).toEqual({})
})

longTest('a label that breaks a rule is refused at its field, and nothing is sent', async () => {
  await page.getByRole('button', { name: 'Add labels or notes' }).click()
  const dialog = page.getByRole('dialog', { name: /^Labels and notes of/ })
  await field(dialog, 'Labels').fill('☃=1,')
  await dialog.getByText(/^☃: A label key has up to 63 letters/).waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await field(dialog, 'Labels').and(page.locator('[aria-invalid]:focus')).waitFor()
  await dialog.getByRole('button', { name: 'Remove label ☃=1' }).click()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await labelsOf(0)).toEqual({})
})

longTest(
  'labels of selected servers are set together, and the list is filtered by them',
  async () => {
    await page.goto('/infra/servers')
    for (const { name } of servers.slice(0, 2))
      await page.getByRole('checkbox', { name: `Select ${name}` }).check({ force: true })
    await page.getByRole('button', { name: 'Labels', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Labels of 2 servers' })
    await field(dialog, 'Set').fill('env=prod ')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await Promise.all([0, 1, 2].map(labelsOf))).toEqual([
      { env: 'prod' },
      { env: 'prod' },
      {},
    ])

    await page.getByRole('button', { name: 'Filters', exact: true }).click()
    const form = page.getByRole('form', { name: 'Filter by labels' })
    await field(form, 'Labels').fill('env=')
    await form.locator('option[value="env=prod"]').waitFor({ state: 'attached' })
    await field(form, 'Labels').fill('env=prod;x')
    await form.getByRole('button', { name: 'Apply' }).click()
    await form.getByText(/^Conditions on labels look like rack=3/).waitFor()
    await field(form, 'Labels').fill('env=prod')
    await field(form, 'Labels').press('Enter')
    await expect.poll(() => rows().count()).toBe(3)
    expect(new URL(page.url()).searchParams.get('label')).toBe('env=prod')
  },
)

longTest('a chip of a label in the list shows the servers that have it', async () => {
  await page.goto('/infra/servers')
  await page.getByRole('button', { name: 'View', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Columns' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Labels' }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'env=prod' }).first().click()
  await expect.poll(() => new URL(page.url()).searchParams.get('label')).toBe('env=prod')
  await expect.poll(() => rows().count()).toBe(3)
  for (const width of opened) {
    await page.setViewportSize({ width, height: 800 })
    await expectAccessible(page, `the list of servers with labels at ${width} px`)
    await shot(page, `labels-in-list-${width}`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
})

test('a server is put into quarantine with a reason, is found by it, and the quarantine is lifted', async () => {
  const { id, name } = servers[0]!
  await page.goto('/infra/servers')
  await rowAction(page, name, 'Quarantine')
  const dialog = page.getByRole('dialog', { name: `Put ${name} into quarantine` })
  await dialog.getByRole('button', { name: 'Quarantine' }).click()
  await dialog.getByText('Say why the server is not to be used').waitFor()
  await dialog.getByRole('textbox', { name: 'Why it is not to be used' }).fill('Its disk sda fails')
  await dialog.getByRole('button', { name: 'Quarantine' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.goto('/infra/servers?quarantine=true')
  await expect.poll(() => rows().count()).toBe(2)
  await rows().nth(1).getByText('Quarantine').waitFor()
  await page.goto(`/infra/servers/${id}`)
  const notice = page.getByRole('status').filter({ hasText: 'In quarantine since' })
  await notice.getByText(/by .+@.+: Its disk sda fails\./).waitFor()
  for (const width of opened) {
    await page.setViewportSize({ width, height: 800 })
    await expectAccessible(page, `a server in quarantine at ${width} px`)
    await shot(page, `server-in-quarantine-${width}`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  await notice.getByRole('button', { name: 'Lift quarantine' }).click()
  const lifting = page.getByRole('dialog', { name: `Lift the quarantine of ${name}?` })
  await lifting.getByRole('button', { name: 'Lift quarantine' }).click()
  await lifting.waitFor({ state: 'detached' })
  await notice.waitFor({ state: 'detached' })
  const { quarantine } = await installation.call(serverGet, { params: { id } })
  expect(quarantine).toBeNull()
})
