/** One word per thing: every place that says how a cluster or a server is says the same word. */
import { expect, test } from 'vitest'
import { saidOf as clusterSaidByApi } from '../backend/src/domains/clusters/present.ts'
import { exportedCells as clusterCells } from '../backend/src/domains/clusters/listed/csv.ts'
import { exportedCells as serverCells } from '../backend/src/domains/servers/list/csv.ts'
import { saidOf as serverSaidByApi } from '../backend/src/domains/servers/present.ts'
import { clusterGet, clusterList, clusterStatuses } from '#contract/clusters/clusters.ts'
import { Cluster } from '#contract/clusters/clusters.ts'
import { type FindingKind, findingKinds, kindsOfFindings } from '#contract/findings/kinds.ts'
import { tallied } from '#contract/findings/said.ts'
import { ListedServer, type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { signedIn } from '../cli/src/testing/signed-in.ts'
import { aCluster, aServer, id, pageOf } from '../cli/src/testing/things.ts'
import { clusterState } from '../console/src/features/clusters/cluster-state.ts'
import { statusOf } from '../console/src/features/servers/server-state.ts'

const since = '2026-11-20T08:00:00.000Z'
const found = (kind: FindingKind) => ({
  id: id(1),
  kind,
  severity: findingKinds[kind].severity,
  since,
  reason: `Because of ${kind}.`,
})
const kindsOf = (...objects: readonly string[]) =>
  kindsOfFindings.filter((kind) => objects.includes(findingKinds[kind].object))

/** Rows of the database, as far as the word depends on them. */
type ClusterState = Parameters<typeof clusterSaidByApi>[0]
type ServerState = Parameters<typeof serverSaidByApi>[0]

const clusterStates = [
  ...clusterStatuses
    .filter((status) => status !== 'degraded')
    .map((status) => ({ status, reason: `It is ${status}.`, finding: null })),
  ...kindsOf('cluster').map((kind) => ({
    status: kind === 'cluster_failed' ? ('failed' as const) : ('ready' as const),
    reason: null,
    finding: found(kind),
  })),
].map((state): ClusterState => ({
  problem: null,
  wanted: state.status === 'deleting' ? 'removed' : 'ready',
  ...state,
}))

const free = {
  status: 'maintenance',
  cluster_id: null,
  cluster_name: null,
  node_since: null,
  trial_state: null,
  trial_reason: null,
  trial_since: null,
  finding: null,
  quarantine: null,
  stage: 'maintenance',
  reachable: true,
  unreachable_since: null,
  reason: null,
  unmet: [],
  last_change: null,
  identity_state: 'confirmed',
}
const joined = {
  ...free,
  status: 'ready',
  stage: 'running',
  cluster_id: id(20),
  cluster_name: 'web',
}
const quarantine = { reason: 'burn-in test', by: 'jonas@example.com', since }
const serverStates = [
  free,
  { ...free, identity_state: 'unconfirmed' },
  { ...free, quarantine },
  { ...free, stage: 'installing', cluster_id: id(20), cluster_name: 'web' },
  { ...free, status: 'deleted' },
  joined,
  { ...joined, quarantine },
  { ...joined, stage: 'rebooting' },
  {
    ...joined,
    trial_state: 'running',
    trial_reason: 'Talos undoes it after 60 s.',
    trial_since: new Date(since),
  },
  { ...joined, quarantine, finding: found('server_failed') },
  ...kindsOf('server', 'datacenter').flatMap((kind) => [
    { ...joined, finding: found(kind) },
    { ...free, finding: found(kind) },
  ]),
] as unknown as readonly ServerState[]

test('there are at least 60 states', () => {
  expect(clusterStates.length + serverStates.length).toBeGreaterThanOrEqual(60)
})

/** The words in the column of a table, by the name in its first column. */
function wordsIn(table: string, column: string): Map<string, string> {
  const [head, ...lines] = table.trimEnd().split('\n')
  const from = head!.indexOf(column)
  const to = from + head!.slice(from).search(/\s{2,}\S|$/)
  const next = head!.slice(to).search(/\S/)
  return new Map(
    lines.map((line) => [
      line.split(' ', 1)[0]!,
      line.slice(from, next === -1 ? undefined : to + next).trim(),
    ]),
  )
}

test('the API, the lists, the pages, CSV, the CLI and the overview say one word of each cluster', async () => {
  const { api, cli } = await signedIn()
  const clusters = clusterStates.map((row, n) => {
    const said = clusterSaidByApi(row)
    const isDegraded = row.status === 'ready' && !['attention', null].includes(said.severity)
    return aCluster({
      id: id(100 + n),
      name: `cluster-${n}`,
      status: isDegraded ? 'degraded' : row.status,
      reason: row.reason,
      finding: row.wanted === 'ready' ? row.finding : null,
      said,
    })
  })
  api.on(clusterList, () => pageOf(clusters))
  const table = wordsIn((await cli.run('cluster list')).out, 'STATUS')
  for (const cluster of clusters) {
    const { word } = cluster.said!
    expect([
      word,
      clusterState(cluster).word,
      clusterCells.status(cluster),
      table.get(cluster.name),
      tallied([cluster.said!])[0]!.word,
      Cluster.parse(cluster).said!.word,
    ]).toEqual(Array(6).fill(word))
  }
  for (const cluster of clusters.filter((_, n) => n % 10 === 0)) {
    api.on(clusterGet, () => cluster)
    expect((await cli.run(`cluster show ${cluster.id}`)).out).toMatch(
      new RegExp(`^Status +${cluster.said!.word}$`, 'm'),
    )
  }
  const of = (kind: FindingKind) =>
    clusters.find(({ finding }) => finding?.kind === kind)!.said!.word
  expect([of('cluster_quorum_lost'), of('cluster_version_unsupported')]).toEqual(['Down', 'Ready'])
})

test('the API, the lists, the pages, CSV, the CLI and the overview say one word of each server', async () => {
  const { api, cli } = await signedIn()
  const servers = serverStates.map((row, n): Server => {
    const { talos } = aServer()
    return aServer({
      id: id(200 + n),
      name: `server-${n}`,
      status: row.status,
      cluster: row.cluster_id === null ? null : { id: row.cluster_id, name: row.cluster_name! },
      talos: { ...talos, stage: row.stage },
      identity: { ...aServer().identity, state: row.identity_state },
      trial:
        row.trial_state === null
          ? null
          : { state: row.trial_state, reason: row.trial_reason!, since },
      finding: row.finding,
      quarantine: row.quarantine,
      said: serverSaidByApi(row),
    })
  })
  api.on(serverList, () => pageOf(servers))
  const table = wordsIn((await cli.run('server list')).out, 'STATUS')
  for (const server of servers) {
    const { word } = server.said!
    expect([
      word,
      statusOf(server).word,
      serverCells.status(server),
      table.get(server.name),
      tallied([server.said!])[0]!.word,
      ListedServer.parse(server).said!.word,
    ]).toEqual(Array(6).fill(word))
    expect(server.said!.sentence).toBe(statusOf(server).why)
  }
  for (const server of servers.filter((_, n) => n % 10 === 0)) {
    api.on(serverGet, () => server)
    expect((await cli.run(`server show ${server.id}`)).out).toMatch(
      new RegExp(`^Status +${server.said!.word}$`, 'm'),
    )
  }
  const of = (kind: FindingKind, at = 0) =>
    servers.filter(({ finding }) => finding?.kind === kind)[at]!.said!.word
  expect([of('server_shared_patches_behind'), of('server_left_behind', 1)]).toEqual([
    'Ready',
    'In use',
  ])
})
