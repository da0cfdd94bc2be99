/**
 * A site of simulated servers with the API of the program, and the checks that must pass after
 * every fault.
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { inject } from 'vitest'
import type { Cluster, NewClusterInput } from '#contract/clusters/clusters.ts'
import { clusterCreate, clusterDelete, clusterGet } from '#contract/clusters/clusters.ts'
import { hasEnded, type Operation, operationGet } from '#contract/operations.ts'
import {
  type Server,
  serverAdd,
  serverConfirm,
  serverGet,
  serverList,
  serverRemove,
} from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient, type Caller } from '../../../tools/api-client.ts'
import { copyTemplate } from '../../template.ts'
import {
  admin,
  endDatabase,
  type Program,
  type SimulatorProcess,
  type SiteOptions,
  startProgram,
  startSimulator,
  temporaryFolder,
} from '../processes.ts'

const tryLater = /fetch failed|ECONN|: 503 |: 429 |socket|terminated/

/**
 * Retries calls whose connection fails or that get the response "try later", or another error that
 * `also` finds.
 */
export async function patiently<T>(
  ask: () => Promise<T>,
  withinMs = 30_000,
  also?: RegExp,
): Promise<T> {
  for (const end = Date.now() + withinMs; ;) {
    try {
      return await ask()
    } catch (error) {
      const text =
        error instanceof Error ? `${error.message} ${String(error.cause)}` : String(error)
      if (Date.now() > end || !(tryLater.test(text) || also?.test(text))) throw error
    }
    await pause(50)
  }
}

/**
 * Signs in. Once an access token has expired, the caller signs in again: on a busy machine a case
 * may last longer than one.
 */
export async function signIn(url: string): Promise<Caller> {
  const signedIn = async () => {
    const { accessToken } = await patiently(() => apiClient(url).call(authorize, { body: admin }))
    return apiClient(url, accessToken).call
  }
  let call = await signedIn()
  const caller: Caller = async (operation, asked) => {
    try {
      return await call(operation, asked)
    } catch (error) {
      if (!(error instanceof Error && /\b401 .*session_expired/.test(error.message))) throw error
      call = await signedIn()
      return call(operation, asked)
    }
  }
  return caller
}

export interface Site {
  readonly folder: string
  readonly simulator: SimulatorProcess
  readonly datacenterId: string
  /**
   * Adds and confirms the next servers of the site. The program gets only the servers that a case
   * needs, so that it has nothing else to do.
   */
  take(call: Caller, count: number): Promise<Server[]>
  /** Starts the program on this site's data folder. */
  start(more?: Readonly<Record<string, string>>): Promise<Program>
  stop(): Promise<void>
}

/**
 * Starts the simulator and copies the data folder of the run, so that each start of the program
 * finds existing data.
 */
export async function openSite(options: SiteOptions): Promise<Site> {
  const { folder, remove } = temporaryFolder()
  const simulator = await startSimulator(folder, { speed: 200, ...options })
  const data = `${folder}/data`
  const template = inject('template')
  const datacenterId = template.datacenterId!
  mkdirSync(data, { mode: 0o711 })
  copyTemplate(template, data)
  const machines = [...(await simulator.servers())]
  const started = new Set<Program>()
  return {
    folder: data,
    simulator,
    datacenterId,
    async take(call, count) {
      const chosen = machines.splice(0, count)
      if (chosen.length < count) throw new Error('The site has no more servers')
      let known = new Map<string | null, Server>()
      const missing = () => chosen.filter(({ uuid }) => !known.has(uuid.toLowerCase()))
      // On a busy machine a server may miss its time limit. That isn't tested here, so try again.
      for (let tries = 0; tries < 3 && missing().length > 0; tries++) {
        const { operation } = await call(serverAdd, {
          body: { addresses: missing().map((m) => m.address), datacenter_id: datacenterId },
        })
        await ended(call, operation.id)
        known = new Map(
          (await call(serverList, { query: { per_page: 1000 } })).items.map((s) => [
            s.identity.uuid,
            s,
          ]),
        )
      }
      const found = chosen.map(({ uuid }) => known.get(uuid.toLowerCase())!)
      for (const { id, identity } of found)
        await patiently(() =>
          call(serverConfirm, {
            params: { id },
            body: { uuid: identity.uuid!, serial: identity.serial! },
          }),
        )
      return found
    },
    async start(more) {
      const next = await startProgram(data, { IMAGE_FACTORY_URL: simulator.factory, ...more })
      started.add(next)
      return next
    },
    async stop() {
      for (const each of started) await each.kill()
      await endDatabase(data)
      await simulator.stop()
      remove()
    },
  }
}

