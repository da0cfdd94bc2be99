import { expect, test } from 'vitest'
import { findingKinds } from '#contract/findings/kinds.ts'
import type { ClusterCondition, Observed } from '../clusters/api.ts'
import { judgeCluster } from './judge-clusters.ts'
import { around, at, cluster, judged, silent } from './testing/conditions.ts'

const seen = (more: Partial<Observed> = {}): Observed => ({
  etcd: ['a', 'b', 'c'].map((name) => member(name)),
  api_servers: ['a', 'b', 'c'].map((name) => part(name)),
  missing_disks: [],
  ...more,
})
const part = (name: string, ill: string | null = null) => ({
  node_id: name,
  name,
  ill,
  misses: ill === null ? 0 : 2,
})
const member = (name: string, more: Partial<Observed['etcd'][number]> = {}) => ({
  ...part(name),
  size_bytes: 50 * 1024 ** 2,
  alarms: [],
  ...more,
})
const about = (observed: Observed, more: Partial<ClusterCondition> = {}, near = around()) =>
  judgeCluster(cluster({ observed, ...more }), near).map((one) => [one.kind, one.reason])

test('a full etcd, one that fills up and one with different data are findings of their own', () => {
  const etcd = (...all: Observed['etcd'][number][]) => about(seen({ etcd: all }))
  expect(etcd(member('a', { alarms: ['nospace'] }), member('b', { alarms: ['nospace'] }))).toEqual([
    [
      'cluster_etcd_full',
      'etcd is full and refuses writes (alarm NOSPACE of a and b). A defragmentation frees unused space and clears the alarm.',
    ],
  ])
  expect(etcd(member('a', { size_bytes: 1.7 * 1024 ** 3 }))).toEqual([
    [
      'cluster_etcd_filling',
      'The database of a has 1.7 GiB. At 2.0 GiB etcd refuses writes, unless its quota-backend-bytes is larger.',
    ],
  ])
  // A larger quota is set.
  expect(etcd(member('a', { size_bytes: 3 * 1024 ** 3 }))).toEqual([])
  expect(etcd(member('a', { alarms: ['corrupt', 'nospace'] })).map(([kind]) => kind)).toEqual([
    'cluster_etcd_corrupt',
  ])
})

test('one API server or one member of etcd that is not well is a finding, unless its server is silent', () => {
  const ill = seen({
    etcd: [member('a'), member('b', part('b', 'etcd is Failed')), member('c')],
    api_servers: [part('a'), part('b', 'connection refused'), part('c')],
  })
  expect(about(ill)).toEqual([
    ['cluster_etcd_member_ill', '2 of 3 members of etcd are healthy. b: etcd is Failed.'],
    ['cluster_api_server_down', 'The API server of b is not ready: connection refused.'],
  ])
  const [silence] = judged([silent('b', '21:38:00')])
  expect(about(ill, {}, around({ silent: new Map([['b', silence!]]) }))).toEqual([])
  // A silent member is not healthy either, so that two of three are gone.
  expect(about(ill, {}, around({ silent: new Map([['c', silence!]]) }))[0]).toEqual([
    'cluster_etcd_member_ill',
    '1 of 3 members of etcd is healthy. b: etcd is Failed. c does not answer.',
  ])
  // What the watch over the cluster says of its API servers is said once.
  const problem = { kind: 'api_server', since: at('21:39:00') } as const
  expect(about(ill, { problem, reason: 'kube-apiserver of b crashes' })).toEqual([
    ['cluster_api_server_down', 'kube-apiserver of b crashes.'],
    ['cluster_etcd_member_ill', '2 of 3 members of etcd are healthy. b: etcd is Failed.'],
  ])
  const once = { ...part('b', 'connection refused'), misses: 1 }
  expect(about(seen({ api_servers: [once] }))).toEqual([])
})

test('a control plane whose etcd Talos does not start again is a finding about the server, whose remedy is its restart', () => {
  const ill =
    'etcd is Failed: Failed to run pre stage: failed to build initial etcd cluster: timeout. Talos does not start it again before the server restarts'
  const etcd = [member('a'), member('b', part('b', ill)), member('c', part('c', 'etcd is Waiting'))]
  const found = judgeCluster(cluster({ observed: seen({ etcd }) }), around())
  expect(found.filter(({ kind }) => kind === 'server_etcd_failed')).toMatchObject([
    { object: { kind: 'server', id: 'b', name: 'b' }, reason: `${ill}.` },
  ])
  expect(findingKinds.server_etcd_failed.remedies[0]).toMatchObject({
    action: 'restart',
    call: 'POST /v1/nodes/{id}/reboot',
  })
})

test('a disk of a cluster that is gone is a finding about its server', () => {
  const [lost] = judgeCluster(
    cluster({
      observed: seen({
        missing_disks: [{ node_id: 'b', name: 'b', device: '/dev/sdb', misses: 2 }],
      }),
    }),
    around(),
  )
  expect(lost).toMatchObject({
    kind: 'server_disk_missing',
    object: { kind: 'server', id: 'b', name: 'b' },
    cluster: { name: 'web' },
    reason: '/dev/sdb of the server is gone: it broke or was taken out.',
  })
})
