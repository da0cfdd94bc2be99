import { expect, test } from 'vitest'
import type { ClusterCondition } from '../clusters/api.ts'
import type { ServerCondition } from '../servers/api.ts'
import { type Around, judgeCluster } from './judge-clusters.ts'
import { around, at, cluster, judged, now, said, server, silent } from './testing/conditions.ts'

test('a silent server says since when, why, and whether its neighbours answer', () => {
  expect(said(judged([silent('a', '21:38:10')]))).toEqual([
    [
      'server_unreachable',
      'a',
      'No answer since 21:38 UTC; connection refused; the other servers of DE-FRA-1 answer.',
    ],
  ])
  expect(judged([silent('a', '21:38:00'), silent('b', '20:00:00')])[0]!.reason).toContain(
    '1 other server of DE-FRA-1 is silent too',
  )
  expect(judged([silent('a', '21:38:10', { datacenter: null })])[0]!.reason).toBe(
    'No answer since 21:38 UTC; connection refused.',
  )
})

test('a silent server says what its BMC says of its power', () => {
  const power = (state: 'on' | 'off' | 'unknown') => ({
    datacenter: null,
    power: { bmc_id: 'b', state, since: at('21:37:20').toISOString() },
  })
  expect(judged([silent('a', '21:38:10', power('off'))])[0]!.reason).toBe(
    'No answer since 21:38 UTC; its BMC says the power is off since 21:37 UTC.',
  )
  expect(judged([silent('a', '21:38:10', power('on'))])[0]!.reason).toBe(
    'No answer since 21:38 UTC; its BMC says the power is on since 21:37 UTC; connection refused.',
  )
  expect(judged([silent('a', '21:38:10', power('unknown'))])[0]!.reason).toBe(
    'No answer since 21:38 UTC; connection refused.',
  )
})

test('a server that its cluster let go without a reset is in use, also if it does not answer', () => {
  const left = { cluster: null, status: 'maintenance', left_cluster: 'poz-shop' } as const
  expect(said(judged([server('a', left), silent('b', '21:38:00', left)]))).toEqual([
    ['server_left_behind', 'a', 'In use by poz-shop (not in its list any more): it was not reset.'],
    [
      'server_left_behind',
      'b',
      'In use by poz-shop (not in its list any more): it was not reset, and does not answer: connection refused.',
    ],
  ])
})

test('a server that an operation restarts is no finding for fifteen minutes', () => {
  expect(judged([silent('a', '21:50:00', { operation_id: 'o' })])).toEqual([])
  expect(judged([silent('a', '21:40:00', { operation_id: 'o' })])).toHaveLength(1)
})

