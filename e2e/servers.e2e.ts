/** The list of servers and the actions on a server, with the message of every rule. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { nameSentences } from '#contract/names.ts'
import {
  type Server,
  serverEvents,
  serverGet,
  serverList,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { userCreate } from '#contract/users.ts'
import { pageBudgets, pageCosts } from '../tools/bench/console.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, launch, open, signIn, tell } from './browser.ts'
import { admin, type Installation, sharedUnlessFull } from './installation.ts'

let installation: Installation
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]
/** By name. */
let servers: Server[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedUnlessFull({ speed: 20 }), launch()])
  ;({ context, page, errors } = await open(browser, installation.url))
  await signIn(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
beforeEach(async () => {
  servers = (await installation.call(serverList, { query: {} })).items.toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )
})
afterEach(async ({ task }) => {
  await tell(page, task)
  expect(errors.splice(0)).toEqual([])
})

/** The table of servers, also while a dialog covers it. */
const table = () => page.getByRole('table', { name: 'Servers', exact: true, includeHidden: true })
const link = (name: string) => table().getByRole('link', { name, exact: true, includeHidden: true })
/**
 * Names in the list, without the line below a name that shows where else the search has matched.
 */
const names = async () =>
  (await table().locator('a[data-rowlink]').allInnerTexts()).map(
    (text) => text.trim().split('\n', 1)[0]!,
  )
const search = () => new URL(page.url()).search
const notice = (text: string) =>
  page.getByRole('region', { name: /^Notices/ }).getByText(text, { exact: true })
const list = async (query = '') => {
  await page.goto(`/infra/servers${query}`)
  await table().waitFor()
}
/** Sets a filter; `value` is as in the URL. */
async function filter(label: string, value: string): Promise<void> {
  await page.getByRole('button', { name: /^Filters/ }).click()
  const filters = page.getByRole('dialog', { name: 'Filters' })
  await filters.getByLabel(label, { exact: true }).selectOption(value)
  await page.keyboard.press('Escape')
}
/** Opens the menu of how the list is shown, or a menu in it. */
async function view(inside?: string): Promise<void> {
  await page.getByRole('button', { name: 'View', exact: true }).click()
  if (inside !== undefined) await page.getByRole('menuitem', { name: inside }).click()
}
async function byAddress(): Promise<void> {
  await page.getByRole('button', { name: 'Add servers' }).click()
  await page.getByRole('menuitem', { name: 'By address' }).click()
}
async function act(server: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${server}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('the sign-in page, the list and the form of a new cluster stay within their budgets of JavaScript and requests', async () => {
  // Servers that are still being read send events, and pages answer events with requests.
  const facts = async () =>
    JSON.stringify((await installation.call(serverList, { query: {} })).items).replaceAll(
      /"\d{4}-\d\d-\d\dT[^"]+"/g,
      '',
    )
  let before = ''
  await expect
    .poll(
      async () => {
        const [last, now] = [before, await facts()]
        before = now
        return now === last
      },
      { timeout: 30_000, interval: 1_500 },
    )
    .toBe(true)
  const costs = await pageCosts(browser, installation.url, admin)
  const over = Object.entries(costs).flatMap(([page, { bytes, requests }]) => {
    const most = pageBudgets[page as keyof typeof costs]
    return bytes > most.bytes || requests > most.requests
      ? [`${page}: ${bytes} bytes, ${requests} requests`]
      : []
  })
  expect(over).toEqual([])
})

