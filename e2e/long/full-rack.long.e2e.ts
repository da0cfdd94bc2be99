/** A rack of 42 units with 30 servers, by keyboard alone. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Rack, rackCreate, rackGet, serverPlace } from '#contract/racks/racks.ts'
import { type Server, serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { closePages, expectAccessible, inOneStory, launch, open, shot, signIn } from '../browser.ts'
import { type Installation, startInstallation } from '../installation.ts'
import { type Keys, keysOf } from '../keys.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let keys: Keys
let servers: Server[]
let rack: Rack

const chassis = (unit: number, height: number, bays: number) =>
  Array.from({ length: bays }, (_, i) => ({ unit, height, bay: String(bays - i) }))
/**
 * From below, in a chassis from the last bay: four servers in two units, seven in four, servers of
 * two units, and of one; the last one is not placed yet.
 */
const places: { unit: number; height: number; bay?: string }[] = [
  ...chassis(1, 2, 4),
  ...chassis(3, 4, 7),
  ...Array.from({ length: 17 }, (_, i) => ({ unit: 2 * i + 7, height: 2 })),
  { unit: 41, height: 1 },
  { unit: 42, height: 1 },
]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({ servers: 30, speed: 20 }),
    launch(),
  ])
  const { call } = installation
  const all = (await call(serverList, { query: { sort: 'name' } })).items
  const site = all.find(({ datacenter }) => datacenter !== null)!.datacenter!
  for (const { id, datacenter } of all)
    if (datacenter?.id !== site.id)
      await call(serverUpdate, { params: { id }, body: { datacenter_id: site.id } })
  servers = all
  rack = await call(rackCreate, { body: { name: 'B-01', datacenter_id: site.id } })
  for (const [i, place] of places.slice(0, 29).entries())
    await call(serverPlace, {
      params: { id: servers[i]!.id },
      body: { rack_id: rack.id, ...place },
    })
  ;({ page, errors } = await open(browser, installation.url))
  await signIn(page)
  keys = keysOf(page)
}, 300_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const picture = () => page.getByRole('group', { name: /^Rack B-01/ })
const shelf = (name: RegExp) => picture().getByRole('button', { name })
const shelfOf = (at: number): RegExp => {
  const { unit, height, bay } = places[at]!
  const units = height === 1 ? `Unit ${unit}` : `Units ${unit} to ${unit + height - 1}`
  return new RegExp(`^${units}${bay === undefined ? '' : `, bay ${bay}`}: ${servers[at]!.name}, `)
}

test('each of thirty servers is reached with the arrows, and the last place is taken by keyboard', async () => {
  const { key, focused, tabTo, choose, enter } = keys
  expect(servers).toHaveLength(30)
  await page.goto(`/infra/racks/${rack.id}`)
  await expect.poll(() => picture().getByRole('button').count()).toBe(30)
  await tabTo(shelf(/^Unit 42: free/))
  await key('End')
  for (let at = 0; at < 29; at++) {
    await focused(shelf(shelfOf(at)))
    await key('ArrowLeft')
  }
  await focused(shelf(/^Unit 42: free/))
  await key('Enter')
  const dialog = page.getByRole('dialog', { name: 'Place a server in B-01' })
  await choose(dialog.getByLabel('Server'), servers[29]!.name)
  await enter(dialog.getByRole('button', { name: 'Place', exact: true }))
  await dialog.waitFor({ state: 'detached' })
  await focused(shelf(shelfOf(29)))
  const { placement } = await installation.call(serverGet, { params: { id: servers[29]!.id } })
  expect(placement).toMatchObject({ rack: { name: 'B-01' }, unit: 42, height: 1 })
  expect(await installation.call(rackGet, { params: { id: rack.id } })).toMatchObject({
    units: 42,
    free_units: 0,
  })
})

test('the full rack is accessible and not too wide at four widths, in both themes', async () => {
  for (const width of [375, 744, 1280, 1920])
    for (const theme of ['dark', 'light']) {
      await page.setViewportSize({ width, height: 900 })
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
      await shot(page, `full-rack-${width}-${theme}`)
      const wider = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect({ width, wider }).toEqual({ width, wider: 0 })
      await expectAccessible(page, `the full rack at ${width} px, ${theme}`)
    }
})
