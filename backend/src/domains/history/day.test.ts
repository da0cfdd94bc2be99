import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { clusterListPast } from '#contract/clusters/past-cluster.ts'
import { findingList } from '#contract/findings/findings.ts'
import { findingListPast } from '#contract/findings/past-finding.ts'
import { overviewGetPast } from '#contract/history/past-overview.ts'
import { overviewGet } from '#contract/overview.ts'
import { findingKinds, kindsOfFindings } from '#contract/findings/kinds.ts'
import { serverListPast } from '#contract/servers/past-server.ts'
import { serverList, serverRows } from '#contract/servers/server.ts'
import { longTests } from '../../../../tools/testing/length.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { startBackend } from '../../testing/backend.ts'
import * as clusters from '../clusters/store.ts'
import * as findings from '../findings/store.ts'
import * as servers from '../servers/store.ts'
import { buildCluster } from '../servers/testing.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { clock } = backend
const { db, tell } = backend.platform
const { history } = backend.domains
const now = () => new Date(clock.now())

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
const random = seeded(46)
const below = (n: number): number => Math.floor(random() * n)
const pick = <T>(from: readonly T[]): T => from[below(from.length)]!

const disk = (n: number) => ({ id: `nvme${n}n1`, model: 'SAMSUNG', serial: `S${n}`, size: 960e9 })
const hardware = (): string =>
  JSON.stringify({
    processors: [{ id: 'cpu0', product_name: 'AMD EPYC 9354P' }],
    memory: [{ id: 'dimm0', size: 2 ** 35 }],
    disks: Array.from({ length: 1 + below(3) }, (_, n) => disk(n)),
    interfaces: [],
    addresses: [`10.0.0.${below(5)}`],
    links: [
      { name: 'eth0', physical: true, up: random() < 0.5, hardware_addr: null, addresses: [] },
    ],
    routes: [],
  })

const cluster = { id: randomUUID(), name: 'day-cluster' }
const serverIds: string[] = []
const open: { id: string; object_id: string; kind: string }[] = []

const newServer = (): servers.NewServer => {
  const id = randomUUID()
  return {
    id,
    name: `day-${id.slice(0, 8)}`,
    address: `10.1.0.${serverIds.length + 1}`,
    identity_state: 'confirmed',
    identity_since: now(),
    uuid: randomUUID(),
    serial: id,
    created_at: now(),
    updated_at: now(),
  }
}

const serverChanges: readonly (() => servers.ServerChange)[] = [
  () => ({ reachable: pick([true, false, null]), reason: 'connection refused' }),
  () => ({ stage: pick(['booting', 'running', 'rebooting', 'maintenance']) }),
  () => ({ talos_version: pick(['v1.13.8', 'v1.13.9', null]), schematic: pick(['a', 'b']) }),
  () => ({ hardware: hardware(), hardware_at: now() }),
  () => ({ node_ready: pick([true, false, null]), node_reason: null, node_since: now() }),
  () => ({ cluster_id: cluster.id, cluster_name: cluster.name, type: 'worker', status: 'ready' }),
  () => ({ cluster_id: null, cluster_name: null, type: 'unknown', status: 'maintenance' }),
  () => ({ address: `10.2.0.${below(250)}` }),
  () => ({ name: `day-${randomUUID().slice(0, 8)}` }),
  () => ({ identity_state: pick(['confirmed', 'changed', 'unconfirmed']) }),
  () =>
    pick([
      { drift_since: now(), drift_seen: 'a digest' },
      { drift_since: null, drift_seen: null },
    ]),
  () =>
    pick([
      { failure: 'it does not boot', failed_at: now() },
      { failure: null, failed_at: null },
    ]),
  () => ({ labels: JSON.stringify(pick([{}, { rack: '3' }, { rack: '4', gen: 'r640' }])) }),
  () => ({
    quarantine: pick([null, JSON.stringify({ reason: 'a fan', by: 'someone', since: now() })]),
  }),
]