describe('the list', () => {
  test('a change made between the loading of a page and the start of its live events is shown', async () => {
    const stream = Promise.withResolvers<void>()
    await page.route('**/v1/events', async (route) => {
      await stream.promise
      await route.continue()
    })
    await list()
    const { id, name } = servers[0]!
    await installation.call(serverUpdate, { params: { id }, body: { name: 'aa-meanwhile' } })
    const isPublished = async () =>
      (await installation.call(serverEvents, { params: { id }, query: {} })).items.some(
        (e) => e.type === 'server.renamed',
      )
    await expect.poll(isPublished).toBe(true)
    stream.resolve()
    await link('aa-meanwhile').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await installation.call(serverUpdate, { params: { id }, body: { name } })
    await link(name).waitFor()
  })

  test('the search finds servers by name, serial number and address, and is kept in the URL across a reload', async () => {
    await list()
    expect(await names()).toEqual(servers.map((s) => s.name))
    const [, wanted] = servers
    await page.keyboard.press('/')
    await page.keyboard.type(wanted!.name)
    await expect.poll(names).toEqual([wanted!.name])
    expect(search()).toBe(`?q=${wanted!.name}`)
    await page.reload()
    await expect.poll(names).toEqual([wanted!.name])
    const box = page.getByRole('searchbox', { name: 'Search servers' })
    expect(await box.inputValue()).toBe(wanted!.name)
    for (const q of [wanted!.identity.serial!, wanted!.nodeAddresses[0]!]) {
      await box.fill(q)
      await expect.poll(names).toContain(wanted!.name)
    }
    await box.fill('')
    await expect.poll(names).toEqual(servers.map((s) => s.name))
    expect(search()).toBe('')
  })

  test('the URL contains the filters; they are removed one by one or all together, and a list without a match shows a message', async () => {
    await list()
    await filter('Datacenter', 'DE-FRA-1')
    await expect
      .poll(names)
      .toEqual(servers.filter((s) => s.datacenter?.code === 'DE-FRA-1').map((s) => s.name))
    await filter('Status', 'ready')
    await page.getByText('No server matches these filters.').waitFor()
    expect(search()).toBe('?datacenter=DE-FRA-1&status=ready')
    await page.reload()
    await page.getByText('No server matches these filters.').waitFor()
    await page.getByRole('button', { name: 'Remove filter Status' }).click()
    await expect.poll(async () => (await names()).length).toBe(4)
    await page.getByRole('searchbox', { name: 'Search servers' }).fill('nothing is called so')
    await page.getByText('No server matches these filters.').waitFor()
    await page.getByRole('button', { name: 'Reset filters' }).click()
    await expect.poll(async () => (await names()).length).toBe(servers.length)
    expect(search()).toBe('')
  })

  longTest('an unknown filter value stays in the URL and is not sent', async () => {
    await list('?status=nonsense&nodeType=%27%20OR%201%3D1')
    expect(await names()).toHaveLength(servers.length)
    expect(search()).toContain('status=nonsense')
  })

  longTest('columns sort in both directions', async () => {
    await list()
    await table().getByRole('button', { name: 'Name' }).click()
    await expect.poll(names).toEqual(servers.map((s) => s.name).toReversed())
    expect(search()).toBe('?sort=-name')
    expect(
      await table().getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort'),
    ).toBe('descending')
    await table().getByRole('button', { name: 'Datacenter' }).click()
    await expect
      .poll(async () => (await names()).slice(0, 4).toSorted())
      .toEqual(servers.filter((s) => s.datacenter?.code === 'DE-FRA-1').map((s) => s.name))
  })

  longTest(
    'the page size can be chosen, and the back button returns to the previous page of the list',
    async () => {
      await list()
      const size = page.getByRole('combobox', { name: 'Rows a page' })
      expect(
        (await size.getByRole('option').allInnerTexts()).map((text) => text.split(' ')[0]),
      ).toEqual(['5', '10', '25', '50', '100', '1\u202f000'])
      await size.selectOption('5')
      await page.getByText('1–5 of 12 servers').waitFor()
      await page.getByRole('button', { name: 'Next page' }).click()
      await page.getByText('6–10 of 12 servers').waitFor()
      await expect.poll(names).toEqual(servers.slice(5, 10).map((s) => s.name))
      expect(search()).toBe('?size=5&page=2')
      await page.goBack()
      await page.getByText('1–5 of 12 servers').waitFor()
      expect(
        await page.getByRole('button', { name: 'Previous page' }).getAttribute('aria-disabled'),
      ).toBe('true')
      // The selection includes rows that the filter hides, and actions apply to them.
      await table()
        .getByRole('checkbox', { name: `Select ${servers[0]!.name}` })
        .check({ force: true })
      await page.getByRole('button', { name: 'Next page' }).click()
      await expect.poll(names).toEqual(servers.slice(5, 10).map((s) => s.name))
      expect(
        await page
          .getByRole('region', { name: 'Selection' })
          .getByRole('link', { name: 'Create cluster' })
          .getAttribute('href'),
      ).toContain(servers[0]!.id)
      // A page number beyond the last shows a way back.
      await page.goto('/infra/servers?size=5&page=9')
      await page.getByText('The list ends before this page.').waitFor()
      await page.getByRole('button', { name: 'First page' }).click()
      await expect.poll(names).toEqual(servers.slice(0, 5).map((s) => s.name))
    },
  )

  longTest('hidden columns and saved views outlast a reload', async () => {
    await list()
    await view('Columns')
    const saved = page.waitForResponse(
      (response) =>
        response.url().endsWith('/v1/session/preferences') && response.request().method() === 'PUT',
    )
    await Promise.all([saved, page.getByRole('menuitemcheckbox', { name: 'Hardware' }).click()])
    await table().getByRole('columnheader', { name: 'Hardware' }).waitFor({ state: 'detached' })
    await list()
    await expect.poll(() => table().getByRole('columnheader', { name: 'Hardware' }).count()).toBe(0)
    await view('Columns')
    await page.getByRole('menuitem', { name: 'Reset columns' }).click()
    await table().getByRole('columnheader', { name: 'Hardware' }).waitFor()
    await list('?datacenter=DE-FRA-1&sort=-name')
    await view()
    await page.getByRole('menuitem', { name: 'Save this view' }).click()
    await page.getByRole('dialog', { name: 'Save this view' }).waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('Frankfurt')
    const kept = page.waitForResponse(
      (response) =>
        response.url().endsWith('/v1/session/preferences') && response.request().method() === 'PUT',
    )
    await page.keyboard.press('Enter')
    await kept
    await list()
    await view()
    await page.getByRole('menuitemcheckbox', { name: 'Frankfurt' }).click()
    await expect.poll(search).toBe('?datacenter=DE-FRA-1&sort=-name')
  })
})

