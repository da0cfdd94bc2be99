/**
 * Screens at several widths, dark and light: axe finds nothing, nothing is wider than the screen, no
 * word of a status is cut, and the page logs no error or blocked content. `npm test` opens the
 * frequent ones at two widths, each in one theme, `npm run test:all` every screen at four in both.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { offerCreate } from '#contract/marketplace/offers.ts'
import { patchCreate } from '#contract/patches.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { userCreate } from '#contract/users.ts'
import { longTests } from '../tools/testing/length.ts'
import { longTest } from '../tools/testing/long-test.ts'
import {
  closePages,
  expectAccessible,
  launch,
  open,
  shot,
  signIn,
  tell,
  type Theme,
  type Watched,
  widths,
} from './browser.ts'
import { type Installation, startInstallation, until, untilReady } from './installation.ts'
import { listWidths, unreadable } from './screens/cut.ts'
import { frequent } from './screens/frequent.ts'
import { furnishMarketplace } from './screens/marketplace.ts'
import { furnishNetwork } from './screens/network.ts'
import { furnishRare } from './screens/rare.ts'
import type { RareWorld, Screen, World } from './screens/screen.ts'
import { screens } from './screens/screens.ts'
import { walkAsViewer } from './testing/viewer-walk.ts'

/** One server that has content on all disks, and one without disks. */
const special = {
  3: {
    hardware: 'dell-r760',
    contents: {
      nvme0n1: 'ceph',
      nvme1n1: 'ceph',
      nvme2n1: 'zfs',
      nvme3n1: 'lvm',
      sda: 'ext4',
      sdb: 'raid',
    },
    media: ['usb', 'virtual'],
  },
  8: { missing_disks: true },
}

let installation: Installation
let browser: Browser
let world: World
/**
 * Pages of visitors and of signed-in users that no test uses at the moment. Only one test at a time
 * uses a page.
 */
const free: Record<'visitor' | 'person', Watched[]> = { visitor: [], person: [] }

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([
    startInstallation({ speed: 20, special }),
    launch(),
  ])
  const look = () => open(browser, installation.url)
  free.visitor = await Promise.all([look(), look()])
  free.person = await Promise.all([look(), look()])
  ;[world] = await Promise.all([furnish(), ...free.person.map(({ page }) => signIn(page))])
}, 300_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})

interface Simulated {
  uuid: string
  name: string
  address: string
}

/** Makes the data of the screens, through the API and the simulator. */
async function furnish(): Promise<World> {
  const { call, simulator } = installation
  const { items } = await call(serverList, { query: {} })
  const simulated = (await simulator<{ servers: Simulated[] }>('/servers')).servers
  const machineOf = (s: Server) => simulated.find((m) => m.uuid === s.identity.uuid)!.name
  const at = (code: string) =>
    items.filter((s) => s.datacenter?.code === code && s.eligibility.every((e) => e.ok))
  const [one, two, filled, silent] = at('DE-FRA-1').toSorted((a, b) =>
    (a.talos.version ?? '') < (b.talos.version ?? '') ? -1 : 1,
  )
  const holds = (s: Server) => s.resources.disks.some(({ content }) => content !== 'empty')
  const [server, removed, controlPlane, worker, twin] = at('PL-POZ-1').toSorted(
    (a, b) => Number(holds(b)) - Number(holds(a)) || (a.name < b.name ? -1 : 1),
  )
  if (
    !one ||
    !two ||
    !filled ||
    !silent ||
    !server ||
    !removed ||
    !controlPlane ||
    !worker ||
    !twin
  )
    throw new Error('Too few free servers')

  const made = (name: string, cp: Server, w?: Server) =>
    call(clusterCreate, {
      body: {
        name,
        datacenter_id: cp.datacenter!.id,
        talos_version: cp.talos.version!,
        servers: [
          { node_id: cp.id, role: 'control_plane' },
          ...(w ? [{ node_id: w.id, role: 'worker' as const }] : []),
        ],
      },
    })
  const [patch, { cluster: ready }] = await Promise.all([
    call(patchCreate, {
      params: { id: server.id },
      body: {
        name: 'kernel-tuning',
        weight: 520,
        labels: { team: 'storage' },
        body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n',
      },
    }),
    made('poz-ready-01', controlPlane, worker),
  ])
  await untilReady(installation, ready.id)
  // The ready cluster has an offer whose access address is not yet the address of the cluster.
  const offer = await call(offerCreate, {
    body: {
      cluster_id: ready.id,
      price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' },
    },
  })
  const network = await furnishNetwork(installation, ready)
  const rare = { one, two, filled, silent, removed, twin, controlPlane, worker }
  const marketplace = await furnishMarketplace(installation, controlPlane, offer, worker)
  return {
    // The frequent screens show none of it.
    ...(isFull ? await furnishRare(installation, ready, rare, machineOf, made) : ({} as RareWorld)),
    ...network,
    ...marketplace,
    server: { id: server.id, name: server.name, patchId: patch.patch_id },
    ready,
  }
}

