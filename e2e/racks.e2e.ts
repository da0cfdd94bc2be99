/** A rack of 42 units, by keyboard alone. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Rack, rackList, serverPlace, serverUnplace } from '#contract/racks/racks.ts'
import { type Server, serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, expectAccessible, inOneStory, launch, open, shot, signIn } from './browser.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type Keys, keysOf } from './keys.ts'
import { looks } from './testing/looks.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let keys: Keys
let servers: Server[]
let rack: Rack

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({ servers: 4, speed: 20 }),
    launch(),
  ])
  const { call } = installation
  const all = (await call(serverList, { query: {} })).items
  const site = all.find(({ datacenter }) => datacenter !== null)!.datacenter!
  for (const { id, datacenter } of all)
    if (datacenter?.id !== site.id)
      await call(serverUpdate, { params: { id }, body: { datacenter_id: site.id } })
  servers = (await call(serverList, { query: { sort: 'name' } })).items
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page)
  keys = keysOf(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const picture = () => page.getByRole('group', { name: /^Rack A-07/ })
const shelf = (name: string | RegExp) => picture().getByRole('button', { name })

test('a rack is added by keyboard alone', async () => {
  const { tabTo, enter, choose, type, key } = keys
  await page.goto('/infra/racks')
  await enter(page.getByRole('button', { name: 'Add rack' }))
  const dialog = page.getByRole('dialog', { name: 'Add rack' })
  await choose(dialog.getByLabel('Datacenter'), servers[0]!.datacenter!.code)
  await tabTo(dialog.getByRole('textbox', { name: 'Name' }))
  await type('A-07')
  await key('Enter')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'A-07' }).first().waitFor()
  rack = (await installation.call(rackList, { query: {} })).items[0]!
  expect(rack).toMatchObject({ name: 'A-07', units: 42, free_units: 42 })
})

test('the picture shows placements as they come, and each unit can be reached with the arrows', async () => {
  const { key, focused, tabTo } = keys
  const placed = servers.slice(0, 3)
  for (const [i, { id }] of placed.entries())
    await installation.call(serverPlace, {
      params: { id },
      body: { rack_id: rack.id, unit: i + 1, height: 1 },
    })
  await page.goto(`/infra/racks/${rack.id}`)
  await expect.poll(() => picture().getByRole('button').count()).toBe(42)
  await tabTo(shelf('Unit 42: free'))
  await key('ArrowDown')
  await focused(shelf('Unit 41: free'))
  await key('End')
  await focused(shelf(new RegExp(`^Unit 1: ${servers[0]!.name}, `)))
  for (let unit = 2; unit <= 42; unit++) {
    await key('ArrowUp')
    await focused(shelf(new RegExp(`^Unit ${unit}: `)))
  }
  await key('ArrowUp')
  await focused(shelf('Unit 42: free'))
})

test('a server is placed by keyboard alone, and a taken unit is refused with its holder', async () => {
  const { key, focused, choose, tabTo, type, enter } = keys
  const last = servers[3]!
  for (let unit = 41; unit >= 4; unit--) await key('ArrowDown')
  await focused(shelf('Unit 4: free'))
  await key('Enter')
  const dialog = page.getByRole('dialog', { name: 'Place a server in A-07' })
  await choose(dialog.getByLabel('Server'), last.name)
  const unit = dialog.getByRole('textbox', { name: 'Lowest unit' })
  await tabTo(unit)
  await key('Control+a')
  await type('3')
  await key('Enter')
  await dialog.getByText(`${servers[2]!.name} stands in A-07 at unit 3`).first().waitFor()
  await tabTo(unit, 'Shift+Tab')
  await key('Control+a')
  await type('4')
  await key('Enter')
  await dialog.waitFor({ state: 'detached' })
  const now = shelf(new RegExp(`^Unit 4: ${last.name}, free to use`))
  await focused(now)
  const { placement } = await installation.call(serverGet, { params: { id: last.id } })
  expect(placement).toMatchObject({ rack: { name: 'A-07' }, unit: 4, height: 1 })
  await key('Enter')
  await page.getByRole('heading', { level: 1, name: last.name }).waitFor()
  await enter(page.getByRole('link', { name: 'A-07, unit 4' }))
  await picture().waitFor()
})

longTest('places are imported as CSV: checked first, then written', async () => {
  await page.goto('/infra/racks')
  await page.getByRole('button', { name: 'More actions' }).first().click()
  await page.getByRole('menuitem', { name: 'Import racks' }).click()
  const dialog = page.getByRole('dialog', { name: 'Import racks' })
  const [a, b] = servers
  // Two servers exchange their places, and a rack is added.
  const csv = (unit: number) =>
    `server,rack,unit,datacenter\n${a!.name},A-07,2,\n${b!.name},A-07,${unit},\n,A-08,,${a!.datacenter!.code}\n`
  await dialog.getByRole('textbox', { name: 'CSV' }).fill(csv(3))
  await dialog.getByRole('button', { name: 'Check' }).click()
  await dialog.getByText(`${servers[2]!.name} stands in A-07 at unit 3`).waitFor()
  await dialog.getByRole('textbox', { name: 'CSV' }).fill(csv(1))
  await dialog.getByRole('button', { name: 'Check' }).click()
  await dialog.getByText('Every row is valid: 1 rack to add, 2 servers to change.').waitFor()
  await expectAccessible(page, 'the import of racks')
  await shot(page, 'rack-import')
  await dialog.getByRole('button', { name: 'Import 3 rows' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'A-08' }).first().waitFor()
  const placed = await Promise.all(
    [a!, b!].map(({ id }) => installation.call(serverGet, { params: { id } })),
  )
  expect(placed.map(({ placement }) => placement!.unit)).toEqual([2, 1])
})

longTest('servers share a chassis, each in a bay that the arrows reach', async () => {
  const { key, focused, choose, tabTo, type } = keys
  const [one, two, three, last] = servers as [Server, Server, Server, Server]
  await installation.call(serverUnplace, { params: { id: last.id } })
  for (const [i, { id }] of [one, two, three].entries())
    await installation.call(serverPlace, {
      params: { id },
      body: { rack_id: rack.id, unit: 20, height: 2, bay: String(i + 1) },
    })
  await page.goto(`/infra/racks/${rack.id}`)
  await page.getByRole('button', { name: `Actions for ${three.name}` }).click()
  await page.getByRole('menuitem', { name: 'Place another in its chassis' }).click()
  const dialog = page.getByRole('dialog', { name: 'Place a server in A-07' })
  await choose(dialog.getByLabel('Server'), last.name)
  const bay = dialog.getByRole('textbox', { name: 'Bay' })
  await tabTo(bay)
  await type('2')
  await key('Enter')
  await dialog
    .getByText(`${two.name} stands in A-07 at units 20 to 21, bay 2. Give another bay`)
    .first()
    .waitFor()
  await expectAccessible(page, 'a bay that is taken')
  await shot(page, 'rack-bay-taken')
  await tabTo(bay, 'Shift+Tab')
  await key('Control+a')
  await type('4')
  await key('Enter')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('row', { name: `20–21 ${last.name} bay 4` }).waitFor()
  const inBay = (n: number) => shelf(new RegExp(`^Units 20 to 21, bay ${n}: `))
  await shelf('Unit 22: free').focus()
  for (const [arrow, n] of [
    ['ArrowDown', 1],
    ['ArrowRight', 2],
    ['ArrowDown', 4],
    ['ArrowLeft', 3],
    ['ArrowUp', 1],
  ] as const) {
    await key(arrow)
    await focused(inBay(n))
  }
})

test('a rack is accessible and not too wide on a phone and on a desk', async () => {
  for (const [width, theme] of looks) {
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
    await shot(page, `rack-${width}-${theme}`)
    const wider = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect({ width, wider }).toEqual({ width, wider: 0 })
    await expectAccessible(page, `rack at ${width} px, ${theme}`)
  }
})
