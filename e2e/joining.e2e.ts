/**
 * Servers that join by themselves, for a new user: a datacenter, a join token, an image, and
 * machines that boot it. Then the cases that can go wrong.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { imageList } from '#contract/images.ts'
import { joinTokenArrivals, joinTokenList } from '#contract/join-tokens.ts'
import { type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, inOneStory, launch, open, signIn } from './browser.ts'
import { type Installation, startInstallation, until } from './installation.ts'

interface Booted {
  name: string
  address: string
  uuid: string
  serial: string
}

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
/** Kernel command line of the prepared image, as the page shows it. */
let commandLine: string
let booted: Booted[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({ servers: 4, speed: 5 }),
    launch(),
  ])
  const watched = await open(browser, installation.url)
  ;({ page, errors } = watched)
  await watched.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await signIn(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const run = promisify(execFile)
/** Runs `npm run simulate -- …`. */
const simulate = async (...words: string[]): Promise<string> =>
  (
    await run(process.execPath, [
      'simulator/src/main.ts',
      ...words,
      '--data',
      join(installation.data, 'simulator'),
    ])
  ).stdout
const go = (to: string) =>
  page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: to }).click()
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const table = (name: string) => page.getByRole('table', { name, exact: true })
const notice = (text: string | RegExp) => page.getByRole('listitem').filter({ hasText: text })
const generated = () => page.getByRole('region', { name: 'Generated image' })
const snippet = (name: string) => generated().getByRole('region', { name })
const fleet = async (): Promise<Server[]> =>
  (await installation.call(serverList, { query: {} })).items
const tokenId = async (name: string): Promise<string> =>
  (await installation.call(joinTokenList, { query: { q: name } })).items.find(
    (t) => t.name === name,
  )!.id
/** Drafts that this browser has stored. */
const keptDrafts = (): Promise<string> =>
  page.evaluate(`new Promise((resolve) => {
    const opened = indexedDB.open('steelyard')
    opened.onsuccess = () => {
      const all = opened.result.transaction('drafts').objectStore('drafts').getAll()
      all.onsuccess = () => { opened.result.close(); resolve(JSON.stringify(all.result)) }
    }
  })`)
/** The value of the option whose text begins with the given text. */
const option = (select: string, text: RegExp) =>
  page.getByLabel(select, { exact: true }).getByRole('option', { name: text }).getAttribute('value')

async function choose(select: string, text: RegExp): Promise<void> {
  await page.getByLabel(select, { exact: true }).selectOption(await option(select, text))
}

async function addExtension(name: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Search extensions' }).fill(name)
  await page.getByRole('checkbox', { name: new RegExp(`^${name}`) }).check()
  await page
    .getByRole('list', { name: 'Chosen extensions' })
    .getByText(name, { exact: true })
    .waitFor()
}

