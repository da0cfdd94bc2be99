import { expect, test } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { canShowNewKeys, clusterSaid, contactSaid, nodeSaid, worstSaid } from './cluster-state.ts'

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

test('a cluster is shown by its worst finding, and by its status without one or while it is deleted', () => {
  const cluster = { status: 'ready' as const, reason: null, finding: null }
  expect(clusterSaid(cluster)).toEqual({ tone: 'ok', word: 'Ready', why: null })
  const finding = {
    id: '0198c0de-0000-7000-8000-000000000001',
    kind: 'cluster_upgrade_stopped' as const,
    severity: 'attention' as const,
    since,
    reason: '2 of 3 servers on Talos v1.13.9, stopped 18:01 UTC.',
  }
  expect(clusterSaid({ ...cluster, finding })).toEqual({
    tone: 'warn',
    word: 'Upgrade stopped',
    why: finding.reason,
  })
  const lost = { ...finding, kind: 'cluster_quorum_lost' as const, severity: 'down' as const }
  expect(clusterSaid({ ...cluster, status: 'degraded', finding: lost })).toMatchObject({
    tone: 'danger',
    word: 'Down',
  })
  expect(clusterSaid({ ...cluster, status: 'deleting', finding })).toMatchObject({
    word: 'Deleting',
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

test('a cluster shows the worst of its own finding and those of its servers', () => {
  const old = {
    ...notReady,
    kind: 'cluster_version_unsupported' as const,
    severity: 'attention' as const,
    reason: 'Talos 1.9 gets no fixes.',
  }
  const cluster = { status: 'ready' as const, reason: null, finding: old }
  expect(worstSaid(cluster, notReady)).toEqual({
    tone: 'warn',
    word: 'Node NotReady',
    why: 'A server: Kubelet stopped.',
  })
  expect(worstSaid({ ...cluster, finding: notReady }, old)).toEqual(
    clusterSaid({ ...cluster, finding: notReady }),
  )
  expect(worstSaid(cluster, null)).toEqual(clusterSaid(cluster))
  // Its operation says more than what is wrong on the way.
  expect(worstSaid({ ...cluster, status: 'installing', finding: null }, notReady).word).toBe(
    'Installing',
  )
})
