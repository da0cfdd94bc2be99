import { expect, test } from 'vitest'
import { chooseForBootstrap, type ClusterFacts, decideCluster, describe as describeCluster, isStuck, type Member, waitTurn } from './decide-cluster.ts'

const member = (n: number, more: Partial<Member> = {}): Member => ({
  node_id: `id-${n}`,
  name: `web-${n}`,
  role: n <= 3 ? 'control_plane' : 'worker',
  position: n,
  wanted: 'joined',
  at: 'apply',
  sent: false,
  secured: false,
  etcd: false,
  nodeReady: false,
  failed: false,
  failure: null,
  released: false,
  ...more,
})
const cluster = (members: Member[], more: Partial<ClusterFacts> = {}): ClusterFacts => ({
  wanted: 'ready',
  forced: false,
  secrets: true,
  escrowed: true,
  bootstrap: null,
  controlPlaneHealthy: false,
  nodesReady: false,
  keyApplied: false,
  accessApplied: false,
  wasReady: false,
  members,
  ...more,
})
const five = (more: Partial<Member> = {}) => [1, 2, 3, 4, 5].map((n) => member(n, more))

test('a creation goes through its acts in order', () => {
  const confirmed = { node_id: 'id-1', confirmed: true }
  expect(decideCluster(cluster(five(), { secrets: false }))).toBe('secrets')
  expect(decideCluster(cluster(five(), { escrowed: false }))).toBe('escrow')
  expect(decideCluster(cluster(five()))).toBe('wait-control-plane')
  expect(decideCluster(cluster([member(1), member(2, { secured: true }), member(3)]))).toBe('bootstrap')
  expect(decideCluster(cluster(five(), { bootstrap: { node_id: 'id-1', confirmed: false } }))).toBe('bootstrap')
  expect(decideCluster(cluster(five(), { bootstrap: confirmed }))).toBe('check-control-plane')
  expect(decideCluster(cluster(five(), { bootstrap: confirmed, controlPlaneHealthy: true }))).toBe('check-nodes')
  expect(decideCluster(cluster(five(), { bootstrap: confirmed, controlPlaneHealthy: true, nodesReady: true }))).toBe('key')
  expect(decideCluster(cluster(five(), { bootstrap: confirmed, controlPlaneHealthy: true, nodesReady: true, keyApplied: true }))).toBe('access')
  expect(decideCluster(cluster(five(), { wasReady: true, keyApplied: true, accessApplied: true }))).toBe('watch')
  // One that was taken over.
  expect(decideCluster(cluster(five(), { wasReady: true }))).toBe('key')
  expect(decideCluster(cluster(five(), { wasReady: true, keyApplied: true }))).toBe('access')
})

test('a worker that answers is never chosen for etcd', () => {
  expect(decideCluster(cluster([member(1), member(4, { secured: true })]))).toBe('wait-control-plane')
  expect(chooseForBootstrap([member(4, { secured: true }), member(3, { secured: true }), member(2, { secured: true, failed: true }), member(1)])?.name).toBe(
    'web-3',
  )
})

test('workers leave first, then control planes one by one from the last', () => {
  const members = five({ sent: true })
  const leaving = { wanted: 'removed', etcdBegun: true } as const
  expect(waitTurn(members[3]!, members, leaving)).toBeNull()
  expect(waitTurn(members[2]!, members, leaving)).toBe('Workers first: web-4 and web-5')
  const withoutWorkers = members.map((m) => (m.role === 'worker' ? { ...m, released: true } : m))
  expect(waitTurn(withoutWorkers[2]!, withoutWorkers, leaving)).toBeNull()
  expect(waitTurn(withoutWorkers[0]!, withoutWorkers, leaving)).toBe('Control planes leave etcd one by one: web-2 and web-3 first')
  // Before etcd was begun there is nothing to leave in order.
  expect(waitTurn(withoutWorkers[0]!, withoutWorkers, { ...leaving, etcdBegun: false })).toBeNull()
  // A single server that is replaced waits for nobody.
  expect(waitTurn(members[0]!, members, { wanted: 'ready', etcdBegun: true })).toBeNull()
})

