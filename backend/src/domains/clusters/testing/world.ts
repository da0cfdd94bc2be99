/**
 * A backend and fast simulated servers in one process. The reconcilers call the servers over the
 * network. Time is real, because certificates and sockets use real time. Due reconcilers run at
 * once and concurrently, as in production.
 */
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { vi } from 'vitest'
import { clusterChange, type ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import type { Cluster, NewClusterInput } from '#contract/clusters/clusters.ts'
import { clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { type Operation, operationGet } from '#contract/operations.ts'
import type { ConfirmedDisk } from '#contract/disks/disks.ts'
import {
  type Server,
  serverAdd,
  serverConfirm,
  serverGet,
  serverList,
} from '#contract/servers/servers.ts'
import { kubernetesOf } from '#simulator/src/kubernetes/joining.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import type { Simulator } from '#simulator/src/start.ts'
import type { TalosMinor } from '#talos/versions.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { testClock } from '../../../testing/clock.ts'
import { type Log, silent } from '../../../log.ts'
import {
  type Backend,
  type BackendOptions,
  type SignedIn,
  startBackend,
} from '../../../testing/backend.ts'
import { whenOver } from '../../../testing/ending.ts'
import { nextRunAt } from '../../../testing/engine.ts'
import { startFleet } from '../../../testing/fleet.ts'
import { temporaryFolder } from '../../../testing/folder.ts'
import { type Driver, endings, freshOperations, hangsAfterMs, realTime } from './driver.ts'

export interface Another {
  readonly backend: Backend
  readonly admin: SignedIn
  readonly datacenterId: string
  alone<T>(work: () => Promise<T>): Promise<T>
}

export interface ClusterWorld {
  readonly backend: Backend
  readonly simulator: Simulator
  /** Stops the backend's reconcilers and its queries of servers. The simulated servers continue. */
  halt(): Promise<void>
  readonly alone: Driver['alone']
  /**
   * Makes a request, and gives the server other hardware before a reconciler works on the request.
   * The request comes first, because it is refused if a contact has noticed the other hardware.
   */
  withOtherHardware<T>(server: Pick<Server, 'id'>, request: () => Promise<T>): Promise<T>
  /**
   * Starts a second process with the same database and a clock of its own, which carries out work
   * as well.
   */
  beside(): Promise<{ readonly backend: Backend; readonly admin: SignedIn; stop(): Promise<void> }>
  /** Starts another Steelyard with a database of its own, which reaches the same machines. */
  another(): Promise<Another>
  readonly admin: SignedIn
  readonly datacenterId: string
  /** Confirmed servers in maintenance, in the simulator's order. */
  readonly nodes: readonly Server[]
  /** The next servers that no test has taken yet. */
  take(count: number): Server[]
  /**
   * Builds a request for a cluster of these servers. The first three are control planes, or only
   * the first if there are fewer than four servers.
   */
  ask(nodes: readonly Server[], asked?: Partial<NewClusterInput>): NewClusterInput
  /** Creates the cluster. Throws on refusal. */
  create(
    nodes: readonly Server[],
    asked?: Partial<NewClusterInput>,
  ): Promise<{ cluster: Cluster; operation: Operation }>
  /** Changes the cluster at once. Throws on refusal. */
  change(
    clusterId: string,
    change: ClusterChangeInput,
    confirmed?: readonly ConfirmedDisk[],
  ): Promise<Operation>
  cluster(id: string): Promise<Cluster>
  /** The cluster after everything was judged. */
  judged(id: string): Promise<Cluster>
  /**
   * The cluster once it is ready. On a busy machine a node or a component may answer late at the
   * end of a change, which is a finding until the next look.
   */
  recovered(id: string): Promise<Cluster>
  operation(id: string): Promise<Operation>
  server(id: string): Promise<Server>
  /** Waits until the operation has ended and returns it. */
  ended(operationId: string): Promise<Operation>
  /**
   * Polls `ask` until `is` accepts the value. Throws with the last value after five minutes,
   * because a timeout of the test would not show it.
   */
  until<T>(ask: () => Promise<T>, is: (value: T) => boolean): Promise<T>
  /**
   * Moves the clock to the next run of an object, after its current run has ended, and returns by
   * how many ms. If the clock moved during a run, the run after it would be due later by as much,
   * and the test would wait for it in real time.
   */
  toNextRun(queue: string, key: string): Promise<number>
  machine(node: Pick<Server, 'id'>): Simulator['servers'][number]
  /** The nodes of the cluster by name, from the Kubernetes API of this control plane. */
  nodeNames(controlPlane: Pick<Server, 'id'>): string[]
  /** How many etcd clusters were bootstrapped for clusters of this name. */
  etcds(clusterName: string): number
}

export interface WorldOptions {
  readonly servers?: number
  /**
   * Special properties of servers by their number (from 1), in the format of a simulator scenario.
   */
  readonly special?: Record<string, object>
  readonly speed?: number
  readonly seed?: string
  readonly log?: Log
  /** Of the media that the servers booted, and of new clusters by default. */
  readonly minor?: Pick<TalosMinor, 'version' | 'kubernetes'>
  /** The version of the media that the servers booted, if it isn't that of `minor`. */
  readonly talos?: string
  /** Settings in addition to those of every world. */
  readonly environment?: Readonly<Record<string, string>>
  readonly reading?: BackendOptions['reading']
}

export async function clusterWorld({
  servers = 6,
  special = {},
  speed = 100,
  seed = 'clusters',
  log = silent,
  minor = { version: 'v1.13.9', kubernetes: '1.36.3' },
  talos = minor.version,
  environment = {},
  reading = (read) => read,
}: WorldOptions = {}): Promise<ClusterWorld> {
  // Longer than the limit of `until`, whose error says what it waited for.
  vi.setConfig({ testTimeout: 600_000 })
  const folder = temporaryFolder('world')
  const keysFile = path.join(folder, 'keys.json')
  writeFileSync(keysFile, JSON.stringify(await readyKeys()), { mode: 0o600 })
  const simulator = await startFleet({
    dataDir: path.join(folder, 'simulator'),
    scenario: { seed, servers, speed, datacenters: ['PL-POZ-1'], talos: [talos], special },
  })
  const clock = testClock(Date.now())
  const settings = {
    STEELYARD_SIMULATE: String(servers),
    STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
    STEELYARD_SIMULATE_KEYS: keysFile,
    ...environment,
    IMAGE_FACTORY_URL: simulator.factory.url,
  }
  const backend = await startBackend({ environment: settings, clock, log, reading })
  const driver = realTime(backend)
  const contact = backend.domains.all.find((d) => d.name === 'servers')!
  await contact.start!()
  const halt = async () => void (await Promise.all([driver.stop(), contact.stop!()]))
  const start = async (from: { readonly beside?: Backend }) => {
    const own = testClock(Date.now())
    const other = await startBackend({ ...from, environment: settings, clock: own, log, reading })
    const contacts = other.domains.all.find((d) => d.name === 'servers')!
    const work = realTime(other)
    await contacts.start!()
    const stop = async () => void (await Promise.all([work.stop(), contacts.stop!()]))
    // Before the end of its backend, which begins when the test is over.
    whenOver(stop)
    return {
      backend: other,
      admin: await other.signIn({ role: 'admin', lasts: true }),
      stop,
      alone: <T>(act: () => Promise<T>) => work.alone(act),
    }
  }
  whenOver(async () => {
    await halt()
    await simulator.stop()
    await backend.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const admin = await backend.signIn({ role: 'admin', lasts: true })

  const until: ClusterWorld['until'] = async (ask, is) => {
    for (const end = Date.now() + hangsAfterMs; ;) {
      const began = performance.now()
      const value = await ask()
      if (is(value)) return value
      if (Date.now() > end)
        throw new Error(
          `Not so within ${hangsAfterMs / 1000} s: ${JSON.stringify(value).slice(-6000)}`,
        )
      // Asks less often while the processor is busy.
      const pauseMs = Math.min(200, Math.max(40, 2 * (performance.now() - began)))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  const operation = freshOperations(backend, async (id) => {
    const called = await admin.call(operationGet, { params: { id } })
    if (!called.answer) throw new Error(`The operation can't be read: ${called.text}`)
    return called.answer
  })
  const toNextRun: ClusterWorld['toNextRun'] = async (queue, key) => {
    const due = await until(
      () => nextRunAt(backend.platform.db, queue, key),
      (at) => at !== null,
    )
    const ms = Math.max(0, due!.getTime() - clock.now())
    clock.advance(ms)
    return ms
  }
  const hasEnded = endings(backend)
  const ended: ClusterWorld['ended'] = async (id) => {
    await hasEnded(id)
    return operation(id)
  }

  const makeDatacenter = async (by: SignedIn): Promise<string> => {
    const datacenter = await by.call(datacenterCreate, {
      body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
    })
    if (!datacenter.answer) throw new Error(`No datacenter: ${datacenter.text}`)
    return datacenter.answer.id
  }
  const datacenterId = await makeDatacenter(admin)
  const addresses = simulator.servers.filter((m) => m.isOn).map((m) => m.plan.address)
  for (let from = 0; from < addresses.length; from += 12) {
    const added = await admin.call(serverAdd, {
      body: { addresses: addresses.slice(from, from + 12), datacenter_id: datacenterId },
    })
    await ended(added.answer!.operation.id)
  }
  const found = (await admin.call(serverList, { query: { per_page: 1000 } })).answer!
  for (const { id, identity } of found.items)
    await admin.call(serverConfirm, {
      params: { id },
      body: { uuid: identity.uuid!, serial: identity.serial! },
    })
  const order = new Map(simulator.servers.map((m, i) => [m.disk.identity.uuid.toLowerCase(), i]))
  const nodes = (
    await admin.call(serverList, { query: { per_page: 1000 } })
  ).answer!.items.toSorted((a, b) => order.get(a.identity.uuid!)! - order.get(b.identity.uuid!)!)

  let taken = 0
  let names = 0
  const ask: ClusterWorld['ask'] = (chosen, asked = {}) => ({
    name: `prod-${++names}`,
    datacenter_id: datacenterId,
    talos_version: minor.version,
    kubernetes_version: minor.kubernetes,
    servers: chosen.map(({ id }, i) => ({
      node_id: id,
      role: i < (chosen.length < 4 ? 1 : 3) ? 'control_plane' : 'worker',
    })),
    ...asked,
  })
  const cluster: ClusterWorld['cluster'] = async (id) =>
    (await admin.call(clusterGet, { params: { id } })).answer!
  const judged: ClusterWorld['judged'] = async (id) => {
    await backend.domains.findings.judge()
    return cluster(id)
  }
  const machine: ClusterWorld['machine'] = ({ id }) =>
    simulator.servers[order.get(nodes.find((n) => n.id === id)!.identity.uuid!)!]!

  return {
    backend,
    simulator,
    halt,
    alone: (work) => driver.alone(work),
    withOtherHardware: (server, request) =>
      driver.alone(async () => {
        const answer = await request()
        await addFault(machine(server), { kind: 'identity', stage: 'maintenance' })
        return answer
      }),
    beside: () => start({ beside: backend }),
    async another() {
      const other = await start({})
      return { ...other, datacenterId: await makeDatacenter(other.admin) }
    },
    admin,
    datacenterId,
    nodes,
    until,
    ended,
    toNextRun,
    operation,
    async change(id, change, confirmed = []) {
      const called = await admin.call(clusterChange, {
        params: { id },
        body: { change, confirmed_disks: [...confirmed] },
      })
      if (!called.answer) throw new Error(`The change was refused: ${called.text}`)
      return called.answer.operation
    },
    cluster,
    judged,
    async recovered(id) {
      const now = await cluster(id)
      return now.status === 'ready'
        ? now
        : until(
            () => judged(id),
            (c) => c.status === 'ready',
          )
    },
    server: async (id) => (await admin.call(serverGet, { params: { id } })).answer!,
    machine,
    nodeNames: (controlPlane) =>
      Object.values(kubernetesOf(machine(controlPlane))!.state.kubernetes.objects)
        .map(({ body }) => body as { kind?: string; metadata?: { name?: string } })
        .filter(({ kind }) => kind === 'Node')
        .map(({ metadata }) => metadata!.name!),
    etcds: (name) => simulator.world.etcd.all.filter((e) => e.state.name === name).length,
    take: (count) => nodes.slice(taken, (taken += count)),
    ask,
    async create(chosen, asked) {
      const called = await admin.call(clusterCreate, { body: ask(chosen, asked) })
      if (!called.answer) throw new Error(`The creation was refused: ${called.text}`)
      return called.answer
    },
  }
}
