/**
 * What the specification says about the frame of every screen: sizes, the drawer, crumbs, the
 * version label, dialogs on narrow screens.
 */
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Server, serverList } from '#contract/servers/servers.ts'
import packageFile from '../package.json' with { type: 'json' }
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, launch, open, signIn, tell } from './browser.ts'
import { admin, type Installation, sharedInstallation } from './installation.ts'

let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
let server: Server

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([sharedInstallation(), launch()])
  ;({ page, errors } = await open(browser, installation.url))
  server = (await installation.call(serverList, { query: {} })).items[0]!
  await signIn(page)
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
beforeEach(() => page.setViewportSize({ width: 1280, height: 900 }))
afterEach(async ({ task }) => {
  await tell(page, task)
  expect(errors.splice(0)).toEqual([])
})

const boxOf = async (locator: Locator) => (await locator.boundingBox())!
const sidebar = () => page.getByRole('complementary', { name: 'Main' })
const sections = () => page.getByRole('navigation', { name: 'Sections' })
const label = (on = page) => on.getByLabel('Version', { exact: true })
const resize = (width: number) => page.setViewportSize({ width, height: 900 })

/** Whether the whole text can be seen: it is in the window, and not cut. */
const isSeen = (locator: Locator) =>
  locator.evaluate((element) => {
    const { left, right, top, width } = element.getBoundingClientRect()
    const view = element.ownerDocument.defaultView!
    return (
      width > 20 &&
      left >= 0 &&
      right <= view.innerWidth &&
      top >= 0 &&
      view.getComputedStyle(element).clipPath === 'none'
    )
  })

test('the sidebar is 16.25rem wide; below 1439 px 5.25rem, with icons only', async () => {
  await page.goto('/infra/servers')
  await sections().getByRole('link', { name: 'Servers' }).waitFor()
  const widthAt = async (width: number) => {
    await resize(width)
    return (await boxOf(sidebar())).width
  }
  expect([
    await widthAt(1920),
    await widthAt(1439),
    await widthAt(1438),
    await widthAt(744),
  ]).toEqual([260, 260, 84, 84])
  const entry = sections().getByRole('link', { name: 'Servers' })
  expect((await boxOf(entry.locator('svg').first())).width).toBe(20)
  expect(await isSeen(entry.getByText('Servers'))).toBe(false)
})

longTest(
  'the entries of the sidebar are below the label Infrastructure, in the specified order',
  async () => {
    await resize(1920)
    await page.goto('/infra/servers')
    const group = sections().getByRole('group', { name: 'Infrastructure' })
    await group.getByText('Infrastructure').waitFor()
    const names = await group
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('title')))
    expect(names).toEqual(['Datacenters', 'Clusters', 'Servers', 'Network'])
  },
)

test('below 744 px a header with a drawer replaces the sidebar, and the drawer closes on navigation', async () => {
  await page.goto('/infra/servers')
  await resize(743)
  await sidebar().waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Open menu' }).click()
  const drawer = page.getByRole('dialog', { name: 'Menu' })
  await drawer.waitFor()
  expect(await drawer.getByRole('link').count()).toBe(4)
  await drawer.getByRole('link', { name: /^Network/ }).click()
  await drawer.waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1, name: /^Network/ }).waitFor()
})

longTest(
  'the profile menu opens by its chevron, and shows Profile, the email and Log out',
  async () => {
    await page.goto('/')
    const trigger = page.getByRole('button', { name: 'Profile' })
    await trigger.waitFor()
    expect(await trigger.locator('svg').count()).toBe(1)
    await trigger.click()
    const menu = page.getByRole('menu', { name: 'Profile' })
    await menu.getByText('Profile', { exact: true }).waitFor()
    await menu.getByText(admin.email).waitFor()
    await menu.getByRole('menuitem', { name: 'Log out' }).waitFor()
    await page.keyboard.press('Escape')
    await menu.waitFor({ state: 'detached' })
  },
)

test('at 744 px a dialog is a bottom sheet, on wider screens it is centred and 27.5rem wide', async () => {
  await page.goto(`/infra/servers/${server.id}`)
  const openDialog = async () => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    const dialog = page.getByRole('dialog', { name: 'Edit server name' })
    await dialog.waitFor()
    await dialog.evaluate((element) =>
      Promise.all(
        element.getAnimations().map(({ finished }: { finished: Promise<unknown> }) => finished),
      ),
    )
    return dialog
  }
  const centred = await boxOf(await openDialog())
  expect([centred.width, centred.x + centred.width / 2]).toEqual([440, 640])
  expect(Math.abs(centred.y + centred.height / 2 - 450)).toBeLessThan(2)
  await page.keyboard.press('Escape')
  await resize(744)
  const sheet = await boxOf(await openDialog())
  expect([sheet.x, sheet.width, sheet.y + sheet.height]).toEqual([0, 744, 900])
  await page.keyboard.press('Escape')
})