const act = async (tx: Parameters<typeof servers.lock>[0]): Promise<void> => {
  const dice = random()
  if (dice < 0.02 || serverIds.length < 5) {
    const [row] = await servers.insert(tx, [newServer()])
    serverIds.push(row!.id)
  } else if (dice < 0.03) {
    const [id] = serverIds.splice(below(serverIds.length), 1)
    await servers.lock(tx, [id!])
    await servers.update(tx, id!, { status: 'deleted', removed_at: now() }, now())
  } else if (dice < 0.13)
    await clusters.update(
      tx,
      cluster.id,
      pick([
        { status: pick(['ready', 'degraded', 'failed']), reason: 'a reason' },
        { problem: pick(['api', 'nodes', null]) },
        { kubernetes_version: pick(['1.36.3', '1.36.4']) },
        { talos_version: pick(['v1.13.9', 'v1.13.8']) },
        { endpoint: `https://10.9.0.${below(9)}:6443` },
      ]),
    )
  else if (dice < 0.2) {
    const object_id = pick(serverIds)
    const kind = pick(kindsOfFindings.filter((k) => findingKinds[k].object === 'server'))
    const index = open.findIndex((f) => f.object_id === object_id && f.kind === kind)
    if (index === -1) {
      const row = await findings.insert(tx, {
        kind,
        object_kind: 'server',
        object_id,
        object_name: 'a server',
        severity: findingKinds[kind].severity,
        since: now(),
        reason: 'A reason.',
        begins: [now()],
      })
      open.push(row)
    } else {
      const [ended] = open.splice(index, 1)
      await findings.update(tx, ended!.id, { ended_at: now() })
    }
  } else {
    const id = pick(serverIds)
    await servers.lock(tx, [id])
    await servers.update(tx, id, pick(serverChanges)(), now())
  }
}

/** What the tables say now, in the words of the history. */
const recorded = async () => {
  const { rows } = await sql<{ id: string; state: object }>`
    select id, jsonb_build_object('name', name, 'status', status, 'address', address, 'datacenter', null,
      'cluster', case when cluster_id is null then null else jsonb_build_object('id', cluster_id, 'name', cluster_name) end,
      'role', type, 'reachable', reachable, 'stage', stage, 'node_ready', node_ready, 'identity', identity_state,
      'uuid', uuid, 'serial', serial, 'maker', manufacturer, 'model', product,
      'talos_version', talos_version, 'schematic', schematic, 'drifted', drift_since is not null, 'failure', failure,
      'addresses', hardware->'addresses', 'disks', hardware #> '{disks}',
      'placement', null, 'labels', labels, 'quarantine', quarantine->>'reason') as state
    from server where status <> 'deleted'`.execute(db)
  const ofClusters = await sql<{ id: string; state: object }>`
    select id, jsonb_build_object('name', name, 'removed', false, 'status', status, 'problem', problem, 'locked_out', locked_out,
      'talos_version', talos_version, 'kubernetes_version', kubernetes_version, 'endpoint', endpoint, 'labels', labels) as state
    from cluster where id = ${cluster.id}`.execute(db)
  const ofFindings = await db
    .selectFrom('finding')
    .select('id')
    .where('ended_at', 'is', null)
    .execute()
  const sorted = (of: { id: string; state: object }[]) =>
    of.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return {
    servers: sorted(rows),
    clusters: sorted(ofClusters.rows),
    findings: ofFindings.map((f) => f.id).toSorted(),
  }
}

/** The same from the history alone. Disks are compared by the text that the history keeps. */
const computed = async (at: Date) => {
  const states = await inTransaction(db, (tx) => history.at(tx, at))
  const sorted = <S>(of: ReadonlyMap<string, S>) =>
    Array.from(of, ([id, state]) => ({ id, state })).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return {
    servers: sorted(states.servers).map(
      ({ id, state: { hardware: parts, links_up: _links, capacity: _capacity, ...rest } }) => ({
        id,
        state: {
          ...rest,
          addresses: rest.addresses,
          disks:
            parts === null
              ? null
              : parts.filter((part) => part.startsWith('disk ')).map((_part, n) => disk(n)),
        },
      }),
    ),
    clusters: sorted(states.clusters),
    findings: [...states.findings.values()].flatMap((ids) => [...ids]).toSorted(),
  }
}

const counted = ({
  total,
  maintenance,
  ready,
  reachable,
}: Readonly<Record<'total' | 'maintenance' | 'ready' | 'reachable', number>>) => ({
  total,
  maintenance,
  ready,
  reachable,
})
const openOf = (found: readonly { id: string; since: string | null; object: { id: string } }[]) =>
  found.map(({ id, since, object }) => `${id} ${since} ${object.id}`).toSorted()

