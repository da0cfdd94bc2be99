/**
 * Screens at several widths, dark and light: axe finds nothing, nothing is wider than the screen, no
 * word of a status is cut, and the page logs no error or blocked content. `npm test` opens the
 * frequent ones at two widths, each in one theme, `npm run test:all` every screen at four in both.
 * In `npm test` journeys look at the screens that need a cluster (`ofJourneys`).
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { offerCreate } from '#contract/marketplace/offers.ts'
import { patchCreate } from '#contract/patches.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, launch, open, signIn, tell, type Watched } from './browser.ts'
import { type Installation, startInstallation, untilReady } from './installation.ts'
import { frequent, ofJourneys } from './screens/frequent.ts'
import { isFull, lookAt, named, pathsOf } from './screens/look.ts'
import { furnishMarketplace } from './screens/marketplace.ts'
import { furnishNetwork } from './screens/network.ts'
import { furnishRare } from './screens/rare.ts'
import type { World } from './screens/screen.ts'
import { screens } from './screens/screens.ts'
import { walkAsNewViewer } from './testing/viewer-walk.ts'

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
  const { patch_id: patchId } = await call(patchCreate, {
    params: { id: server.id },
    body: {
      name: 'kernel-tuning',
      weight: 520,
      labels: { team: 'storage' },
      body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n',
    },
  })
  const shown = { server: { id: server.id, name: server.name, patchId } }
  // The frequent screens show nothing else.
  if (!isFull) return shown as World
  const { cluster: ready } = await made('poz-ready-01', controlPlane, worker)
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
    ...(await furnishRare(installation, ready, rare, machineOf, made)),
    ...network,
    ...marketplace,
    ...shown,
    ready,
  }
}

const opened = isFull ? screens : named(frequent)

test('every frequent screen exists', () => {
  const all = [...frequent, ...Object.values(ofJourneys).flat()]
  expect(all.filter((name) => named([name]).length !== 1)).toEqual([])
})

describe('every screen', () => {
  // As many tests run at once as maxConcurrency in vitest.config.ts allows.
  test.concurrent.for(opened)('$name', { timeout: 300_000 }, async (screen, { task }) => {
    const pages = free[screen.signedOut ? 'visitor' : 'person']
    const watched = pages.pop()
    if (!watched) throw new Error('More tests at once than there are pages')
    const { page, errors } = watched
    try {
      await lookAt(page, screen, world)
      expect(errors.filter((error) => !screen.mayLog?.test(error))).toEqual([])
    } catch (problem) {
      await tell(page, task, true)
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
      await page.setViewportSize({ width, height: 900 })
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

test('a viewer sees every page, changes nothing, and every disabled control says why', async () => {
  const paths = pathsOf(opened, world)
  const { disabled, ...wrong } = await walkAsNewViewer(browser, installation, paths)
  expect(wrong).toEqual({ silent: [], writes: [], errors: [] })
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
