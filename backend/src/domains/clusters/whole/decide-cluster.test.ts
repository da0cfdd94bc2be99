import { expect, test } from 'vitest'
import type { ClusterRow, MemberRow, State } from '../store.ts'
import { buildCluster, buildMember } from '../testing/rows.ts'
import {
  chooseForBootstrap,
  decideCluster,
  describe as describeCluster,
  isStuck,
  waitTurn,
} from './decide-cluster.ts'

const now = new Date()
const member = (n: number, more: Partial<MemberRow> = {}): MemberRow =>
  buildMember({
    node_id: `id-${n}`,
    name: `web-${n}`,
    role: n <= 3 ? 'control_plane' : 'worker',
    position: n,
    ...more,
  })
const bootstrap = (confirmed_at: Date | null) => ({
  cluster_id: 'cluster',
  node_id: 'id-1',
  node_uuid: '',
  intent_at: now,
  called_at: now,
  calls: 1,
  boot_id: null,
  etcd_start: null,
  confirmed_at,
})
const cluster = (
  members: MemberRow[],
  more: Partial<ClusterRow> = {},
  state: Partial<State> = {},
): State => ({
  row: buildCluster(more),
  members,
  bootstrap: undefined,
  hasBundle: true,
  ...state,
})
const five = (more: Partial<MemberRow> = {}) => [1, 2, 3, 4, 5].map((n) => member(n, more))

test('a creation goes through its phases in order', () => {
  const confirmed = { bootstrap: bootstrap(now) }
  expect(decideCluster(cluster(five(), {}, { hasBundle: false }))).toBe('secrets')
  expect(decideCluster(cluster(five(), { escrowed_at: null }))).toBe('escrow')
  expect(decideCluster(cluster(five()))).toBe('wait-control-plane')
  expect(decideCluster(cluster([member(1), member(2, { secured_at: now }), member(3)]))).toBe(
    'bootstrap',
  )
  expect(decideCluster(cluster(five(), {}, { bootstrap: bootstrap(null) }))).toBe('bootstrap')
  expect(decideCluster(cluster(five(), {}, confirmed))).toBe('check-control-plane')
  expect(decideCluster(cluster(five(), { control_plane_at: now }, confirmed))).toBe('check-nodes')
  expect(
    decideCluster(cluster(five(), { control_plane_at: now, nodes_ready_at: now }, confirmed)),
  ).toBe('key')
  expect(
    decideCluster(
      cluster(
        five(),
        { control_plane_at: now, nodes_ready_at: now, key_applied_at: now },
        confirmed,
      ),
    ),
  ).toBe('access')
  expect(
    decideCluster(cluster(five(), { ready_at: now, key_applied_at: now, access_applied_at: now })),
  ).toBe('watch')
  // A cluster that was taken over needs only its key.
  expect(decideCluster(cluster(five(), { ready_at: now }))).toBe('key')
  expect(decideCluster(cluster(five(), { ready_at: now, key_applied_at: now }))).toBe('access')
})

test('a worker is never chosen for the bootstrap of etcd, even if it answers first', () => {
  expect(decideCluster(cluster([member(1), member(4, { secured_at: now })]))).toBe(
    'wait-control-plane',
  )
  expect(
    chooseForBootstrap([
      member(4, { secured_at: now }),
      member(3, { secured_at: now }),
      member(2, { secured_at: now, failed_at: now }),
      member(1),
    ])?.name,
  ).toBe('web-3')
})

test('workers leave first, then control planes one by one from the last', () => {
  const members = five({ send_intent_at: now })
  const leaving = (of: MemberRow[], wanted: ClusterRow['wanted'] = 'removed') =>
    cluster(of, { wanted }, { bootstrap: bootstrap(now) })
  expect(waitTurn(members[3]!, leaving(members))).toBeNull()
  expect(waitTurn(members[2]!, leaving(members))).toBe('Workers first: web-4 and web-5')
  const withoutWorkers = members.map((m) => (m.role === 'worker' ? { ...m, released_at: now } : m))
  expect(waitTurn(withoutWorkers[2]!, leaving(withoutWorkers))).toBeNull()
  expect(waitTurn(withoutWorkers[0]!, leaving(withoutWorkers))).toBe(
    'Control planes leave etcd one by one: web-2 and web-3 first',
  )
  // Before the bootstrap there is no etcd to leave, so no control plane waits.
  expect(
    waitTurn(withoutWorkers[0]!, { ...leaving(withoutWorkers), bootstrap: undefined }),
  ).toBeNull()
  // A replaced server leaves without waiting for others.
  expect(waitTurn(members[0]!, leaving(members, 'ready'))).toBeNull()
})

