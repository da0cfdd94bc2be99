import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { StandingFinding } from '../incidents/api.ts'
import { type Conditions, explainedBy } from './explaining.ts'

const at = new Date('2026-11-27T03:00:00Z')
const cluster = { id: randomUUID(), name: 'web' }
const datacenter = { id: randomUUID(), code: 'DE-FRA-1' }
const findingOf = (more: Partial<StandingFinding>): StandingFinding => ({
  id: randomUUID(),
  kind: 'server_unreachable',
  severity: 'down',
  object: { kind: 'server', id: randomUUID(), name: 'web-1' },
  cluster,
  datacenter,
  since: at.toISOString(),
  reason: 'No answer since 03:00 UTC.',
  remedies: [],
  acknowledged: null,
  affected: null,
  caused_by: null,
  incident_id: null,
  ended_at: null,
  count: 1,
  began_at: at,
  begins: [at],
  silent: [],
  ...more,
})
const ofCluster = (kind: StandingFinding['kind']) =>
  findingOf({ kind, object: { kind: 'cluster', ...cluster } })

type Server = Conditions['servers'][number]
const serverOf = (more: Partial<Server> = {}): Server => ({
  id: randomUUID(),
  cluster,
  talos: { reachable: true, unreachable_since: null, reason: null },
  kubernetes: null,
  failure: null,
  ...more,
})
const silence = { reachable: false, unreachable_since: at.toISOString(), reason: 'refused' }
const silent = () => serverOf({ talos: silence })
const notReady = () =>
  serverOf({ kubernetes: { ready: false, reason: 'NodeStatusUnknown', since: at.toISOString() } })
/** A step that began this long before `at`, in ms. */
const stepOn = ({ id }: { id: string }, ms = 60_000) => ({
  server_id: id,
  since: new Date(at.getTime() - ms),
})
const seen = (
  servers: Conditions['servers'],
  controlPlanes: readonly { readonly id: string }[] = [],
  observed: Conditions['clusters'][number]['observed'] = null,
): Conditions => ({
  servers,
  clusters: [{ id: cluster.id, control_planes: controlPlanes.map(({ id }) => id), observed }],
})

test('a change explains the silence of the server on which its step runs, and what the cluster lacks by it', () => {
  const one = silent()
  const server = findingOf({ object: { kind: 'server', id: one.id, name: 'web-1' } })
  const lacks = (['nodes_not_ready', 'quorum_lost', 'api_down', 'components_down'] as const).map(
    (kind) => ofCluster(`cluster_${kind}`),
  )
  const explained = explainedBy([stepOn(one)], [server, ...lacks], seen([one], [one]))
  expect([server, ...lacks].map(explained)).toEqual([true, true, true, true, true])
})

test('what a cluster lacks is explained before its server has a finding of its own', () => {
  const [away, worker] = [silent(), notReady()]
  const nodes = ofCluster('cluster_nodes_not_ready')
  const api = ofCluster('cluster_api_down')
  const steps = [stepOn(away), stepOn(worker)]
  const explained = explainedBy(steps, [nodes, api], seen([away, worker], [away]))
  expect([nodes, api].map(explained)).toEqual([true, true])
  // A worker that restarts takes neither the API nor etcd.
  expect(explainedBy(steps, [api], seen([worker], [away, silent()]))(api)).toBe(false)
})

test('another server that fails meanwhile is not explained, nor what the cluster lacks then', () => {
  const one = silent()
  const nodes = ofCluster('cluster_nodes_not_ready')
  const failed = serverOf({ failure: { reason: 'It failed', since: at.toISOString() } })
  for (const other of [silent(), notReady(), failed])
    expect(explainedBy([stepOn(one)], [nodes], seen([one, other], [one]))(nodes)).toBe(false)
  const broken = findingOf({ kind: 'server_disk_missing', severity: 'degraded' })
  const explained = explainedBy([stepOn(one)], [broken, nodes], seen([one], [one]))
  expect([broken, nodes].map(explained)).toEqual([false, false])
  const elsewhere = serverOf({ cluster: null, talos: silence })
  expect(explainedBy([stepOn(one)], [nodes], seen([one, elsewhere]))(nodes)).toBe(true)
})

test('a restart of the only control plane explains its API until that has started, and of another one not', () => {
  const [one, other] = [serverOf(), serverOf()]
  const api = ofCluster('cluster_api_down')
  expect(explainedBy([stepOn(one)], [api], seen([], [one]))(api)).toBe(true)
  expect(explainedBy([stepOn(one)], [api], seen([], [one, other]))(api)).toBe(false)
  expect(explainedBy([stepOn(one, -1)], [api], seen([], [one]))(api)).toBe(false)
})

test('a restart explains neither the API nor the quorum if it leaves enough control planes', () => {
  const away = silent()
  const lacks = (['api_down', 'quorum_lost', 'components_down'] as const).map((kind) =>
    ofCluster(`cluster_${kind}`),
  )
  const explained = (...others: Server[]) =>
    lacks.map(explainedBy([stepOn(away)], lacks, seen([away], [away, ...others])))
  expect(explained(serverOf(), serverOf())).toEqual([false, false, true])
  expect(explained(serverOf())).toEqual([true, true, true])
})

test('a reboot explains the API server of its control plane, and no other', () => {
  const [one, other] = [serverOf(), serverOf()]
  const down = ofCluster('cluster_api_server_down')
  const observed = (...ill: Server[]) => ({
    etcd: [],
    api_servers: ill.map(({ id }) => ({ node_id: id, name: id, ill: 'refused', misses: 2 })),
    missing_disks: [],
  })
  const of = (...ill: Server[]) =>
    explainedBy([stepOn(one)], [down], seen([], [one, other], observed(...ill)))(down)
  expect([of(one), of(other), of(one, other), of()]).toEqual([true, false, false, false])
})

test('a server that failed before the step began, a full etcd and a silent datacenter are not explained', () => {
  const [one, other] = [silent(), silent()]
  const server = findingOf({ object: { kind: 'server', id: one.id, name: 'web-1' } })
  const quorum = ofCluster('cluster_quorum_lost')
  const early = explainedBy([stepOn(one, -1)], [server, quorum], seen([one], [one]))
  expect([server, quorum].map(early)).toEqual([false, false])
  const group = findingOf({
    kind: 'datacenter_silent',
    object: { kind: 'datacenter', id: datacenter.id, name: datacenter.code },
    cluster: null,
  })
  const now = [stepOn(one)]
  const together = explainedBy(now, [group, quorum], seen([one, other], [one, other]))
  expect([group, quorum].map(together)).toEqual([false, false])
  const others = [
    ofCluster('cluster_failed'),
    ofCluster('cluster_snapshot_failed'),
    findingOf({ kind: 'server_failed', object: server.object }),
  ]
  expect(others.filter(explainedBy(now, [server, ...others], seen([one], [one])))).toEqual([])
  expect(explainedBy([], [server, quorum], seen([one], [one]))(quorum)).toBe(false)
})
