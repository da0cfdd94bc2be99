/** A silence hides its part, and nothing else, from the overview and from the channels. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { channelCreate } from '#contract/alerts/channels.ts'
import { alertRuleCreate, alertRuleList, alertRuleRemove } from '#contract/alerts/rules.ts'
import { findingList } from '#contract/findings/findings.ts'
import { serverList } from '#contract/servers/servers.ts'
import { closePages, launch, open, signIn, tell } from '../browser.ts'
import { admin, type Installation, startInstallation } from '../installation.ts'

let installation: Installation
let browser: Browser

/** The names of the servers in the messages that have arrived. */
const told: string[] = []
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (part: string) => (body += part))
  request.on('end', () => {
    const { data } = JSON.parse(body) as { data: { findings: { object: { name: string } }[] } }
    told.push(...data.findings.map(({ object }) => object.name))
    response.end()
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  ;[installation, browser] = await Promise.all([
    startInstallation({
      servers: 3,
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

test(
  'a silence of a datacenter hides the finding there from overview and channels, not the one elsewhere, until it ends',
  { timeout: 600_000 },
  async ({ task, onTestFailed }) => {
    const { call, simulator } = installation
    await call(channelCreate, {
      body: {
        name: 'on-call',
        kind: 'webhook',
        url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in`,
        secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      },
    })
    // Every finding is told at once, by one rule.
    for (const { id } of (await call(alertRuleList, { query: {} })).items)
      await call(alertRuleRemove, { params: { id } })
    await call(alertRuleCreate, {
      body: { name: 'everything', severities: ['down', 'degraded', 'attention'], wait_minutes: 0 },
    })
    const { items } = await call(serverList, { query: {} })
    const hidden = items[0]!
    const shown = items.find((s) => s.datacenter!.code !== hidden.datacenter!.code)!

    const { page, errors } = await open(browser, installation.url)
    onTestFailed(() => tell(page, task, true))
    await signIn(page, admin)
    await page.goto('/alerts/silences')
    await page.getByRole('button', { name: 'Add silence' }).first().click()
    const form = page.getByRole('dialog', { name: 'Add silence' })
    await form.getByLabel('Why').fill('Works in the hall')
    await form
      .getByRole('group', { name: 'Datacenters' })
      .last()
      .getByRole('checkbox', { name: hidden.datacenter!.code })
      .check()
    await form.getByRole('button', { name: 'Add silence' }).click()
    await page.getByText('The silence was added').waitFor()

    const machines = (await simulator<{ servers: { uuid: string; name: string }[] }>('/servers'))
      .servers
    for (const { identity } of [hidden, shown])
      await simulator(`/servers/${machines.find((m) => m.uuid === identity.uuid)!.name}/fault`, {
        kind: 'refuse',
        port: 'apid',
      })
    const names = async () =>
      (await call(findingList, { query: {} })).items.map((f) => f.object.name).toSorted()
    await expect.poll(names, { timeout: 400_000 }).toEqual([hidden.name, shown.name].toSorted())

    await page.goto('/')
    const attention = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Incidents' }) })
    await attention.getByText(shown.name).waitFor()
    await attention.getByText('1 silenced').waitFor()
    expect(await attention.getByText(hidden.name).count()).toBe(0)
    // It is hidden, not gone: the list of incidents has both.
    await attention.getByText('1 silenced').click()
    for (const { name } of [shown, hidden])
      await page.getByRole('table', { name: 'Incidents' }).getByText(name).first().waitFor()
    await expect.poll(() => told, { timeout: 120_000 }).toEqual([shown.name])

    await page.goto('/alerts/silences')
    await page.getByRole('button', { name: 'Actions for Works in the hall' }).click()
    await page.getByRole('menuitem', { name: 'End now' }).click()
    await page.getByRole('button', { name: 'End silence' }).click()
    await expect.poll(() => told, { timeout: 120_000 }).toEqual([shown.name, hidden.name])
    await page.goto('/')
    for (const { name } of [shown, hidden]) await attention.getByText(name).waitFor()
    expect(await attention.getByText(/silenced/).count()).toBe(0)
    expect(errors).toEqual([])
  },
)
