/**
 * The whole life of a cluster: it is created, grows, loses a control plane, is patched and
 * upgraded, its secrets are rotated, a snapshot is taken, and the cluster is restored after the
 * loss of all servers. Steelyard is killed with −9 in every operation, at seeded points of its
 * progress, and is gone for a day in the upgrade of Talos. The workload's data and identity must be
 * the same at the end. `FAULT_SEEDS=7` replays a seed. `npm test` kills once in most operations of a
 * cluster with one control plane, which is patched while Steelyard is gone for a day, and is
 * restored.
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterChange, type ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { snapshotList } from '#contract/clusters/changes/snapshots.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { hasEnded, type Operation, operationGet } from '#contract/operations.ts'
import { operationResume } from '#contract/restoration.ts'
import type { Server } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import type { Caller } from '../../tools/api-client.ts'
import {
  type Body,
  kubernetesAt,
  placeWorkload,
  type UserKubernetes,
  workloadPath,
} from './testing/kubernetes.ts'
import { longTests } from '../../tools/testing/length.ts'
import { longTest } from '../../tools/testing/long-test.ts'
import { seeded } from './testing/points.ts'
import { databaseOf, type Program, type SimulatedCluster } from './processes.ts'
import { create, ended, openSite, patiently, type Site, signIn } from './testing/world.ts'

const seed = Number(process.env['FAULT_SEEDS']?.split(',')[0] ?? '1')
/** Kills per operation; `long` ones have two in the short form as well. */
const kills = longTests ? { usual: 4, long: 4 } : { usual: 1, long: 2 }
const withinMs = 5 * 60_000

let site: Site
let program: Program
let call: Caller
let nodes: Server[]
let id: string

/** Control planes and workers that the cluster gets in turn. */
const sizes = longTests
  ? { created: [3, 3], joining: [2, 2], replacing: [1, 0], restored: [3, 3] }
  : { created: [1, 1], joining: [0, 0], replacing: [0, 0], restored: [1, 1] }
type Size = readonly number[]
const plus = (a: Size, b: Size) => a.map((n, i) => n + b[i]!)
const shown = (size: Size) => size.join(' + ')
const grown = plus(sizes.created, sizes.joining)
const total = Object.values(sizes)
  .flat()
  .reduce((sum, n) => sum + n, 0)
/** The servers of the restore boot the Talos version that the cluster has by then. */
const newer = longTests
  ? Object.fromEntries(Array.from({ length: 6 }, (_, i) => [12 + i, { talos: 'v1.13.9' }]))
  : {}
const storage = () => ({ STEELYARD_STORE_FOLDERS: storeFolder() })
const random = seeded(seed)

/** Tables with the progress of operations. Their times tell how long something has lasted. */
const timed = [
  'operation',
  'operation_step',
  'effect',
  'cluster_server',
  'cluster_server_config',
  'talos_upgrade',
  'cluster_recovery',
  'snapshot',
]

/**
 * Moves the progress a day into the past, as if Steelyard had not run for a day. The machines end
 * what they do: three seconds are ten minutes for them.
 */
async function passDay(): Promise<void> {
  await pause(3_000)
  const database = new Client({ connectionString: databaseOf(site.folder).url })
  await database.connect()
  const { rows } = await database.query<{ name: string; changes: string }>(
    `select table_name as name, string_agg(format('%I = %I - interval ''1 day''', column_name, column_name), ', ') as changes
     from information_schema.columns where data_type = 'timestamp with time zone' and table_name = any($1) group by table_name`,
    [timed],
  )
  expect(rows.map((row) => row.name).toSorted()).toEqual(timed.toSorted())
  for (const { name, changes } of rows) await database.query(`update ${name} set ${changes}`)
  await database.end()
}

async function restart(isAway = false): Promise<void> {
  await program.kill()
  if (isAway) await passDay()
  program = await site.start(storage())
  call = await signIn(program.url)
}

const isOver = ({ status }: Operation['steps'][number]): boolean =>
  status === 'done' || status === 'skipped'

interface How {
  /** Number of kills. */
  readonly times?: number
  /** Steelyard is gone for a day after the last kill. */
  readonly isAway?: boolean
}

/**
 * The operation. One that has halted, because three kills hit the same piece of work alone, is resumed as a
 * user would.
 */
async function look(operationId: string): Promise<Operation> {
  const params = { id: operationId }
  const now = await patiently(() => call(operationGet, { params }))
  if (now.halted === true) await patiently(() => call(operationResume, { params }))
  return now
}

/**
 * Kills the program at seeded points of the operation's progress, each while the operation runs,
 * and returns the ended operation. At least once; several points near its end may be one kill.
 */