describe('servers that join by themselves', () => {
  test('the form shows the code of a new datacenter before it is added', async () => {
    await go('Datacenters')
    await page.getByRole('button', { name: 'Add datacenter' }).first().click()
    const form = dialog('Add datacenter')
    await form.getByLabel('Country code').fill('pl')
    await form.getByLabel('City code').fill('waw')
    await form.getByText('PL-WAW-…').waitFor()
    await form.getByLabel('Latitude').fill('52.23')
    await form.getByRole('button', { name: 'Add datacenter' }).click()
    await form.getByText('Enter both latitude and longitude, or neither').waitFor()
    await form.getByText('Enter the name of the city').waitFor()
    await form.getByLabel('City', { exact: true }).fill('Warsaw')
    await form.getByLabel('Longitude').fill('21.01')
    await form.getByLabel('Facility').fill('Equinix WA1')
    await form.getByLabel('Power').fill('2400')
    await form.getByLabel('Racks').fill('40')
    await form.getByRole('button', { name: 'Add datacenter' }).click()
    await notice('PL-WAW-1 was added').waitFor()
    await table('Datacenters').getByRole('button', { name: 'Details of PL-WAW-1' }).click()
    await table('Datacenters').getByText('Equinix WA1').waitFor()
    await table('Datacenters').getByText('2400 kW').waitFor()
  })

  test('an image with two extensions and a new join token is generated, and the image factory confirms it', async () => {
    await go('Servers')
    await page.getByRole('button', { name: 'Add servers' }).click()
    await page.getByRole('menuitem', { name: 'Prepare image' }).click()
    await page
      .getByRole('heading', { level: 1, name: 'Talos OS Image Configuration' })
      .first()
      .waitFor()
    await page.getByText('Simulated image factory: these files boot no real machine').waitFor()

    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByText('Choose a join token, or none', { exact: true }).waitFor()

    await choose('Datacenter', /^PL-WAW-1/)
    await page.getByRole('button', { name: 'New token' }).click()
    const making = dialog('Create join token')
    await making.getByLabel('Name').fill('Rack 7')
    await making.getByRole('button', { name: 'Create token' }).click()
    await making.getByText(/Join token name can only contain/).waitFor()
    await making.getByLabel('Name').fill('warsaw-rack-7')
    await making.getByLabel('Uses').fill('5')
    await making.getByRole('button', { name: 'Create token' }).click()
    await making.waitFor({ state: 'detached' })
    await page.getByText(/^0 of 5 used.*announce themselves in PL-WAW-1/).waitFor()

    await addExtension('iscsi-tools')
    await addExtension('amd-ucode')
    const args = page.getByLabel('Extra kernel arguments')
    await args.fill('console=ttyS0,115200\ntalos.platform=aws')
    await args.blur()
    await page.getByText('Line 2: This argument is set by Steelyard').waitFor()
    await args.fill('console=ttyS0,115200')
    await page.getByRole('button', { name: 'Generate' }).click()
    await generated().getByText('Confirmed by the image factory').waitFor()

    const schematic = (await snippet('Schematic').locator('pre').innerText()).trimEnd()
    for (const part of [
      '- siderolabs/amd-ucode',
      '- siderolabs/iscsi-tools',
      'console=ttyS0,115200',
    ])
      expect(schematic).toContain(part)
    const id = createHash('sha256').update(`${schematic}\n`).digest('hex')
    await generated().getByRole('region', { name: 'Schematic id' }).getByText(id).waitFor()
    expect(await snippet('PXE script').locator('pre').innerText()).toContain(id)
    for (const format of ['ISO', 'PXE', 'RAW', 'QCOW2']) {
      const link = await generated()
        .getByRole('link', { name: `Open the ${format} link` })
        .getAttribute('href')
      expect(await fetch(link!)).toMatchObject({ status: 200 })
    }

    await snippet('Kernel command line')
      .getByRole('button', { name: 'Copy kernel command line' })
      .click()
    await snippet('Kernel command line').getByText('Copied').waitFor()
    commandLine = await page.evaluate('navigator.clipboard.readText()')
    expect(commandLine).toMatch(
      /^talos\.platform=metal .*talos\.config=http:\S+\/join\/sy-join-[\w-]{22}\?uuid=\$\{uuid\}&serial=\$\{serial\}&mac=\$\{mac\}/,
    )
    await page.reload()
    await generated().getByText('Confirmed by the image factory').waitFor()
  })

  test('four servers that boot with the shown command line are listed within 30 s, in the right datacenter, with their hardware', async () => {
    await go('Servers')
    await page.getByRole('heading', { level: 1, name: /^Servers\s*4$/ }).waitFor()
    booted = (
      JSON.parse(await simulate('--boot-with', commandLine, '--count', '4', '--json')) as {
        servers: Booted[]
      }
    ).servers
    expect(booted).toHaveLength(4)
    await page.getByText(/^4 servers joined: /).waitFor()
    await page.getByRole('heading', { level: 1, name: /^Servers\s*8$/ }).waitFor()
    // Measure from the last announcement: how long machines take to boot depends on the simulator.
    const announced = (
      await installation.call(joinTokenArrivals, {
        params: { id: await tokenId('warsaw-rack-7') },
        query: {},
      })
    ).items.map((a) => Date.parse(a.at))
    expect(announced).toHaveLength(4)
    expect(Date.now() - Math.max(...announced)).toBeLessThan(30_000)

    const joined = (await fleet()).filter((s) => booted.some((b) => b.uuid === s.identity.uuid))
    expect(new Set(joined.map((s) => `${s.identity.serial} ${s.nodeAddresses[0]}`))).toEqual(
      new Set(booted.map((b) => `${b.serial} ${b.address}`)),
    )
    for (const s of joined)
      expect(s).toMatchObject({
        datacenter: { code: 'PL-WAW-1' },
        status: 'maintenance',
        identity: { state: 'confirmed' },
      })

    const [first] = joined
    await table('Servers')
      .getByRole('button', { name: `Details of ${first!.name}` })
      .click()
    const { resources } = await installation.call(serverGet, { params: { id: first!.id } })
    const detail = table('Servers')
      .getByRole('row')
      .filter({ has: page.getByRole('heading', { name: 'Storage' }) })
    await detail.getByRole('heading', { name: 'Storage' }).waitFor()
    const shown = await detail.innerText()
    for (const what of [
      first!.identity.serial!,
      first!.nodeAddresses[0]!,
      'PL-WAW-1',
      ...resources.interfaces.map((i) => i.hardware_addr!),
    ])
      expect(shown).toContain(what)

    await go('Datacenters')
    await table('Datacenters').getByRole('link', { name: '4 servers of PL-WAW-1' }).click()
    await page.getByRole('heading', { level: 1, name: /^Servers\s*4$/ }).waitFor()
    for (const s of joined)
      await table('Servers').getByRole('link', { name: s.name, exact: true }).waitFor()
  })

  test('the join token lists the servers that used it', async () => {
    await go('Servers')
    await page.getByRole('button', { name: 'Add servers' }).click()
    await page.getByRole('menuitem', { name: 'Join tokens' }).click()
    await table('Join tokens')
      .getByRole('row', { name: /warsaw-rack-7 Usable 4 of 5/ })
      .waitFor()
    await table('Join tokens').getByRole('button', { name: 'Details of warsaw-rack-7' }).click()
    for (const b of booted) {
      const row = table('Servers announced with warsaw-rack-7')
        .getByRole('row')
        .filter({ hasText: b.address })
      await row.getByText('Joined').waitFor()
      const link = row.getByRole('link')
      expect(
        (
          await installation.call(serverGet, {
            params: { id: (await link.getAttribute('href'))!.split('/').at(-1)! },
          })
        ).identity.uuid,
      ).toBe(b.uuid)
    }
  })

  longTest('a revoked token admits no server, and the audit log records the refusal', async () => {
    await page.getByRole('button', { name: 'Actions for warsaw-rack-7' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    const question = dialog('Revoke warsaw-rack-7?')
    await question.getByText(/Servers that joined with the token stay/).waitFor()
    await question.getByRole('button', { name: 'Revoke' }).click()
    await table('Join tokens')
      .getByRole('row', { name: /warsaw-rack-7 Revoked/ })
      .waitFor()

    const late = (
      JSON.parse(await simulate('--boot-with', commandLine, '--json')) as { servers: Booted[] }
    ).servers[0]!
    const id = await tokenId('warsaw-rack-7')
    await until('the refused server is told of', async () =>
      (await installation.call(joinTokenArrivals, { params: { id }, query: {} })).items.find(
        (a) => a.uuid === late.uuid && a.result === 'refused',
      ),
    )
    const row = table('Servers announced with warsaw-rack-7')
      .getByRole('row')
      .filter({ hasText: late.address })
    await row.getByText('The join token was revoked').waitFor()
    // Wait until the machine is in maintenance mode: a machine with a valid token would be
    // registered by then.
    await until('it reached maintenance', async () =>
      (
        await installation.simulator<{ servers: { uuid: string; stage: string }[] }>('/servers')
      ).servers.find((s) => s.uuid === late.uuid && s.stage === 'maintenance'),
    )
    expect((await fleet()).filter((s) => s.identity.uuid === late.uuid)).toEqual([])
    const entry = await until('the audit says so', async () =>
      (await installation.call(auditList, { query: { action: 'join.refused' } })).items.find(
        (e) => e.ip === late.address,
      ),
    )
    expect(entry.after).toMatchObject({ reason: 'The join token was revoked' })
    await go('Servers')
    await page.getByRole('heading', { level: 1, name: /^Servers\s*8$/ }).waitFor()
  })

  longTest(
    'choosing an earlier image fills the form with its settings, without the used-up token',
    async () => {
      await go('Servers')
      await page.getByRole('button', { name: 'Add servers' }).click()
      await page.getByRole('menuitem', { name: 'Prepare image' }).click()
      const earlier = table('Earlier images').getByRole('row').filter({ hasText: 'warsaw-rack-7' })
      await earlier.getByText('revoked').waitFor()
      await page.getByRole('button', { name: 'Start over' }).click()
      await earlier.getByRole('button', { name: /^Use again/ }).click()
      await page
        .getByRole('list', { name: 'Chosen extensions' })
        .getByText('iscsi-tools', { exact: true })
        .waitFor()
      expect(await page.getByLabel('Extra kernel arguments').inputValue()).toBe(
        'console=ttyS0,115200',
      )
      await page.getByRole('button', { name: 'Generate' }).click()
      await page.getByText('Choose a join token, or none', { exact: true }).waitFor()
      // The choice survives a reload.
      await page.getByRole('button', { name: 'Remove amd-ucode' }).click()
      await until('it is kept', async () => {
        const kept = await keptDrafts()
        return kept.includes('iscsi-tools') && !kept.includes('amd-ucode')
      })
      await page.reload()
      await page
        .getByRole('list', { name: 'Chosen extensions' })
        .getByText('iscsi-tools', { exact: true })
        .waitFor()
      expect(await page.getByRole('button', { name: 'Remove amd-ucode' }).count()).toBe(0)
    },
  )

  longTest(
    'while the image factory is down, an image is stored with the reason until it is confirmed',
    async () => {
      await simulate('factory', 'down')
      await page.goto('/infra/servers/prepare-image')
      await choose('Join token', /^None/)
      await page.getByRole('button', { name: 'Generate' }).click()
      await generated()
        .getByText(/The image factory has not confirmed this schematic/)
        .waitFor()
      await generated().getByRole('button', { name: 'Try again' }).click()
      // Steelyard retries its request to the factory; the button is busy meanwhile.
      await generated().getByRole('button', { name: 'Loading' }).waitFor({ state: 'detached' })
      await generated().getByRole('button', { name: 'Try again' }).waitFor()
      expect((await installation.call(imageList, { query: {} })).items[0]).toMatchObject({
        factory: { registered_at: null },
        token: null,
      })
      await simulate('factory', 'ok')
      await generated().getByRole('button', { name: 'Try again' }).click()
      await generated().getByText('Confirmed by the image factory').waitFor()
      await table('Earlier images')
        .getByRole('button', { name: /^Actions for / })
        .first()
        .click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await dialog('Remove this image?').getByRole('button', { name: 'Remove' }).click()
      await notice('The image was removed').waitFor()
      expect(await installation.call(imageList, { query: {} })).toMatchObject({ total: 1 })
    },
  )

  longTest('servers that were selected are removed after their number was typed', async () => {
    await go('Servers')
    const joined = (await fleet())
      .filter((s) => s.datacenter?.code === 'PL-WAW-1')
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, 2)
    for (const s of joined) await page.getByRole('checkbox', { name: `Select ${s.name}` }).check()
    const selection = page.getByRole('region', { name: 'Selection' })
    await selection.getByRole('button', { name: 'Remove' }).click()
    const question = dialog('Remove: 2 servers')
    const plan = question.getByRole('list', { name: 'Plan' }).getByRole('listitem')
    for (const { name } of joined)
      await plan.filter({ hasText: name }).getByText('Allowed').waitFor()
    const remove = question.getByRole('button', { name: 'Remove' })
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    await question.getByRole('textbox', { name: 'Type the number of servers' }).fill('2')
    await remove.click()
    await page
      .getByRole('heading', { name: /removal of 2 servers/ })
      .first()
      .waitFor()
    await page.getByText(/^done in/).waitFor()
    const left = await fleet()
    expect(left.filter((s) => joined.some(({ id }) => id === s.id))).toEqual([])
  })
})
