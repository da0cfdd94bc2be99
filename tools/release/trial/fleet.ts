/** Simulated servers beside an installed Steelyard, and the user who works with it. */
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { operationGet } from '#contract/operations.ts'
import { serverConfirm, serverList } from '#contract/servers/servers.ts'
import { accessTokenLifetimeSeconds, authorize } from '#contract/sessions.ts'
import { freeBlock } from '../../testing/free-block.ts'
import { apiClient, type Caller } from '../../api-client.ts'
import { findTestBrowser } from '../../browsers.mjs'
import { freePort, run } from '../../processes.ts'
import { addSimulated, everyServer } from '../../simulated.ts'
import type { Release } from '../artefact.ts'

export const admin = { email: 'you@example.com', password: 'a password for the release' }

/** The API as the first user, who signs in again before the access token expires. */
export async function signedIn(url: string): Promise<Caller> {
  const signIn = async () => {
    const { accessToken } = await apiClient(url).call(authorize, { body: admin })
    const renewAt = performance.now() + accessTokenLifetimeSeconds * 500
    return { call: apiClient(url, accessToken).call, renewAt }
  }
  let session = await signIn()
  return async (operation, asked) => {
    if (performance.now() > session.renewAt) session = await signIn()
    return session.call(operation, asked)
  }
}

/** Signs in through the console in a real browser. */
export async function signInByBrowser(url: string): Promise<void> {
  const executablePath = findTestBrowser()!
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const page = await browser.newPage({ baseURL: url })
    page.setDefaultTimeout(60_000)
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto('/auth/login')
    await page.getByLabel('Email').fill(admin.email)
    await page.getByLabel('Password', { exact: true }).fill(admin.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL((to) => !to.pathname.startsWith('/auth'))
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    if (errors.length > 0) throw new Error(`The console has errors: ${errors.join('; ')}`)
  } finally {
    await browser.close()
  }
}

export interface Fleet {
  /** Settings with which the program dials these servers. */
  readonly settings: Readonly<Record<string, string>>
  readonly socket: string
  stop(): Promise<void>
}

/**
 * Starts six simulated servers of this checkout.
 * @param before words before the command, which must become the command
 */
export async function startFleet(
  { work, home }: Release,
  name: string,
  before: readonly string[] = [],
): Promise<Fleet> {
  const factoryPort = await freePort()
  const data = join(work, name)
  const [program, ...args] = [...before, process.execPath]
  const simulator = await run(
    program,
    [
      ...args,
      join(home, 'simulator/src/main.ts'),
      '--servers=6',
      '--speed=20',
      `--subnet-offset=${await freeBlock(2)}`,
      `--factory-port=${factoryPort}`,
      `--data=${data}`,
    ],
    /^Simulator is ready/,
  )
  return {
    settings: {
      STEELYARD_SIMULATE: '6',
      STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
      IMAGE_FACTORY_URL: `http://127.0.0.1:${factoryPort}`,
    },
    socket: join(data, 'control.sock'),
    stop: () => simulator.stop(),
  }
}

export interface Begun {
  readonly clusterId: string
  readonly operationId: string
}

/** Adds the servers, and begins a cluster of two of them. Returns while it is created. */
export async function beginCluster(call: Caller, { socket }: Fleet): Promise<Begun> {
  const simulated = await addSimulated(call, socket)
  const serials = new Map<string | null, string | null>(simulated.map((s) => [s.uuid, s.serial]))
  for (const { id, identity } of await everyServer(call, { confirmed: 'false' }))
    if (identity.state === 'unconfirmed' && serials.get(identity.uuid) === identity.serial)
      await call(serverConfirm, {
        params: { id },
        body: { uuid: identity.uuid!, serial: identity.serial! },
      })
  const { items } = await call(serverList, { query: {} })
  const alike = Map.groupBy(
    items.filter((server) => server.eligibility.every(({ ok }) => ok)),
    (server) => `${server.datacenter!.id} ${server.talos.version}`,
  )
  const [one, other] = [...alike.values()].find((servers) => servers.length > 1) ?? []
  if (!one || !other) throw new Error('No two simulated servers are alike')
  const { cluster, operation } = await call(clusterCreate, {
    body: {
      name: 'release',
      datacenter_id: one.datacenter!.id,
      talos_version: one.talos.version!,
      servers: [
        { node_id: one.id, role: 'control_plane' },
        { node_id: other.id, role: 'worker' },
      ],
    },
  })
  return { clusterId: cluster.id, operationId: operation.id }
}

/** Whether the cluster's operation is still in progress. */
export async function isRunning(call: Caller, { operationId }: Begun): Promise<boolean> {
  const { status } = await call(operationGet, { params: { id: operationId } })
  return ['pending', 'running', 'waiting'].includes(status)
}

/** The servers need seconds; a busy machine may need minutes. */
const readyWithinMs = 600_000

/** Waits until the cluster is ready. @throws Error if its operation ends otherwise */
export async function untilReady(call: Caller, begun: Begun): Promise<void> {
  const until = Date.now() + readyWithinMs
  for (;;) {
    const { status, reason } = await call(clusterGet, { params: { id: begun.clusterId } })
    if (status === 'ready' && !(await isRunning(call, begun))) break
    if (status === 'failed' || Date.now() > until)
      throw new Error(`The cluster is ${status}: ${reason}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  const { status } = await call(operationGet, { params: { id: begun.operationId } })
  if (status !== 'done') throw new Error(`The operation has ended as ${status}`)
}