/** Waits until nothing on the page is busy. */
const settled = (page: Page) =>
  until(
    'the page is settled',
    async () => (await page.locator('[aria-busy="true"]:visible').count()) === 0,
  )

const pathOf = ({ path }: Screen) => (typeof path === 'string' ? path : path(world))

async function enter(page: Page, screen: Screen): Promise<void> {
  await page.goto(pathOf(screen))
  await screen.ready(page, world)
  await settled(page)
}

const wear = (page: Page, theme: Theme) =>
  page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
const tooWide = (page: Page) =>
  page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )

const height = 900

/** Whether exactly `count` dialogs are visible and have stopped moving. */
const stand = (dialogs: Locator, count: number) =>
  dialogs.evaluateAll(
    (all, wanted) =>
      all.length === wanted.count &&
      all.every((dialog) => {
        const place = dialog.getBoundingClientRect()
        return (
          place.height > 0 &&
          place.top < wanted.height &&
          dialog
            .getAnimations()
            .every(({ playState }: { playState: string }) => playState === 'finished')
        )
      }),
    { count, height },
  )

/** Waits for the next frame, when the page has adapted to a new width. */
const drawn = (page: Page) =>
  page.evaluate('new Promise((heard) => requestAnimationFrame(() => heard()))')

/** Pictures are taken of all screens. */
const isFull = longTests || process.env['STEELYARD_SHOTS'] !== undefined
const opened = isFull ? screens : screens.filter(({ name }) => frequent.includes(name))
const sizes = isFull ? widths : ([375, 1280] as const)

/**
 * The themes in which axe checks a screen at a width, and the rules; without them, all. In full:
 * both themes at every width; only the colours differ. Otherwise once in each theme: all rules at
 * the greater width, and what a narrow screen changes, colours and sizes, at the smaller one.
 */
const checksAt = (screen: Screen, width: number): { theme: Theme; rules?: string[] }[] => {
  if (isFull || screen.only !== undefined)
    return [{ theme: 'light', rules: ['color-contrast'] }, { theme: 'dark' }]
  return width === 375
    ? [{ theme: 'light', rules: ['color-contrast', 'target-size', 'scrollable-region-focusable'] }]
    : [{ theme: 'dark' }]
}

/** `count`: the number of dialogs when the screen was opened. */
async function look(page: Page, screen: Screen, width: number, count: number): Promise<void> {
  const dialogs = page.getByRole('dialog')
  // On narrow screens a dialog is a sheet that slides in. Its code may still be loading; until it
  // is visible, everything else on the page is hidden.
  await until('the dialogs stand where they can be seen', () => stand(dialogs, count))
  const what = `${screen.name} at ${width}`
  // Key presses may have scrolled the page. Scroll to the top: of an element partly under the
  // header, axe would check only the visible part.
  await page.evaluate('scrollTo(0, 0)')
  expect(await tooWide(page), `${what} is wider than the screen by`).toBeLessThanOrEqual(0)
  for (const { theme, rules } of checksAt(screen, width)) {
    await wear(page, theme)
    await shot(page, `${screen.name}-${width}-${theme}`)
    await expectAccessible(page, `${what}, ${theme}`, rules)
  }
}

