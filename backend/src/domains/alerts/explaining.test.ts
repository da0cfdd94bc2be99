import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { StandingFinding } from '../findings/api.ts'
import { explainedBy } from './explaining.ts'

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
  ended_at: null,
  count: 1,
  began_at: at,
  begins: [at],
  ...more,
})
const ofCluster = (kind: StandingFinding['kind']) =>
  findingOf({ kind, object: { kind: 'cluster', ...cluster } })

test('a change explains the silence of the server on which its step runs, and what the cluster lacks by it', () => {
  const server = findingOf({})
  const touched = [{ server_id: server.object.id, since: new Date(at.getTime() - 60_000) }]
  const nodes = ofCluster('cluster_nodes_not_ready')
  const quorum = ofCluster('cluster_quorum_lost')
  const explained = explainedBy(touched, [server, nodes, quorum])
  expect([server, nodes, quorum].map(explained)).toEqual([true, true, true])
})

test('another server that fails meanwhile is not explained, nor what the cluster lacks then', () => {
  const server = findingOf({})
  const other = findingOf({ kind: 'server_not_ready', severity: 'degraded' })
  const touched = [{ server_id: server.object.id, since: at }]
  const nodes = ofCluster('cluster_nodes_not_ready')
  const explained = explainedBy(touched, [server, other, nodes])
  expect([server, other, nodes].map(explained)).toEqual([true, false, false])
})

test('a server that failed before the step began, a full etcd and a silent datacenter are not explained', () => {
  const server = findingOf({})
  const touched = [{ server_id: server.object.id, since: new Date(at.getTime() + 1) }]
  const early = explainedBy(touched, [server])
  expect(early(server)).toBe(false)
  const group = findingOf({
    kind: 'datacenter_silent',
    object: { kind: 'datacenter', id: datacenter.id, name: datacenter.code },
    cluster: null,
  })
  const quorum = ofCluster('cluster_quorum_lost')
  const now = [{ server_id: server.object.id, since: at }]
  expect(explainedBy(now, [server, group, quorum])(quorum)).toBe(false)
  const others = [
    ofCluster('cluster_failed'),
    ofCluster('cluster_snapshot_failed'),
    findingOf({ kind: 'server_failed', object: server.object }),
  ]
  expect(others.filter(explainedBy(now, [server, ...others]))).toEqual([])
  expect(explainedBy([], [server, quorum])(quorum)).toBe(false)
})