/** Waits until an operation has ended, across restarts of the program. */
export async function ended(call: Caller, id: string, withinMs = 60_000): Promise<Operation> {
  for (const end = Date.now() + withinMs; ;) {
    const operation = await patiently(() => call(operationGet, { params: { id } }))
    if (hasEnded(operation)) return operation
    if (Date.now() > end) {
      const open = operation.steps
        .filter((s) => s.status !== 'done')
        .map((s) => `${s.status} ${s.title}: ${s.reason}`)
      throw new Error(
        `The operation has not ended within ${withinMs / 1000} s: ${operation.status} ${operation.reason}\n${open.join('\n')}`,
      )
    }
    await pause(200)
  }
}

/**
 * Creates a cluster of three control planes, or of one if there are fewer than four servers. The
 * other servers become workers.
 */
export async function create(
  call: Caller,
  site: Site,
  name: string,
  nodes: readonly Server[],
  more: Partial<NewClusterInput> = {},
): Promise<{ cluster: Cluster; operation: Operation }> {
  const controlPlanes = nodes.length < 4 ? 1 : 3
  const servers = nodes.map(({ id }, i) => ({
    node_id: id,
    role: i < controlPlanes ? ('control_plane' as const) : ('worker' as const),
  }))
  return call(clusterCreate, { body: { name, datacenter_id: site.datacenterId, servers, ...more } })
}

/**
 * The cluster as soon as it shows ready, else as it is after 30 s. Its findings are judged up to a
 * second after what they are judged from, so a server that has just come back may still be one.
 */
async function settled(call: Caller, id: string): Promise<Cluster> {
  for (const end = performance.now() + 30_000; ;) {
    const cluster = await patiently(() => call(clusterGet, { params: { id } }))
    if (cluster.status === 'ready' || performance.now() > end) return cluster
    await pause(200)
  }
}

/**
 * Problems at the end, as sentences. Empty if the cluster is ready, etcd was bootstrapped once, and
 * no server was installed twice or lost.
 */
export async function findings(
  call: Caller,
  site: Site,
  clusterId: string,
  nodes: readonly Server[],
  end: Operation,
): Promise<string[]> {
  const wrong: string[] = []
  const cluster = await settled(call, clusterId)
  if (end.status !== 'done') wrong.push(`the operation is ${end.status}: ${end.reason}`)
  if (cluster.status !== 'ready') wrong.push(`the cluster is ${cluster.status}: ${cluster.reason}`)
  const counters = await site.simulator.counters()
  const etcds = counters.clusters
    .filter((c) => c.name === cluster.name)
    .reduce((n, c) => n + c.etcdMade, 0)
  if (etcds !== 1) wrong.push(`etcd was made ${etcds} times`)
  for (const node of nodes) {
    const { installs, resets } = counters.servers.find(
      (s) => s.uuid.toLowerCase() === node.identity.uuid,
    )!
    if (installs !== 1) wrong.push(`${node.name} was installed ${installs} times`)
    if (resets !== 0) wrong.push(`${node.name} was reset`)
    const server = await patiently(() => call(serverGet, { params: { id: node.id } }))
    if (
      server.status !== 'ready' ||
      server.cluster?.id !== clusterId ||
      server.operation_id !== null
    )
      wrong.push(
        `${node.name} is ${server.status}, in ${server.cluster?.name}, held by ${server.operation_id}`,
      )
  }
  const open = end.steps.filter((s) => s.status !== 'done' && s.status !== 'skipped')
  if (open.length > 0) wrong.push(`steps not done: ${open.map((s) => s.key).join(', ')}`)
  return wrong
}

/**
 * Removes the cluster and its servers from the program, so that they don't affect the next case.
 */
export async function dismiss(
  call: Caller,
  site: Site,
  clusterId: string,
  nodes: readonly Server[],
): Promise<void> {
  const { operation } = await patiently(() =>
    call(clusterDelete, { params: { id: clusterId }, query: { force: 'true' } }),
  )
  await ended(call, operation.id)
  for (const { id, identity } of nodes) {
    await patiently(() => call(serverRemove, { params: { id }, query: { force: 'true' } }))
    await site.simulator.ask('POST', `/servers/${identity.uuid}/power-off`)
  }
}
