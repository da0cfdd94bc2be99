import { expect, test } from 'vitest'
import { clusterSaid } from '#contract/findings/said.ts'
import type { Server } from '#contract/servers/servers.ts'
import {
  canShowNewKeys,
  clusterState as shownOf,
  contactSaid,
  nodeSaid,
  serversState,
} from './cluster-state.ts'

/** The state as the API says it. */
const clusterState = (c: Parameters<typeof clusterSaid>[0]) =>
  shownOf({ ...c, said: clusterSaid(c) })

const since = '2026-11-20T10:00:00.000Z'
const server = {
  status: 'ready' as const,
  operation_id: null as string | null,
  talos: {
    reachable: true as boolean | null,
    unreachable_since: null as string | null,
    reason: null as string | null,
    stage: 'running' as const,
  } as Server['talos'],
}
const notReady = {
  id: '0198c0de-0000-7000-8000-000000000002',
  kind: 'server_not_ready' as const,
  severity: 'degraded' as const,
  since,
  reason: 'Kubelet stopped.',
}
const node = (kubernetes: Server['kubernetes']) => ({ ...server, kubernetes })

test('a node is shown as Not ready if Kubernetes reports it NotReady, and as Unknown if the Kubernetes API does not answer', () => {
  expect(nodeSaid(node({ ready: true, reason: null, since }))).toEqual({
    tone: 'ok',
    word: 'Ready',
    why: null,
  })
  const dead = 'NodeStatusUnknown: Kubelet stopped posting node status.'
  expect(nodeSaid({ ...node({ ready: false, reason: dead, since }), finding: notReady })).toEqual({
    tone: 'danger',
    word: 'Not ready',
    why: dead,
  })
  expect(
    nodeSaid(node({ ready: null, reason: 'The Kubernetes API does not answer', since })),
  ).toMatchObject({ tone: 'off', word: 'Unknown' })
  expect(nodeSaid(node(null))).toMatchObject({ tone: 'off', word: 'Not joined yet' })
  expect(nodeSaid({ ...node(null), failure: { reason: 'no disk', since } })).toEqual({
    tone: 'danger',
    word: 'Failed',
    why: 'no disk',
  })
})

test('a cluster shows its own word and shape, and beside them how many of its servers are not well', () => {
  const cluster = { status: 'ready' as const, reason: null, finding: null }
  expect(clusterState(cluster)).toEqual({ tone: 'ok', word: 'Ready', why: null })
  const finding = { ...notReady, kind: 'cluster_quorum_lost' as const, severity: 'down' as const }
  expect(clusterState({ ...cluster, status: 'degraded', finding })).toEqual({
    tone: 'danger',
    word: 'Down',
    why: 'Kubelet stopped.',
  })
  const old = {
    ...notReady,
    kind: 'cluster_version_unsupported' as const,
    severity: 'attention' as const,
    reason: 'Talos 1.9 gets no fixes.',
  }
  expect(clusterState({ ...cluster, finding: old })).toEqual({
    tone: 'ok',
    word: 'Ready',
    why: 'Talos 1.9 gets no fixes.',
  })
  expect(clusterState({ ...cluster, status: 'installing' }).tone).toBe('busy')
  const servers = { control_planes: 1, workers: 3 }
  expect(serversState({ ...servers, servers_said: [] })).toBeNull()
  const failed = { word: 'Failed', severity: 'down' as const, count: 1 }
  expect(serversState({ ...servers, servers_said: [failed] })).toEqual({
    tone: 'danger',
    count: 1,
    of: 'of 4 servers failed',
  })
})

test('if no key is new, the reason is that there are no clusters or that every offer has the address of its cluster', () => {
  expect(canShowNewKeys([])).toEqual({ ok: false, reason: 'There are no clusters here yet' })
  expect(canShowNewKeys([{ offer_address_set: true }])).toMatchObject({
    ok: false,
    reason: expect.stringContaining('address of their cluster already') as string,
  })
  expect(canShowNewKeys([{ offer_address_set: true }, { offer_address_set: false }])).toEqual({
    ok: true,
  })
})

test('during an operation, a silent server is shown as Away instead of Unreachable, and its node does not raise an alarm', () => {
  const now = Date.parse(since) + 60_000
  const dark = {
    ...server,
    talos: {
      ...server.talos,
      reachable: false,
      unreachable_since: since,
      reason: 'connection refused',
      stage: 'rebooting' as const,
    },
  }
  expect(contactSaid({ ...dark, operation_id: 'o' }, now)).toMatchObject({
    tone: 'busy',
    word: 'Away',
  })
  expect(contactSaid(dark, now)).toMatchObject({ tone: 'danger', word: 'Unreachable' })
  const down = { ready: false, reason: 'Kubelet stopped', since }
  expect(nodeSaid(node(down))).toMatchObject({
    tone: 'busy',
    word: 'Not ready',
  })
})