describe('renaming', () => {
  const say = nameSentences('Server')
  const dialog = () => page.getByRole('dialog', { name: 'Edit server name' })
  const field = () => dialog().getByRole('textbox', { name: 'Server name' })
  const save = () => dialog().getByRole('button', { name: 'Save' })

  test('every broken rule shows its message, and nothing is saved until the name is valid', async () => {
    await list()
    const [first, second] = servers
    await act(first!.name, 'Rename')
    for (const [name, sentence] of [
      ['', say.short],
      ['a'.repeat(26), say.long],
      ['Upper-case', say.characters],
      ['-edge', say.characters],
      ['two--hyphens', say.characters],
      [second!.name, say.taken],
    ] as const) {
      await field().fill(name)
      await dialog().getByText(sentence).waitFor()
      expect(await save().getAttribute('aria-disabled')).toBe('true')
    }
    await field().fill(first!.name)
    await expect.poll(() => save().getAttribute('aria-disabled')).toBe(null)
    await field().fill(`  ${'b'.repeat(25)}  `)
    await expect.poll(() => save().getAttribute('aria-disabled')).toBe(null)
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await dialog().waitFor({ state: 'detached' })
    expect((await installation.call(serverGet, { params: { id: first!.id } })).name).toBe(
      first!.name,
    )
  })

  test('the new name is shown before the response arrives, and stays', async () => {
    await list()
    const [first] = servers
    await act(first!.name, 'Rename')
    await field().fill('aa-renamed')
    // The response is held back until the check is done. A fixed delay could be too short on a busy
    // machine.
    const mayAnswer = Promise.withResolvers<void>()
    await page.route('**/v1/nodes/*', async (route) => {
      if (route.request().method() === 'PATCH') await mayAnswer.promise
      await route.continue()
    })
    await save().click()
    await expect
      .poll(async () => [
        (await names()).includes('aa-renamed'),
        await dialog().getByRole('button', { name: 'Loading' }).count(),
      ])
      .toEqual([true, 1])
    mayAnswer.resolve()
    await notice('Server name was updated successfully').waitFor()
    await dialog().waitFor({ state: 'detached' })
    expect((await installation.call(serverGet, { params: { id: first!.id } })).name).toBe(
      'aa-renamed',
    )
    await page.unrouteAll({ behavior: 'wait' })
    await page.reload()
    await link('aa-renamed').waitFor()
  })

  test('the old name is shown again, with the reason, if renaming fails', async () => {
    await list()
    const [first] = servers
    await act(first!.name, 'Rename')
    await field().fill('never-heard')
    await context.setOffline(true)
    await save().click()
    await notice('Server name could not be updated').waitFor()
    await link(first!.name).waitFor({ state: 'attached' })
    expect(await names()).not.toContain('never-heard')
    await context.setOffline(false)
    await save().click()
    await notice('Server name was updated successfully').waitFor()
    await link('never-heard').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await link(first!.name).waitFor()
  })
})

