/** The main journey by keyboard alone: no pointer, and a visible focus at every stop. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, inOneStory, launch, open } from './browser.ts'
import { admin, type Installation, sharedUnlessFull } from './installation.ts'
import { isFocused, type Keys, keysOf } from './keys.ts'

const name = 'poz-keys-01'
let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]
let key: Keys['key']
let type: Keys['type']
let focused: Keys['focused']
let tabTo: Keys['tabTo']
let walkTo: Keys['walkTo']
/** Servers by name, in the order of the list. */
let servers: Server[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedUnlessFull({ speed: 20 }), launch()])
  servers = (await installation.call(serverList, { query: {} })).items.toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )
  ;({ context, page, errors } = await open(browser, installation.url))
  ;({ key, type, focused, tabTo, walkTo } = keysOf(page))
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const button = (name: string | RegExp) => page.getByRole('button', { name })

describe('by keyboard alone', () => {
  test('a user signs in and skips to the content by keyboard alone', async () => {
    await page.goto('/auth/login')
    await tabTo(page.getByRole('textbox', { name: 'Email' }))
    await type(admin.email)
    await key('Tab')
    await type(admin.password)
    await key('Enter')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await tabTo(page.getByRole('link', { name: 'Skip to content' }))
    await key('Enter')
    await focused(page.getByRole('main'))
  })

  test('the command palette opens, navigates, and returns the focus when it closes', async () => {
    await tabTo(button(/^Go to or do anything/), 'Shift+Tab')
    await key('Control+k')
    const palette = page.getByRole('dialog', { name: 'Search and commands' })
    await focused(palette.getByRole('combobox'))
    await key('Escape')
    await palette.waitFor({ state: 'detached' })
    await focused(button(/^Go to or do anything/))
    await key('Meta+k')
    await focused(palette.getByRole('combobox'))
    await type('servers')
    await palette.getByRole('option', { name: 'Servers', selected: true }).waitFor()
    await key('Enter')
    await page.getByRole('heading', { level: 1, name: /^Servers/ }).waitFor()
  })

  test('arrow keys move between rows, Space expands one, Enter opens it', async () => {
    const wanted = servers.findIndex(
      (s) => s.datacenter?.code === 'PL-POZ-1' && s.eligibility.every((e) => e.ok),
    )
    const rows = page.getByRole('table', { name: 'Servers', exact: true }).locator('tr[data-row]')
    await tabTo(rows.first())
    for (let at = 0; at < wanted; at++) await key('ArrowDown')
    await focused(rows.nth(wanted))
    await key('Space')
    await page.getByRole('heading', { name: 'Platform' }).waitFor()
    await key('Space')
    await page.getByRole('heading', { name: 'Platform' }).waitFor({ state: 'detached' })
    await key('End')
    await focused(rows.last())
    await key('Home')
    for (let at = 0; at < wanted; at++) await key('ArrowDown')
    await key('Enter')
    await page.getByRole('heading', { level: 1, name: servers[wanted]!.name }).waitFor()
  })

  test('renaming from the menu returns the focus to the menu button', async () => {
    const more = button('More actions')
    await tabTo(more)
    await key('Enter')
    const menu = page.getByRole('menu')
    await expect
      .poll(() => menu.evaluate((element) => element.contains(element.ownerDocument.activeElement)))
      .toBe(true)
    await key('Escape')
    await focused(more)
    await key('ArrowDown')
    await walkTo('Rename')
    await key('Enter')
    const dialog = page.getByRole('dialog', { name: 'Edit server name' })
    await focused(dialog.getByRole('textbox', { name: 'Server name' }))
    await key('Escape')
    await dialog.waitFor({ state: 'detached' })
    await focused(more)
  })

  test('a patch is written, the focus is visible while the editor loads, and Tab leaves the editor', async () => {
    const loading = Promise.withResolvers<void>()
    const code = /\/CodeEditorView[^/]*\.js$/
    await page.route(code, async (route) => {
      await loading.promise
      await route.continue()
    })
    await tabTo(page.getByRole('link', { name: 'Create patch' }))
    await key('Enter')
    await focused(page.getByRole('textbox', { name: 'Name' }))
    await type('kernel-tuning')
    const body = page.getByRole('textbox', { name: 'Patch body, YAML' })
    // Until the editor's code has loaded, a plain text area has the focus. `tabTo` checks that the
    // focus is visible.
    await tabTo(body.and(page.locator('textarea')))
    loading.resolve()
    const editor = body.and(page.locator('[contenteditable]'))
    await focused(editor)
    await page.unrouteAll({ behavior: 'wait' })
    // The editor indents the line below a key.
    await type('machine:\nsysctls:\nnet.core.somaxconn: "4096')
    await expect
      .poll(async () => (await editor.innerText()).replaceAll(/\n+/g, '\n'))
      .toContain('machine:\n  sysctls:\n    net.core.somaxconn: "4096"')
    await page
      .getByRole('group', { name: 'Merged configuration before and after' })
      .getByText('net.core.somaxconn')
      .waitFor()
    await key('Escape')
    await key('Tab')
    expect(await isFocused(editor)).toBe(false)
    await tabTo(button('Create patch'), 'Shift+Tab')
    await key('Enter')
    await page
      .getByRole('table', { name: 'Patches' })
      .getByRole('row', { name: /kernel-tuning/ })
      .waitFor()
  })

  test('Escape closes a confirmation, and the focus returns to the button that opened it', async () => {
    const bin = button('Delete kernel-tuning')
    await tabTo(bin)
    await key('Enter')
    const question = page.getByRole('dialog', { name: 'Delete kernel-tuning?' })
    // Cancel has the focus, so that pressing Enter by mistake loses nothing.
    await focused(question.getByRole('button', { name: 'Cancel' }))
    await tabTo(question.getByRole('button', { name: 'Delete' }))
    await key('Escape')
    await question.waitFor({ state: 'detached' })
    await focused(bin)
  })

  longTest('a cluster is created in three steps', async () => {
    await key('Control+k')
    await focused(page.getByRole('combobox', { name: 'Go to or do anything' }))
    await type('create cluster')
    await page.getByRole('option', { name: 'Create cluster', selected: true }).waitFor()
    await key('Enter')
    const called = page.getByLabel('Name', { exact: true })
    await tabTo(called)
    await type(name)
    expect(await called.inputValue()).toBe(name)
    await tabTo(page.getByRole('combobox', { name: 'Datacenter' }))
    await type('PL')
    await tabTo(button('Choose servers'))
    await key('Enter')
    const eligible = servers
      .filter((s) => s.datacenter?.code === 'PL-POZ-1' && s.eligibility.every((e) => e.ok))
      .slice(0, 4)
    for (const server of eligible) {
      const box = page.getByRole('checkbox', { name: server.name })
      await tabTo(box)
      await key('Space')
      await page.getByRole('group', { name: `Role of ${server.name}` }).waitFor()
      await focused(box)
    }
    await tabTo(button('Review 4 servers'))
    await key('Enter')
    await page.getByText('What will happen').waitFor()
    await tabTo(button('Create cluster'))
    await key('Enter')
    const question = page.getByRole('dialog', {
      name: 'Custom Talos Patches have not been created for these servers',
    })
    await tabTo(question.getByRole('button', { name: 'Proceed' }))
    await key('Enter')
    await page.getByText(/^done in /).waitFor({ timeout: 60_000 })
  })

  longTest(
    'the key is copied, the kubeconfig downloads, and logging out ends the session',
    async () => {
      const more = button('More actions')
      await tabTo(more)
      await key('Enter')
      await walkTo('Show cluster key')
      await key('Enter')
      const dialog = page.getByRole('dialog', {
        name: "List of newly generated clusters' addresses",
      })
      const address = dialog.getByRole('button', { name: `Copy address of ${name}` })
      await tabTo(address)
      await key('Enter')
      await dialog.getByText('Copied').waitFor()
      expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^0x[0-9a-fA-F]{40}$/)
      await key('Escape')
      await dialog.waitFor({ state: 'detached' })
      await focused(more)

      await tabTo(button('Kubeconfig'), 'Shift+Tab')
      const [download] = await Promise.all([page.waitForEvent('download'), key('Enter')])
      expect(download.suggestedFilename()).toBe(`${name}-kubeconfig.yaml`)

      await tabTo(button('Profile'), 'Shift+Tab')
      await key('Enter')
      await page.getByRole('menuitem', { name: 'Log out' }).waitFor()
      await key('End')
      await focused(page.getByRole('menuitem', { name: 'Log out' }))
      await key('Enter')
      await page.getByRole('heading', { level: 1, name: 'Sign in to your account' }).waitFor()
    },
  )
})