test('five servers that fall silent within a minute are one finding with its servers, four are four', () => {
  const four = ['a', 'b', 'c', 'd'].map((name, i) => silent(name, `21:38:${i}0`))
  expect(judged(four).map((one) => one.kind)).toEqual(Array(4).fill('server_unreachable'))
  const all = [...four, silent('e', '21:39:00'), silent('late', '21:45:00')]
  const found = judged(all)
  expect(said(found)).toEqual([
    [
      'datacenter_silent',
      'DE-FRA-1',
      '5 servers fell silent together at 21:38 UTC: of 1 cluster; 2 other servers there answer.',
    ],
    [
      'server_unreachable',
      'late',
      'No answer since 21:45 UTC; connection refused; 5 other servers of DE-FRA-1 are silent too.',
    ],
  ])
  expect(found[0]!.affected!.map((s) => s.name)).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('of servers that fell silent together, the last ones stay in their finding until they answer', () => {
  const rest = [silent('a', '21:38:00'), silent('b', '21:38:30')]
  const found = judged(rest, { together: new Set(['a', 'b', 'c', 'd', 'e']) })
  expect(found.map((one) => [one.kind, one.affected?.length])).toEqual([['datacenter_silent', 2]])
})

test('the last silent server of those that fell silent together did not do so alone', () => {
  const found = judged([silent('a', '21:38:00')], { together: new Set(['a']), answering: 5 })
  expect(said(found)).toEqual([
    [
      'datacenter_silent',
      'DE-FRA-1',
      '1 server is silent of those that fell silent together at 21:38 UTC: of 1 cluster; 5 other servers there answer.',
    ],
  ])
})

test('servers that fall silent long after others of their datacenter are told apart from those', () => {
  const wave = ['a', 'b', 'c', 'd', 'e'].map((name, i) => silent(name, `23:10:0${i}`))
  const found = judged([silent('old', '21:38:00'), ...wave], { together: new Set(['old']) })
  expect(said(found)).toEqual([
    [
      'datacenter_silent',
      'DE-FRA-1',
      '5 servers fell silent together at 23:10 UTC, and 1 more has been silent for longer: of 1 cluster; 2 other servers there answer.',
    ],
  ])
  expect(found[0]!.affected).toHaveLength(6)
})

test('servers that fall silent in a chain of minutes belong together, those of another time do not', () => {
  const chain = Array.from({ length: 9 }, (_, i) =>
    silent(`s${i}`, `21:38:${String(i * 6).padStart(2, '0')}`),
  )
  const later = Array.from({ length: 4 }, (_, i) => silent(`t${i}`, `21:44:${i}0`))
  const found = judged([...chain, ...later])
  expect(found[0]!.affected).toHaveLength(9)
  expect(found.filter((one) => one.kind === 'server_unreachable')).toHaveLength(4)
})

test('a server has one finding, the worst of what is known of it', () => {
  const drift_since = at('20:00:00').toISOString()
  const since = at('21:00:00').toISOString()
  const not = { ready: false, reason: 'Kubelet stopped', since }
  const kindOf = (more: Partial<ServerCondition>) =>
    judged([server('a', { drift_since, ...more })]).map((one) => one.kind)
  expect(kindOf({})).toEqual(['server_drifted'])
  expect(kindOf({ doubt: '' })).toEqual(['server_in_doubt'])
  expect(kindOf({ kubernetes: not, doubt: '' })).toEqual(['server_not_ready'])
  expect(kindOf({ kubernetes: not, failure: { reason: 'Disk broken', since } })).toEqual([
    'server_failed',
  ])
  expect(kindOf({ pending: { reason: 'b is not well', since, waits_for: [] } })).toEqual([
    'server_patches_wait',
  ])
})

const api = {
  status: 'degraded',
  reason: 'The Kubernetes API does not answer: timeout',
  problem: { kind: 'api', since: at('21:39:00') },
} as const

test('a cluster that is well has no finding', () => {
  expect(judgeCluster(cluster(), around())).toEqual([])
})

test('a cluster that loses its majority has one finding, which names its cause', () => {
  const found = judged([silent('a', '21:38:00'), silent('b', '21:40:00')])
  const lost = around({ silent: new Map(found.map((one) => [one.object.id, one])) })
  expect(judgeCluster(cluster(api), lost)).toMatchObject([
    {
      kind: 'cluster_quorum_lost',
      since: at('21:40:00'),
      reason:
        '2 of 3 control planes do not answer. etcd has no majority, so the cluster accepts no change.',
      causedBy: { kind: 'server_unreachable', objectId: 'a' },
    },
  ])
  const third = judged([silent('a', '21:38:00'), silent('b', '21:40:00'), silent('c', '21:50:00')])
  const all = around({ silent: new Map(third.map((one) => [one.object.id, one])) })
  expect(judgeCluster(cluster(api), all)).toMatchObject([
    {
      since: at('21:40:00'),
      reason: '3 of 3 control planes do not answer. The cluster is down.',
    },
  ])
  const one = around({ silent: new Map([[found[0]!.object.id, found[0]!]]) })
  expect(judgeCluster(cluster(api), one)).toMatchObject([
    { kind: 'cluster_api_down', reason: 'The Kubernetes API does not answer: timeout.' },
  ])
})

test('a snapshot that failed, and one that is overdue, are findings with the newest one', () => {
  const newest_at = at('03:12:00')
  const made = at('00:00:00')
  const schedule = { every_hours: 6, paused: false, created_at: made, updated_at: made }
  const kinds = (snapshot: Around['snapshot'], more: Partial<ClusterCondition> = {}) =>
    judgeCluster(cluster(more), around({ snapshot })).map((one) => [one.kind, one.reason])
  expect(
    kinds({ newest_at, schedule, failure: { reason: 'The store is full', at: at('21:00:00') } }),
  ).toEqual([
    [
      'cluster_snapshot_failed',
      'The last snapshot failed: The store is full. The newest is of 2026-11-27 03:12 UTC.',
    ],
  ])
  // Also without a schedule, for a snapshot on request.
  expect(
    kinds({ newest_at: null, schedule: null, failure: { reason: 'no store', at: at('21:00:00') } }),
  ).toEqual([
    ['cluster_snapshot_failed', 'The last snapshot failed: no store. No snapshot can be restored.'],
  ])
  expect(kinds({ newest_at, schedule, failure: null })).toEqual([
    [
      'cluster_snapshot_overdue',
      'The newest is of 2026-11-27 03:12 UTC. The schedule should have taken newer ones.',
    ],
  ])
  expect(kinds({ newest_at: at('12:00:00'), schedule, failure: null })).toEqual([])
  const changed = { ...schedule, updated_at: at('12:00:00') }
  expect(kinds({ newest_at, schedule: changed, failure: null })).toEqual([])
  // Without a schedule a snapshot of the last week is enough.
  const daysAgo = (days: number) => new Date(now - days * 86_400_000)
  const old = { ready_at: daysAgo(30) }
  expect(kinds({ newest_at: daysAgo(6), schedule: null, failure: null }, old)).toEqual([])
  expect(kinds({ newest_at: daysAgo(8), schedule: null, failure: null }, old)).toEqual([
    [
      'cluster_snapshot_overdue',
      'The newest is of 2026-11-19 22:00 UTC. No schedule takes snapshots.',
    ],
  ])
  // A new cluster has a day for its first snapshot or its schedule.
  expect(kinds(undefined, { ready_at: daysAgo(0.9) })).toEqual([])
  const lost =
    'No snapshot can be restored. No schedule takes snapshots. A cluster that loses all its control planes is lost.'
  expect(kinds(undefined, { ready_at: daysAgo(1.1) })).toEqual([['cluster_snapshot_overdue', lost]])
  const paused = { ...schedule, paused: true }
  expect(kinds({ newest_at: null, schedule: paused, failure: null }, old)).toEqual([
    ['cluster_snapshot_overdue', 'No snapshot can be restored. The schedule is paused.'],
  ])
})

test('an upgrade that stopped half way says how many servers have the new version, and goes on by its operation', () => {
  const upgrade = {
    operation_id: 'o',
    cluster_id: 'web',
    kind: 'clusterUpgradeTalos',
    status: 'failed',
    version: 'v1.13.9',
    reason: 'web-3 does not answer',
    ended_at: at('18:01:00'),
    servers: { done: 2, of: 3 },
    left: ['web-3'],
  } as const
  expect(
    judgeCluster(cluster({ operation_id: 'o' }), around({ upgrades: [upgrade] })),
  ).toMatchObject([
    {
      kind: 'cluster_upgrade_stopped',
      since: at('18:01:00'),
      reason: '2 of 3 servers on Talos v1.13.9, stopped 18:01 UTC. web-3 does not answer.',
      operationId: 'o',
      upgrade: {
        of: 'talos',
        version: 'v1.13.9',
        sentence: '2 of 3 on v1.13.9, stopped 18:01 UTC',
        operation_id: 'o',
      },
    },
  ])
  // The server that failed was removed by force.
  const members = new Set<string>()
  expect(judgeCluster(cluster(), around({ upgrades: [upgrade], members }))).toEqual([])
  // It was replaced by one that was installed with the older version.
  const mixed = cluster({ talos_version: 'v1.13.8' })
  expect(judgeCluster(mixed, around({ upgrades: [upgrade], members }))).toHaveLength(1)
  const kubelets = { ...upgrade, kind: 'clusterUpgradeKubernetes', version: '1.36.10' } as const
  expect(judgeCluster(mixed, around({ upgrades: [kubelets], members }))).toHaveLength(1)
  const reached = { ...kubelets, version: '1.36.3' }
  expect(judgeCluster(mixed, around({ upgrades: [reached], members }))).toEqual([])
  // Every server has the version, and a later step failed.
  const last = { ...upgrade, servers: { done: 3, of: 3 }, left: [] }
  expect(judgeCluster(cluster(), around({ upgrades: [last], members }))).toHaveLength(1)
})

test('an upgrade that cannot be retried names no operation to retry, and says what goes on', () => {
  const upgrade = {
    operation_id: 'o',
    cluster_id: 'web',
    kind: 'clusterUpgradeTalos',
    version: 'v1.13.9',
    reason: 'web-3 does not answer.',
    ended_at: at('18:01:00'),
    servers: { done: 2, of: 3 },
    left: ['web-3'],
  } as const
  const told = (status: 'failed' | 'cancelled' | 'waiting', current: string) => {
    const upgrades = [{ ...upgrade, status }]
    const found = judgeCluster(cluster({ operation_id: current }), around({ upgrades }))
    return found.map((one) => [one.operationId, one.reason])
  }
  const of = '2 of 3 servers on Talos v1.13.9'
  const again = 'Request the same upgrade again: it goes on from there.'
  expect(told('failed', 'o')).toEqual([['o', `${of}, stopped 18:01 UTC. web-3 does not answer.`]])
  expect(told('failed', 'a snapshot')).toEqual([
    [undefined, `${of}, stopped 18:01 UTC. web-3 does not answer. ${again}`],
  ])
  expect(told('cancelled', 'o')).toEqual([[undefined, `${of}, stopped 18:01 UTC. ${again}`]])
  expect(told('waiting', 'o')).toEqual([
    [undefined, `${of}, waits since 18:01 UTC. web-3 does not answer.`],
  ])
})

test('a scheduled change that failed says when and why, and is tried again while it is the newest', () => {
  const failed = {
    operation_id: 'o',
    cluster_id: 'web',
    kind: 'clusterConfigure',
    reason: 'web-2 does not answer.',
    ended_at: at('21:14:00'),
    starts_at: null,
    in_window: true,
  } as const
  const judgedWith = (current: string, more: { starts_at?: Date; in_window?: boolean } = {}) =>
    judgeCluster(cluster({ operation_id: current }), around({ failed: { ...failed, ...more } }))
  expect(judgedWith('o')).toMatchObject([
    {
      kind: 'cluster_change_failed',
      since: failed.ended_at,
      operationId: 'o',
      reason:
        'Change patches, scheduled for the maintenance window, failed 21:14 UTC. web-2 does not answer.',
    },
  ])
  const [snapshotSince] = judgedWith('other', { starts_at: at('21:00:00'), in_window: false })
  expect(snapshotSince!.operationId).toBeUndefined()
  expect(snapshotSince!.reason).toBe(
    'Change patches, scheduled for 2026-11-27 21:00 UTC, failed 21:14 UTC. web-2 does not answer. Request the same change again.',
  )
})

test('an upgrade that waits for more than fifteen minutes says for what', () => {
  const upgrade = (since: string) => ({
    operation_id: 'o',
    cluster_id: 'web',
    kind: 'clusterUpgradeKubernetes' as const,
    status: 'waiting' as const,
    version: '1.36.3',
    reason: 'web-3 is not Ready',
    ended_at: at(since),
    servers: { done: 1, of: 3 },
    left: ['web-2', 'web-3'],
  })
  expect(judgeCluster(cluster(), around({ upgrades: [upgrade('21:50:00')] }))).toEqual([])
  expect(judgeCluster(cluster(), around({ upgrades: [upgrade('21:40:00')] }))).toMatchObject([
    {
      kind: 'cluster_upgrade_stopped',
      reason: '1 of 3 servers on Kubernetes 1.36.3, waits since 21:40 UTC. web-3 is not Ready.',
    },
  ])
})

test('certificates near their end, refused certificates, failing actions and old versions are findings', () => {
  const found = judgeCluster(
    cluster({
      locked_out: { reason: 'Its machines refuse Steelyard', since: at('20:00:00') },
      troubles: ['The IP subnets cannot be applied to the cluster: timeout'],
      certificates: [
        { kind: 'etcd_ca', name: null, ends_at: '2026-12-01T00:00:00.000Z', reason: 'Rotate it' },
      ],
    }),
    around({
      unsupported: [
        { of: 'talos', sentence: 'Talos 1.11 is out of support.', since: null },
        {
          of: 'kubernetes',
          sentence: 'Kubernetes 1.33 has been out of support.',
          since: '2026-06-28',
        },
      ],
    }),
  )
  expect(found.map((one) => [one.kind, one.reason])).toEqual([
    ['cluster_locked_out', 'Its machines refuse Steelyard.'],
    ['cluster_action_fails', 'The IP subnets cannot be applied to the cluster: timeout.'],
    [
      'cluster_certificate_ending',
      'Certificates expire on 2026-12-01: Authority of etcd. Rotate it.',
    ],
    [
      'cluster_version_unsupported',
      'Talos 1.11 is out of support. Kubernetes 1.33 has been out of support.',
    ],
  ])
  expect(found.at(-1)!.since).toEqual(new Date('2026-06-28'))
})

test('a cluster that is held since a restore, or since the database went back, is a finding', () => {
  const said = (missing: string | null) =>
    judgeCluster(
      cluster({ held: { restored_at: at('21:00:00'), backup_made_at: at('20:00:00'), missing } }),
      around(),
    )
  const until = 'Nothing is sent to its servers until somebody has checked and resumed it.'
  const day = new Date(now).toISOString().slice(0, 10)
  expect(said(null)).toMatchObject([
    {
      kind: 'cluster_held',
      since: at('21:00:00'),
      reason: `The database was restored from a backup of ${day} 20:00 UTC. ${until}`,
    },
  ])
  expect(said('events 7 to 9')).toMatchObject([
    { reason: `The database went back to ${day} 20:00 UTC and lacks events 7 to 9. ${until}` },
  ])
})

test('each kind of ending certificate has its advice, and what has expired says since when', () => {
  const ends = (kind: 'kubernetes_ca' | 'talos_ca' | 'kubelet', on: string, reason: string) => ({
    kind,
    name: kind === 'kubelet' ? 'web-1' : null,
    ends_at: `${on}T00:00:00.000Z`,
    reason,
  })
  const restart = 'Talos has not renewed it in time: restart the server'
  const [found] = judgeCluster(
    cluster({
      certificates: [
        ends('talos_ca', '2027-12-02', 'Rotate it'),
        ends('kubelet', '2027-12-01', restart),
        ends('kubernetes_ca', '2027-12-03', 'Rotate it'),
        ends('kubelet', '2020-01-05', restart),
      ],
    }),
    around(),
  )
  expect(found!.reason).toBe(
    `Certificates have expired since 2020-01-05: Kubelet of web-1. ${restart}. Certificates expire on 2027-12-01: Kubelet of web-1. ${restart}. Certificates expire on 2027-12-02: Authority of the Talos API, Authority of the Kubernetes API. Rotate it.`,
  )
})

test('a cluster whose subnets have no free address is a finding', () => {
  const full = [{ name: 'front', cidr: '203.0.113.0/28' }]
  expect(judgeCluster(cluster(), around({ full })).map((one) => [one.kind, one.reason])).toEqual([
    [
      'cluster_pool_exhausted',
      'Every address of front (203.0.113.0/28) is in use, so the next Service gets none.',
    ],
  ])
})

test('a free server on which installations failed says how many, and the last reason', () => {
  const install = { count: 5, since: at('20:00:00').toISOString(), reason: 'input/output error' }
  const free = { cluster: null, status: 'maintenance', install } as const
  expect(said(judged([server('a', free)]))).toEqual([
    ['server_install_failed', 'a', '5 installations failed here: input/output error.'],
  ])
})