describe('adding and removing', () => {
  const dialog = () => page.getByRole('dialog', { name: 'Add servers by address' })

  longTest(
    'an invalid address, or one that may not be dialled, is refused at the field',
    async () => {
      await list()
      await byAddress()
      const field = dialog().getByRole('textbox', { name: 'Addresses or a CIDR' })
      const add = dialog().getByRole('button', { name: /^(Add servers|Contact)/ })
      for (const [text, sentence] of [
        ['', 'Enter at least one address'],
        ['server-one', '"server-one" is not an IP address'],
        ['127.20.3.7/24', 'Host bits are set: did you mean 127.20.3.0/24?'],
        ['10.0.0.0/8', 'A CIDR may hold at most 1 024 addresses (an IPv4 /22)'],
      ] as const) {
        await field.fill(text)
        await add.click()
        await dialog().getByText(sentence).waitFor()
      }
      for (const [text, sentence] of [
        ['192.0.2.10', /192\.0\.2\.10 is not in STEELYARD_DIAL_NETWORKS/],
        ['127.0.0.1', /127\.0\.0\.1 is /],
        ['169.254.169.254', /169\.254\.169\.254 is /],
      ] as const) {
        await field.fill(text)
        await add.click()
        await dialog().getByText(sentence).waitFor()
      }
      await dialog().getByRole('button', { name: 'Cancel' }).click()
      expect(await installation.call(serverList, { query: {} })).toMatchObject({
        total: servers.length,
      })
    },
  )

  test('a server is removed after its name was typed, and can be added again by its address and a confirmation of its hardware', async () => {
    const wanted = servers.find((s) => s.datacenter?.code === 'PL-POZ-1')!
    await list()
    await act(wanted.name, 'Remove')
    const question = page.getByRole('dialog', { name: `Remove ${wanted.name}?` })
    const remove = question.getByRole('button', { name: 'Remove' })
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    await question.getByRole('textbox', { name: /^Type/ }).fill(wanted.name.slice(0, -1))
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    await question.getByRole('textbox', { name: /^Type/ }).fill(wanted.name)
    await remove.click()
    await notice(`${wanted.name} was removed`).waitFor()
    await link(wanted.name).waitFor({ state: 'detached' })

    await byAddress()
    await dialog()
      .getByRole('textbox', { name: 'Addresses or a CIDR' })
      .fill(wanted.nodeAddresses[0]!)
    await dialog().getByRole('button', { name: 'Add servers' }).click()
    const found = page.getByRole('dialog', { name: '1 server answered' })
    const hardware = found.getByRole('list', { name: 'Hardware to confirm' }).getByRole('listitem')
    await hardware.getByText(wanted.identity.serial!).first().waitFor()
    await found
      .getByRole('region', { name: 'Results' })
      .getByText(wanted.nodeAddresses[0]!)
      .waitFor()
    expect(search()).toMatch(/\?add=[0-9a-f-]{36}/)
    await page.reload()
    await hardware.getByRole('button', { name: /^Confirm / }).click()
    await hardware.getByText('Confirmed').waitFor()
    await found.getByRole('button', { name: 'Done' }).click()
    await expect
      .poll(async () =>
        (await installation.call(serverList, { query: {} })).items.every(
          (s) => s.identity.state === 'confirmed',
        ),
      )
      .toBe(true)

    await filter('Status', 'deleted')
    await expect.poll(names).toEqual([wanted.name])
  })

  longTest('an address where nothing answers is shown with the reason', async () => {
    await list('?add=new')
    const silent = servers[0]!.nodeAddresses[0]!.replace(/\d+$/, '250')
    await dialog().getByRole('textbox', { name: 'Addresses or a CIDR' }).fill(silent)
    await dialog().getByRole('button', { name: 'Add servers' }).click()
    const none = page.getByRole('dialog', { name: 'No server answered' })
    await none.getByRole('region', { name: 'Results' }).getByText('Not added').waitFor()
    await none
      .getByRole('region', { name: 'Results' })
      .getByText(/refused|did not answer/)
      .first()
      .waitFor()
  })
})

