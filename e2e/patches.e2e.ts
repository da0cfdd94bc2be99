/** The editor of patches while others work, and the dialog before a server is lost. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { patchCreate, patchGet, patchList, patchUpdate } from '#contract/patches.ts'
import { type Server, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, launch, open, signIn, tell, write } from './browser.ts'
import { type Installation, sharedInstallation } from './installation.ts'

let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]
let server: Server

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedInstallation(), launch()])
  ;({ context, page, errors } = await open(browser, installation.url))
  await signIn(page)
  server = (await installation.call(serverList, { query: {} })).items[0]!
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
afterEach(async ({ task }) => {
  await tell(page, task)
  expect(errors.splice(0)).toEqual([])
})

const sysctl = (pages: number) => `machine:\n  sysctls:\n    vm.nr_hugepages: "${pages}"\n`
const shown = (text: string) => page.getByText(text).first().waitFor()

test('case 35: the editor keeps what was typed while somebody else changes the patch, and saves nothing over it', async () => {
  const { patch_id: patchId } = await installation.call(patchCreate, {
    params: { id: server.id },
    body: { name: 'pages', body: sysctl(1) },
  })
  const params = { id: server.id, patchId }
  const editor = page.getByRole('textbox', { name: 'Patch body, YAML' })
  await page.goto(`/infra/servers/${server.id}/patches/${patchId}`)
  await write(page, sysctl(2))
  // Another tab comes to the front, the patch is changed, and the tab is shown again.
  const other = await context.newPage()
  await other.goto('/infra/servers')
  await installation.call(patchUpdate, { params, body: { body: sysctl(3) } })
  await page.bringToFront()
  await shown('Somebody else has changed this patch since you opened it.')
  expect(await editor.innerText()).toContain('vm.nr_hugepages: "2"')

  await page.getByRole('button', { name: 'Save patch' }).click()
  await shown('Nothing was saved. What you typed is still here.')
  expect(await editor.innerText()).toContain('vm.nr_hugepages: "2"')
  expect((await installation.call(patchGet, { params })).body).toBe(sysctl(3))

  await page.getByRole('link', { name: 'Servers' }).first().click()
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  await question.getByText('A draft of this patch is kept in this browser').waitFor()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.waitForURL((to) => to.pathname === '/infra/servers')
  await page.goto(`/infra/servers/${server.id}/patches/${patchId}`)
  await expect.poll(() => editor.innerText()).toContain('vm.nr_hugepages: "2"')
  await page.getByRole('button', { name: 'Discard' }).first().click()
  await other.close()
})

longTest('case 36: nine tabs load and stay live over HTTP/1.1', async () => {
  const tabs = await Promise.all(Array.from({ length: 9 }, () => context.newPage()))
  const name = (tab: Page, text: string) =>
    tab
      .getByRole('table', { name: 'Servers', exact: true })
      .getByRole('link', { name: text, exact: true })
      .waitFor()
  await Promise.all(
    tabs.map(async (tab) => {
      await tab.goto('/infra/servers')
      await name(tab, server.name)
    }),
  )
  await installation.call(serverUpdate, {
    params: { id: server.id },
    body: { name: 'nine-tabs-001' },
  })
  await Promise.all(tabs.map((tab) => name(tab, 'nine-tabs-001')))
  server = { ...server, name: 'nine-tabs-001' }
  await Promise.all(tabs.map((tab) => tab.close()))
})

test('a patch that cuts the server off is saved only after the name of the server was typed', async () => {
  const body = 'apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n'
  const has = async () =>
    (await installation.call(patchList, { params: { id: server.id } })).items.some(
      (patch) => patch.name === 'wall',
    )
  await page.goto(`/infra/servers/${server.id}/create-patch`)
  await page.getByLabel('Name', { exact: true }).fill('wall')
  await write(page, body)
  await shown(`Steelyard would lose ${server.name}`)
  const save = page.getByRole('button', { name: 'Create patch' })
  const question = page.getByRole('dialog', {
    name: `Send it although ${server.name} would be lost?`,
  })
  await save.click()
  await question.getByText('port 50000').first().waitFor()
  const send = question.getByRole('button', { name: 'Send it anyway' })
  expect(await send.getAttribute('aria-disabled')).toBe('true')
  await question.getByRole('textbox', { name: /^Type/ }).fill('another')
  expect(await send.getAttribute('aria-disabled')).toBe('true')
  await question.getByRole('button', { name: 'Cancel' }).click()
  await shown('would lose')
  expect(await has()).toBe(false)

  await save.click()
  await question.getByRole('textbox', { name: /^Type/ }).fill(server.name)
  await send.click()
  await shown('wall was created')
  expect(await has()).toBe(true)
})