async function killed(
  { id: operationId, steps }: Operation,
  { times = kills.usual, isAway = false }: How = {},
): Promise<Operation> {
  // The last steps of an operation may end within the time of one look and a kill.
  const lastPoint = Math.max(0, steps.length - 4)
  const points = Array.from({ length: times }, () =>
    Math.min(Math.floor(random() * steps.length), lastPoint),
  ).toSorted((a, b) => a - b)
  const killedAt: number[] = []
  const until = Date.now() + withinMs - 60_000
  for (const point of points) {
    let now = await look(operationId)
    while (!hasEnded(now) && now.steps.filter(isOver).length < point && Date.now() < until) {
      await pause(50)
      now = await look(operationId)
    }
    // The last steps may end while the program starts after the kill before.
    if (hasEnded(now) && killedAt.length > 0 && !isAway) break
    killedAt.push(Date.now())
    await restart(isAway && point === points.at(-1))
  }
  while (!hasEnded(await look(operationId)) && Date.now() < until) await pause(200)
  const end = await ended(call, operationId, 0)
  const keys = points.map((point) => steps[point]!.key)
  expect({ keys, missed: killedAt.filter((at) => Date.parse(end.ended_at!) < at) }).toEqual({
    keys,
    missed: [],
  })
  return end
}

/** Changes the cluster, and kills the program meanwhile. */
async function change(wanted: ClusterChangeInput, how?: How): Promise<Operation> {
  const { operation } = await patiently(() =>
    call(clusterChange, { params: { id }, body: { change: wanted } }),
  )
  return killed(operation, how)
}

const cluster = () => patiently(() => call(clusterGet, { params: { id } }))

async function settled(): Promise<void> {
  await expect
    .poll(async () => ({ ...(await cluster()) }), { timeout: 60_000 })
    .toMatchObject({ status: 'ready', reason: null })
}

async function addressOf({ identity }: Server): Promise<string> {
  return (await site.simulator.servers()).find((m) => m.uuid.toLowerCase() === identity.uuid)!
    .address
}
const powerOff = ({ identity }: Server) =>
  site.simulator.ask('POST', `/servers/${identity.uuid}/power-off`)
const storeFolder = (): string => `${site.folder}-store`

async function api(): Promise<UserKubernetes> {
  const first = (await cluster()).servers.find((s) => s.role === 'control_plane')!
  return kubernetesAt(call, id, await addressOf(nodes.find((n) => n.id === first.node_id)!))
}

interface Kept {
  readonly identity: unknown
  readonly ledger: unknown
  readonly workload: unknown
  /** The workload that counts, as the simulator sees it. */
  readonly counting: Omit<SimulatedCluster['workloads'][number], 'serial'>
}
/**
 * Counts of the workload when it was last looked at. A count that is lost would make it smaller.
 */
let counts = 0
const uidOf = (object: Body | undefined): unknown =>
  (object?.['metadata'] as Body | undefined)?.['uid']
/**
 * Values that no change may alter: the identity of the cluster, and the data and identity of the
 * workload.
 */
async function kept(): Promise<Kept> {
  const kubernetes = await api()
  const { workloads } = await site.simulator.cluster('life')
  const { serial, ...counting } = workloads[0]!
  expect(serial).toBeGreaterThanOrEqual(counts)
  counts = serial
  return {
    identity: uidOf(await kubernetes.get('/api/v1/namespaces/kube-system')),
    ledger: (await kubernetes.get(workloadPath.ledger))?.['data'],
    workload: uidOf(await kubernetes.get(workloadPath.web)),
    counting,
  }
}
/** Pods that were moved may still start. */
const keepsAll = () => expect.poll(kept, { timeout: 30_000 }).toEqual(before)
let before: Kept

beforeAll(async () => {
  site = await openSite({
    servers: total,
    seed: `life-${seed}`,
    talos: ['v1.12.11'],
    special: newer,
  })
  mkdirSync(storeFolder())
  program = await site.start(storage())
  call = await signIn(program.url)
  nodes = await site.take(call, total)
}, withinMs)
afterAll(() => site.stop())

/** The next free servers, in the roles of the size. */
const take = (() => {
  let taken = 0
  return ([controlPlanes = 0, workers = 0]: Size) => {
    const next = nodes.slice(taken, (taken += controlPlanes + workers))
    return next.map((node, i) => ({
      node_id: node.id,
      role: i < controlPlanes ? ('control_plane' as const) : ('worker' as const),
    }))
  }
})()
const nodesOf = (chosen: readonly { readonly node_id: string }[]) =>
  chosen.map(({ node_id }) => nodes.find((n) => n.id === node_id)!)