describe('pages that do not exist', () => {
  test('an unknown server shows its id', async () => {
    for (const id of ['00000000-0000-4000-8000-000000000000', 'abc']) {
      await page.goto(`/infra/servers/${id}`)
      await page.getByText(`Server ${id} not found`).waitFor()
    }
    await page.getByRole('link', { name: 'All servers' }).click()
    await table().waitFor()
  })

  test('an unknown path shows Page Not Found, with links back and home', async () => {
    await list()
    await page.goto('/infra/no/such/page')
    await page.getByRole('heading', { level: 1, name: 'Page Not Found' }).waitFor()
    await page.getByText(/might have been removed, renamed or be unavailable/).waitFor()
    await page.getByRole('button', { name: 'Go Back' }).click()
    await table().waitFor()
    await page.goto('/nowhere')
    await page.getByRole('link', { name: 'Go Home' }).click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })
})

longTest('a viewer sees everything, and every disabled action shows the reason', async () => {
  const viewer = { email: 'viewer@steelyard.demo', password: 'only looking at things' }
  await installation.call(userCreate, { body: { ...viewer, name: 'Vera Viewer', role: 'viewer' } })
  const watched = await open(browser, installation.url)
  const their = watched.page
  await signIn(their, viewer)
  const why = 'Your role does not include servers:write'
  const refused = async (button: string | RegExp, reason: string) => {
    const it = their.getByRole('button', { name: button }).first()
    expect(await it.getAttribute('aria-disabled')).toBe('true')
    await it.hover()
    await their.getByRole('tooltip').getByText(reason).waitFor()
    await it.click({ force: true })
    expect(await their.getByRole('dialog').count()).toBe(0)
    await their.mouse.move(0, 0)
  }
  await their.goto('/infra/servers')
  await their.getByRole('table', { name: 'Servers', exact: true }).waitFor()
  await refused('Add servers', why)
  await their
    .getByRole('button', { name: /^Actions for/ })
    .first()
    .click()
  const rename = their.getByRole('menuitem', { name: 'Rename' })
  expect(await rename.getAttribute('aria-disabled')).toBe('true')
  // The menu says once what refuses several of its actions.
  const reason = (await rename.getAttribute('aria-describedby'))!
  expect(await their.locator(`[id="${reason}"]`).innerText()).toContain(why)
  await their.keyboard.press('Escape')
  await their.goto(`/infra/servers/${servers[0]!.id}`)
  await refused('Create patch', why)
  await their.goto('/infra/clusters')
  await refused('Create cluster', 'Your role does not include clusters:write')
  await watched.context.close()
  expect(watched.errors).toEqual([])
})