/** What the lists show of each object now, of what the history records. */
const shown = async () => {
  const [all, found] = [
    (await viewer.call(serverRows, { query: { fields: 'list' } })).answer!,
    (await viewer.call(clusterList, {})).answer!,
  ]
  return {
    counts: counted((await viewer.call(overviewGet)).answer!.servers),
    findings: openOf((await viewer.call(findingList, { query: { per_page: 500 } })).answer!.items),
    servers: all.items.map((s) => ({
      id: s.id,
      name: s.name,
      status: s.status,
      type: s.type,
      addresses: s.nodeAddresses.toSorted(),
      cluster: s.cluster,
      ready: s.kubernetes?.ready ?? null,
      hardware: s.hardware,
      drifted: (s.drift ?? null) !== null,
      failure: s.failure?.reason ?? null,
      labels: s.labels,
      quarantine: s.quarantine?.reason ?? null,
      talos: [s.talos.version, s.talos.stage, s.talos.reachable],
      identity: [s.identity.state, s.identity.uuid, s.identity.serial],
    })),
    clusters: found.items.map(
      ({ id, name, talos_version, kubernetes_version, endpoint, labels }) => ({
        id,
        name,
        talos_version,
        kubernetes_version,
        endpoint,
        labels,
      }),
    ),
  }
}
const narrowings = [
  { sort: '-name', per_page: 3, page: 2 },
  { reachable: 'true', sort: 'stage' },
  { label: 'rack=3,gen!=r640' },
  { cluster: cluster.name, sort: '-address' },
  { quarantine: 'true', sort: '-talos_version' },
  { q: '10.2.', nodeType: 'worker' },
] as const
const idsOf = async (at: string | undefined) => {
  const pages = []
  for (const query of narrowings) {
    const { items, total } = (
      await viewer.call(at === undefined ? serverList : serverListPast, {
        query: { per_page: 1000, ...query, ...(at !== undefined && { at }) } as never,
      })
    ).answer!
    pages.push([total, items.map(({ id }) => id)])
  }
  return pages
}
/** The same from calls about the past. */
const shownThen = async (at: string) => {
  const all = (await viewer.call(serverListPast, { query: { at } })).answer!
  const found = (await viewer.call(clusterListPast, { query: { at } })).answer!
  expect([all.at, found.at]).toEqual([at, at])
  const overview = (await viewer.call(overviewGetPast, { query: { at } })).answer!
  const findings = (await viewer.call(findingListPast, { query: { at, per_page: 500 } })).answer!
  expect(overview.findings.total).toBe(findings.total)
  return {
    counts: counted(overview.servers),
    findings: openOf(findings.items),
    servers: all.items.map((s) => ({
      id: s.id,
      name: s.name,
      status: s.status,
      type: s.type,
      addresses: s.nodeAddresses!.toSorted(),
      cluster: s.cluster,
      ready: s.kubernetes?.ready ?? null,
      hardware: s.hardware,
      drifted: (s.drift ?? null) !== null,
      failure: s.failure?.reason ?? null,
      labels: s.labels,
      quarantine: s.quarantine?.reason ?? null,
      talos: [s.talos.version, s.talos.stage, s.talos.reachable],
      identity: [s.identity.state, s.identity.uuid, s.identity.serial],
    })),
    clusters: found.items.map(
      ({ id, name, talos_version, kubernetes_version, endpoint, labels }) => ({
        id,
        name,
        talos_version,
        kubernetes_version,
        endpoint,
        labels,
      }),
    ),
  }
}

test('from the history alone, the state at the moments of a day of many changes is known', async () => {
  await buildCluster(backend, cluster.id, cluster.name)
  // The clock of the test is behind that of the database.
  await sql`update migration set run_at = ${now()} where name = 'history'`.execute(db)
  // The cluster's row was inserted without its store; a first entry says what it is.
  await sql`insert into history_base (object_kind, object_id, at, state)
    select 'cluster', id, ${now()}, jsonb_build_object('name', name, 'removed', false, 'status', status, 'problem', problem, 'locked_out', locked_out,
      'talos_version', talos_version, 'kubernetes_version', kubernetes_version, 'endpoint', endpoint, 'labels', labels) from cluster`.execute(
    db,
  )
  const changes = longTests ? 2_000 : 300
  const times = longTests ? 50 : 10
  const moments: {
    at: Date
    state: Awaited<ReturnType<typeof recorded>>
    shown: Awaited<ReturnType<typeof shown>>
    ids: Awaited<ReturnType<typeof idsOf>>
  }[] = []
  for (let made = 0; made < changes;) {
    clock.advance((24 * 3_600_000) / changes)
    const together = 1 + below(4)
    await inTransaction(db, async (tx) => {
      for (let i = 0; i < together; i++) await act(tx)
      await tell(tx, system, { name: 'server.updated', object: { kind: 'server', id: '*' } })
    })
    made += together
    if (made >= ((moments.length + 1) * changes) / times)
      moments.push({
        at: now(),
        state: await recorded(),
        shown: await shown(),
        ids: await idsOf(undefined),
      })
  }
  expect(moments).toHaveLength(times)
  clock.advance(3_600_000)
  for (const { at, state, shown: wanted, ids } of moments) {
    expect(await computed(at)).toEqual(state)
    expect(await shownThen(at.toISOString())).toEqual(wanted)
    expect(await idsOf(at.toISOString())).toEqual(ids)
  }
})