test(
  `a cluster of ${shown(sizes.created)} is created with a workload`,
  { timeout: withinMs },
  async () => {
    const made = await create(call, site, 'life', nodesOf(take(sizes.created)), {
      talos_version: 'v1.12.11',
      kubernetes_version: '1.34.2',
    })
    id = made.cluster.id
    expect(await killed(made.operation)).toMatchObject({ status: 'done' })
    await placeWorkload(await api())
    await site.simulator.ask('POST', '/clusters/life/workloads', { replicas: 3, min_available: 2 })
    const runs = { ledger: { entries: '4711' }, counting: { isIntact: true, ready: 3 } }
    await expect
      .poll(async () => (before = await kept()), { timeout: 30_000 })
      .toMatchObject({ identity: expect.any(String) as string, ...runs })
  },
)

longTest(`it grows to ${shown(grown)}`, { timeout: withinMs }, async () => {
  const joining = take(sizes.joining)
  expect(await change({ kind: 'grow', servers: joining })).toMatchObject({ status: 'done' })
  await settled()
  expect(await cluster()).toMatchObject({ control_planes: grown[0], workers: grown[1] })
})

longTest('a dead control plane is replaced', { timeout: withinMs }, async () => {
  await powerOff(nodes[1]!)
  const { node_id } = take(sizes.replacing)[0]!
  expect(await change({ kind: 'replace', node_id: nodes[1]!.id, by: { node_id } })).toMatchObject({
    status: 'done',
  })
  await settled()
  expect((await cluster()).servers.map((s) => s.node_id)).toContain(node_id)
})

const patch = { name: 'limits', body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n' }
const changes: readonly {
  readonly title: string
  readonly wanted: () => Promise<ClusterChangeInput>
  readonly after?: object
  readonly how?: How
  /** `npm test` makes this change too. */
  readonly isFrequent?: true
}[] = [
  {
    title: 'is patched',
    wanted: async () => ({ kind: 'configure', patches: [patch] }),
    how: { isAway: !longTests },
    isFrequent: true,
  },
  {
    title: 'gets an extension',
    wanted: async () => ({ kind: 'extensions', extensions: ['siderolabs/iscsi-tools'] }),
  },
  {
    title: 'gets a newer Talos',
    wanted: async () => ({ kind: 'upgradeTalos', version: 'v1.13.9' }),
    after: { talos_version: 'v1.13.9' },
    how: { isAway: true },
  },
  {
    title: 'gets a newer Kubernetes',
    wanted: async () => ({ kind: 'upgradeKubernetes', version: '1.35.4' }),
    after: { kubernetes_version: '1.35.4' },
  },
  {
    title: 'gets another endpoint',
    wanted: async () => ({ kind: 'endpoint', endpoint: await addressOf(nodes[2]!) }),
  },
  {
    title: 'gets a new authority of the Talos API',
    wanted: async () => ({ kind: 'rotate', what: 'talos_ca' }),
    how: { times: kills.long },
  },
  {
    title: 'gets a new authority of the Kubernetes API',
    wanted: async () => ({ kind: 'rotate', what: 'kubernetes_ca' }),
    how: { times: kills.long },
  },
]

test.each(longTests ? changes : changes.filter(({ isFrequent }) => isFrequent))(
  'it $title, and keeps its workload',
  { timeout: withinMs },
  async ({ wanted, after = {}, how }) => {
    expect(await change(await wanted(), how)).toMatchObject({ status: 'done' })
    await settled()
    expect(await cluster()).toMatchObject(after)
    await keepsAll()
  },
)

test('etcd was bootstrapped once and never lost its quorum, and no disruption budget was broken', async () => {
  const { clusters } = await site.simulator.counters()
  expect(clusters).toEqual([
    expect.objectContaining({ name: 'life', etcdMade: 1, quorumLosses: 0, budgetBreaches: 0 }),
  ])
})

test(
  'after the loss of all its servers it is restored on others from its snapshot, with its workload',
  { timeout: withinMs },
  async () => {
    const store = await call(storeCreate, {
      body: { name: 'disk', kind: 'folder', folder: `${storeFolder()}/life` },
    })
    await keepsAll()
    expect(await change({ kind: 'snapshot', store_id: store.id })).toMatchObject({ status: 'done' })
    const [snapshot] = (await patiently(() => call(snapshotList, { query: {} }))).items
    for (const { node_id } of (await cluster()).servers)
      await powerOff(nodes.find((n) => n.id === node_id)!)
    const joining = take(sizes.restored)
    expect(
      await change(
        { kind: 'restore', snapshot_id: snapshot!.id, servers: joining },
        { times: kills.long },
      ),
    ).toMatchObject({ status: 'done' })
    await settled()
    expect(await cluster()).toMatchObject({
      control_planes: sizes.restored[0],
      workers: sizes.restored[1],
    })
    await keepsAll()
  },
)