test('the version is at the bottom right of every screen, above sheets and on the error screen too, and clicks pass through it', async () => {
  const isAtCorner = async (on: Page) => {
    const { width, height } = on.viewportSize()!
    await label(on).waitFor({ state: 'attached' })
    const { text, right, bottom, passes, isOnTop } = await label(on).evaluate((element) => {
      const box = element.getBoundingClientRect()
      const at = () =>
        element.ownerDocument.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)
      const passed = at() !== element
      element.style.pointerEvents = 'auto'
      const isTop = at() === element
      element.style.pointerEvents = ''
      return {
        text: element.textContent,
        right: box.right,
        bottom: box.bottom,
        passes: passed,
        isOnTop: isTop,
      }
    })
    expect({
      text,
      passes,
      isOnTop,
      isRight: width - right < 50 && right <= width,
      isBottom: bottom === height,
    }).toEqual({
      text: packageFile.version,
      passes: true,
      isOnTop: true,
      isRight: true,
      isBottom: true,
    })
  }
  for (const path of ['/', '/infra/servers', '/no/such/page']) {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
    await isAtCorner(page)
  }
  await resize(375)
  await page.goto('/infra/servers?add=new')
  await page.getByRole('dialog').waitFor()
  await isAtCorner(page)
  const { context: visitors, page: visitor } = await open(browser, installation.url)
  for (const path of ['/', '/auth/login']) {
    await visitor.goto(path)
    await visitor.getByRole('heading', { level: 1 }).first().waitFor()
    await isAtCorner(visitor)
  }
  // The frame itself can't be loaded.
  await visitor.route('**/assets/visitors-*.js', (route) => route.abort())
  await visitor.reload()
  await visitor.getByRole('heading', { name: 'Something went wrong' }).waitFor()
  await isAtCorner(visitor)
  await visitors.close()
})

test('visitors are asked whether they already have an account, on phones too', async () => {
  for (const width of [1280, 375]) {
    const {
      context: visitors,
      page: visitor,
      errors: seen,
    } = await open(browser, installation.url, { width })
    await visitor.goto('/')
    const header = visitor.getByRole('banner')
    const prompt = header.getByText('Already have an account?')
    await prompt.waitFor()
    expect([
      width,
      await isSeen(prompt),
      await isSeen(header.getByRole('link', { name: 'Sign in' })),
    ]).toEqual([width, true, true])
    expect(await isSeen(header.getByRole('button', { name: 'Join waitlist' }))).toBe(true)
    await visitors.close()
    expect(seen).toEqual([])
  }
})

test('on a phone every page above is reachable by its crumb', async () => {
  await resize(375)
  await page.goto(`/infra/servers/${server.id}/create-patch`)
  const crumbs = page.getByRole('navigation', { name: 'Breadcrumb' })
  await crumbs.getByText('Create Patch').waitFor()
  // The page itself is in sight, also after the name above it has come.
  await crumbs.getByText(server.name).waitFor({ state: 'attached' })
  expect(
    await crumbs
      .getByRole('list')
      .evaluate((list) => list.scrollLeft + list.clientWidth >= list.scrollWidth - 1),
  ).toBe(true)
  await crumbs.getByRole('link', { name: server.name }).click()
  await page.getByRole('heading', { level: 1, name: server.name }).waitFor()
  await crumbs.getByRole('link', { name: 'Servers' }).click()
  await page.getByRole('heading', { level: 1, name: /^Servers/ }).waitFor()
})

longTest(
  "a page whose address can't be read shows Page Not Found, and a repeated param counts once",
  async () => {
    await page.goto('/%ZZ')
    await page.getByRole('heading', { level: 1, name: 'Page Not Found' }).waitFor()
    await page.getByText('The address cannot be read: /%ZZ').waitFor()
    await page.goto('/infra/servers?q=nothing-is-called-so&q=')
    await page.getByText(/matches these filters/).waitFor()
  },
)

longTest(
  'a menu, a dialog and the palette that fail to load say so in their own place, and load when the file is there again',
  async () => {
    const { context: own, page: one } = await open(browser, installation.url)
    await signIn(one)
    await one.goto('/infra/servers')
    await one.getByRole('table', { name: 'Servers', exact: true }).waitFor()
    await one.route('**/assets/*.js', (route) => route.abort())
    const notice = one
      .getByRole('alert')
      .filter({ hasText: 'This part of Steelyard could not be loaded.' })
    // A key that is pressed while the page is mounted may be lost; a second one would close what the
    // first has opened.
    await expect
      .poll(
        async () => {
          const isShown = (await notice.count()) > 0
          if (!isShown) await one.keyboard.press('Control+k')
          return isShown
        },
        { timeout: 60_000, interval: 3_000 },
      )
      .toBe(true)
    expect(await one.getByRole('table', { name: 'Servers', exact: true }).count()).toBe(1)
    await one.unrouteAll({ behavior: 'wait' })
    await one.getByRole('dialog', { name: 'Search and commands' }).waitFor()
    await notice.waitFor({ state: 'detached' })
    await own.close()
  },
)