/** Fails if a list of the screen can't be read, at a width. */
async function readLists(page: Page, screen: Screen): Promise<void> {
  const found: string[] = []
  for (const width of isFull ? listWidths : sizes) {
    await page.setViewportSize({ width, height })
    await drawn(page)
    for (const text of await unreadable(page)) found.push(`at ${width}: ${text}`)
  }
  expect(found, `${screen.name}: what can't be read`).toEqual([])
}

test('every frequent screen exists', () => {
  expect(frequent.filter((name) => !screens.some((screen) => screen.name === name))).toEqual([])
})

describe('every screen', () => {
  // As many tests run at once as maxConcurrency in vitest.config.ts allows.
  test.concurrent.for(opened)('$name', { timeout: 300_000 }, async (screen) => {
    const pages = free[screen.signedOut ? 'visitor' : 'person']
    const watched = pages.pop()
    if (!watched) throw new Error('More tests at once than there are pages')
    const { page, errors } = watched
    try {
      const ownSizes = sizes.filter((width) => screen.only === undefined || screen.only === width)
      let count: number | undefined
      for (const width of ownSizes.toReversed()) {
        await page.setViewportSize({ width, height })
        if (count === undefined || screen.anew) {
          await enter(page, screen)
          count = await page.getByRole('dialog').count()
        } else await drawn(page)
        await look(page, screen, width, count)
      }
      if (screen.only === undefined && screen.anew === undefined && count === 0)
        await readLists(page, screen)
      expect(errors.filter((error) => !screen.mayLog?.test(error))).toEqual([])
    } catch (problem) {
      await tell(page, 'fail')
      throw problem
    } finally {
      errors.splice(0)
      pages.push(watched)
    }
  })
})

longTest.each([375, 1280] as const)(
  'at %i px a button below the drift alarm does not move while the alarm loads',
  async (width) => {
    const { page } = free.person[0]!
    let answer = (): void => undefined
    const held = new Promise<void>((resolve) => (answer = resolve))
    // The servers come after the cluster, and the difference after both.
    await page.route(/\/v1\/nodes\?.*cluster=/, async (route) => {
      await pause(500)
      await route.continue()
    })
    await page.route('**/drift', async (route) => {
      await held
      await route.continue()
    })
    try {
      await page.setViewportSize({ width, height })
      await page.goto(`/infra/clusters/${world.ready.id}?tab=keys`)
      const button = page.getByRole('button', { name: 'Update resources' })
      await button.waitFor()
      const before = await button.boundingBox()
      answer()
      await page.getByRole('button', { name: 'Keep the changes' }).waitFor()
      expect(await button.boundingBox()).toEqual(before)
    } finally {
      answer()
      await page.unrouteAll({ behavior: 'wait' })
    }
  },
)

/** The paths of the opened screens. */
const viewerPaths = (): string[] => [
  ...new Set(opened.filter(({ signedOut }) => !signedOut).map(pathOf)),
]

test('a viewer sees every page, changes nothing, and every disabled control says why', async () => {
  const viewer = { email: 'viewer@steelyard.demo', password: 'only looking at things' }
  await installation.call(userCreate, { body: { ...viewer, name: 'Vera Viewer', role: 'viewer' } })
  const { page, context, errors } = await open(browser, installation.url)
  await signIn(page, viewer)
  const { disabled, silent, writes } = await walkAsViewer(page, viewerPaths(), settled)
  await context.close()
  expect({ silent, writes, errors }).toEqual({ silent: [], writes: [], errors: [] })
  expect(disabled).toBeGreaterThan(isFull ? 50 : 5)
  // The walk is many pages long; on a busy machine it took two minutes.
}, 600_000)

test.each(['dark', 'light'] as const)(
  'the theme follows the system until the user chooses one: %s',
  async (theme) => {
    const { page, context, errors } = await open(browser, installation.url, { theme })
    await page.goto('/')
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).waitFor()
    expect(await page.locator('html').getAttribute('data-theme')).toBe(theme)
    await context.close()
    expect(errors).toEqual([])
  },
)