test('a failed server stops the creation only after the others have finished or failed', () => {
  const failed = member(3, { failed_at: now, failure: 'It refused the configuration' })
  const going = cluster([member(1), member(2), failed])
  expect(isStuck(going)).toBe(false)
  const confirmed = { bootstrap: bootstrap(now) }
  const on = { secured_at: now, etcd_at: now, node_ready_at: now } as const
  const done = cluster([member(1, on), member(2, on), failed], { control_plane_at: now }, confirmed)
  expect(isStuck(done)).toBe(true)
  expect(describeCluster(done)).toEqual({
    status: 'failed',
    reason: 'web-3: It refused the configuration',
  })
  expect(
    isStuck(
      cluster(
        [member(1, on), member(2, { ...on, node_ready_at: null }), failed],
        { control_plane_at: now },
        confirmed,
      ),
    ),
  ).toBe(false)
})

test("a replaced server does not delay the others, even if it can't be reset", () => {
  const on = { secured_at: now, etcd_at: now, node_ready_at: now } as const
  const replaced = member(3, { wanted: 'released', failed_at: now, failure: 'It does not answer' })
  const going = [{ control_plane_at: now }, { bootstrap: bootstrap(now) }] as const
  const members = [member(1, on), member(2, on), replaced]
  expect(isStuck(cluster(members, ...going))).toBe(false)
  expect(describeCluster(cluster(members, ...going))).toMatchObject({ status: 'bootstrapping' })
  expect(isStuck(cluster([replaced], { wanted: 'removed' }))).toBe(true)
})

test('the reason of a failure contains the name of its server once', () => {
  const said = (failure: string) =>
    describeCluster(
      cluster([member(1), member(2), member(3, { failed_at: now, failure })], {
        wanted: 'removed',
      }),
    ).reason
  const { name } = member(3)
  const reasons = [
    said('It refused the configuration'),
    said(`${name} came back in maintenance after 5 installations`),
  ]
  expect(reasons).toEqual([
    `${name}: It refused the configuration`,
    `${name} came back in maintenance after 5 installations`,
  ])
  expect(said('/dev/sda of web-3 (PM9A3): it holds xfs')).toContain(
    '/dev/sda of web-3 (PM9A3): it holds xfs',
  )
  expect(said('/dev/sda of web-3 (PM9A3): it holds xfs')).not.toContain('web-3: ')
})

test('if all control planes have failed, the creation does not wait for the workers', () => {
  const failed = member(1, { failed_at: now, failure: 'no' })
  expect(isStuck(cluster([failed, member(4, { at: 'apply' })]))).toBe(true)
})

test('if the server chosen for the bootstrap fails with an unknown result, no other server is chosen', () => {
  const chosen = member(1, { secured_at: now, failed_at: now, failure: 'It does not answer' })
  const stuck = cluster(
    [chosen, member(2, { secured_at: now }), member(3, { secured_at: now })],
    {},
    { bootstrap: bootstrap(null) },
  )
  expect(isStuck(stuck)).toBe(true)
  expect(describeCluster(stuck)).toMatchObject({ status: 'failed' })
})

test("the cluster's status shows what the creation waits for", () => {
  expect(describeCluster(cluster(five(), {}, { hasBundle: false })).status).toBe('pending')
  expect(describeCluster(cluster(five()))).toEqual({
    status: 'configuring',
    reason: 'Sending web-1, web-2 and web-3 their configuration',
  })
  expect(describeCluster(cluster(five({ send_intent_at: now })))).toEqual({
    status: 'installing',
    reason: 'Waiting for web-1, web-2 and web-3 to install and restart',
  })
  expect(describeCluster(cluster(five({ send_intent_at: now, secured_at: now })))).toEqual({
    status: 'bootstrapping',
    reason: 'Choosing the control plane that etcd is started on',
  })
  expect(
    describeCluster(cluster(five({ send_intent_at: now }), {}, { bootstrap: bootstrap(null) })),
  ).toEqual({
    status: 'bootstrapping',
    reason: 'Starting etcd on web-1',
  })
  const removing = cluster(five({ released_at: now }), { wanted: 'removed' })
  expect(describeCluster(removing)).toEqual({ status: 'deleting', reason: null })
  expect(decideCluster(removing)).toBe('forget')
})