test('a failed server stops the creation only once the others have come as far as they can', () => {
  const failed = member(3, { failed: true, failure: 'It refused the configuration' })
  const going = cluster([member(1), member(2), failed])
  expect(isStuck(going)).toBe(false)
  const confirmed = { node_id: 'id-1', confirmed: true }
  const on = { secured: true, etcd: true, nodeReady: true } as const
  const done = cluster([member(1, on), member(2, on), failed], { bootstrap: confirmed, controlPlaneHealthy: true })
  expect(isStuck(done)).toBe(true)
  expect(describeCluster(done)).toEqual({ status: 'failed', reason: 'web-3: It refused the configuration' })
  expect(isStuck(cluster([member(1, on), member(2, { ...on, nodeReady: false }), failed], { bootstrap: confirmed, controlPlaneHealthy: true }))).toBe(false)
})

test('one that was replaced holds nobody up, also where it can not be reset', () => {
  const on = { secured: true, etcd: true, nodeReady: true } as const
  const replaced = member(3, { wanted: 'released', failed: true, failure: 'It does not answer' })
  const going = { bootstrap: { node_id: 'id-1', confirmed: true }, controlPlaneHealthy: true }
  const members = [member(1, on), member(2, on), replaced]
  expect(isStuck(cluster(members, going))).toBe(false)
  expect(describeCluster(cluster(members, going))).toMatchObject({ status: 'bootstrapping' })
  expect(isStuck(cluster([replaced], { wanted: 'removed' }))).toBe(true)
})

test('the reason of a failure names its server once', () => {
  const said = (failure: string) => describeCluster(cluster([member(1), member(2), member(3, { failed: true, failure })], { wanted: 'removed' })).reason
  const { name } = member(3)
  const reasons = [said('It refused the configuration'), said(`${name} came back in maintenance after 5 installations`)]
  expect(reasons).toEqual([`${name}: It refused the configuration`, `${name} came back in maintenance after 5 installations`])
  expect(said('/dev/sda of web-3 (PM9A3): it holds xfs')).toContain('/dev/sda of web-3 (PM9A3): it holds xfs')
  expect(said('/dev/sda of web-3 (PM9A3): it holds xfs')).not.toContain('web-3: ')
})

test('without any control plane left the workers are not waited for', () => {
  const failed = member(1, { failed: true, failure: 'no' })
  expect(isStuck(cluster([failed, member(4, { at: 'apply' })]))).toBe(true)
})

test('the server chosen for etcd is not changed when it fails while its state is unknown', () => {
  const chosen = member(1, { secured: true, failed: true, failure: 'It does not answer' })
  const stuck = cluster([chosen, member(2, { secured: true }), member(3, { secured: true })], { bootstrap: { node_id: 'id-1', confirmed: false } })
  expect(isStuck(stuck)).toBe(true)
  expect(describeCluster(stuck)).toMatchObject({ status: 'failed' })
})

test('the status follows what is waited for', () => {
  expect(describeCluster(cluster(five(), { secrets: false })).status).toBe('pending')
  expect(describeCluster(cluster(five()))).toEqual({ status: 'configuring', reason: 'Sending web-1, web-2 and web-3 their configuration' })
  expect(describeCluster(cluster(five({ sent: true })))).toEqual({ status: 'installing', reason: 'Waiting for web-1, web-2 and web-3 to install and restart' })
  expect(describeCluster(cluster(five({ sent: true, secured: true })))).toEqual({
    status: 'bootstrapping',
    reason: 'Choosing the control plane that etcd is started on',
  })
  expect(describeCluster(cluster(five({ sent: true }), { bootstrap: { node_id: 'id-1', confirmed: false } }))).toEqual({
    status: 'bootstrapping',
    reason: 'Starting etcd on web-1',
  })
  const removing = cluster(five({ released: true }), { wanted: 'removed' })
  expect(describeCluster(removing)).toEqual({ status: 'deleting', reason: null })
  expect(decideCluster(removing)).toBe('forget')
})
