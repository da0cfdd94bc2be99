// Subnets in simulated clusters over real sockets. The simulator's load balancers follow Cilium and
// MetalLB, independent of this code.
import { beforeAll, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { type Cluster, clusterDelete } from '#contract/clusters/clusters.ts'
import type { Server } from '#contract/servers/servers.ts'
import {
  clusterSubnets,
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type Subnet,
  subnetAddresses,
  subnetCreate,
  subnetGet,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { type ClusterWorld, clusterWorld } from '../clusters/testing/world.ts'

const world = await clusterWorld({ servers: 3, seed: 'pools' })
const { admin } = world
const until: ClusterWorld['until'] = (ask, is) => world.until(ask, is)
const ended = (operationId: string) => world.ended(operationId)

const made: { cluster: Cluster; node: Server }[] = []
beforeAll(async () => {
  const nodes = world.take(3)
  const begun = await Promise.all(nodes.map((node) => world.create([node])))
  for (const [i, { cluster, operation }] of begun.entries()) {
    const end = await ended(operation.id)
    if (end.status !== 'done') throw new Error(`No cluster: ${end.reason}`)
    made.push({ cluster, node: nodes[i]! })
  }
}, 600_000)

const handOf = (cluster: Cluster) => handOn(world.simulator.world, cluster.name)!
const addressOf = (cluster: Cluster, name: string) =>
  handOf(cluster)
    .show()
    .services.find((s) => s.name === name)?.addresses[0] ?? null
const look = async ({ id }: { id: string }) =>
  (await admin.call(subnetGet, { params: { id } })).answer!
const becomes = (subnet: { id: string }, status: Subnet['status']) =>
  until(
    () => look(subnet),
    (s) => s.status === status,
  )

let net = 0
async function subnet(more: object = {}): Promise<Subnet> {
  const n = ++net
  const called = await admin.call(subnetCreate, {
    body: {
      name: `net-${n}`,
      cidr: `203.0.113.${n * 16}/28`,
      datacenter_id: world.datacenterId,
      ...more,
    },
  })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const put = (cluster: Cluster, subnets: readonly Subnet[], force = false) =>
  admin.call(clusterSubnetsAssign, {
    params: { id: cluster.id },
    body: { subnet_ids: subnets.map((s) => s.id), force },
  })
async function assign(
  cluster: Cluster,
  subnets: readonly Subnet[],
  force = false,
): Promise<string> {
  const called = await put(cluster, subnets, force)
  if (!called.answer) throw new Error(called.text)
  return called.answer.operation.id
}
/** `ask` after a next look at the cluster, which happens once a minute. */
const lookedAgain =
  <T>({ id }: Cluster, ask: () => T | Promise<T>) =>
  async (): Promise<T> => {
    await world.toNextRun('cluster-pools', id)
    return ask()
  }
const audited = async (action: string, target: string) => {
  await world.backend.publish()
  return (await admin.call(auditList, { query: { action, target } })).answer!.items
}

test('a subnet is assigned, serves Services, is corrected after outside changes, and drains without a Service losing its address', async () => {
  const { cluster } = made[0]!
  const hand = handOf(cluster)
  const s = await subnet({ gateway: '203.0.113.17', exclude: ['203.0.113.20-203.0.113.22'] })
  expect((await ended(await assign(cluster, [s]))).status).toBe('done')
  expect(await look(s)).toMatchObject({ status: 'active', total: 10, reason: null })

  const [first] = await until(
    () => Promise.resolve(hand.show().services),
    (services) => services.every((x) => x.addresses.length === 1),
  )
  // Used addresses are read once a minute.
  await until(
    lookedAgain(cluster, () => look(s)),
    (x) => x.used === hand.show().services.length,
  )
  const map = (await admin.call(subnetAddresses, { params: { id: s.id } })).answer!
  expect(map.runs.find((r) => r.first === first!.addresses[0])).toMatchObject({
    state: 'used',
    by: `${first!.namespace}/${first!.name}`,
  })

  hand.edit('ciliumloadbalancerippools', `subnet-${s.id}`, {
    spec: { blocks: [{ cidr: '203.0.113.16/28' }] },
  })
  await until(
    lookedAgain(cluster, () => audited('subnet.drift_corrected', s.id)),
    (entries) => entries.length === 1,
  )
  hand.remove('ciliuml2announcementpolicies', 'steelyard')
  hand.remove('ciliumloadbalancerippools', `subnet-${s.id}`)
  await until(
    lookedAgain(cluster, () => audited('subnet.drift_corrected', s.id)),
    (entries) => entries.length === 2,
  )
  expect(await becomes(s, 'active')).toMatchObject({ reason: null })
  expect(hand.show().pools.map((p) => p.spec['blocks'])).toEqual([
    [
      { start: '203.0.113.18', stop: '203.0.113.19' },
      { start: '203.0.113.23', stop: '203.0.113.30' },
    ],
  ])
  await until(
    () => Promise.resolve(hand.show().services),
    (services) => services.every((x) => x.addresses.length === 1),
  )

  const before = hand.show().services.map((x) => [x.name, x.addresses[0]])
  const change = (
    await admin.call(clusterSubnetsPreview, {
      params: { id: cluster.id },
      body: { subnet_ids: [] },
    })
  ).answer!
  expect(new Set(change.losing.map((l) => l.address))).toEqual(
    new Set(before.map(([, address]) => address)),
  )
  const draining = await assign(cluster, [])
  await until(
    () => look(s),
    (x) => x.reason?.includes('in use') ?? false,
  )
  expect(hand.show().services.map((x) => [x.name, x.addresses[0]])).toEqual(before)
  hand.addService({ namespace: 'late', name: 'late' })
  for (const { namespace, name } of hand.show().services.filter((x) => x.name !== 'late'))
    hand.removeService(namespace, name)
  expect((await ended(draining)).status).toBe('done')
  expect(addressOf(cluster, 'late')).toBeNull()
  expect(await look(s)).toMatchObject({ status: 'unassigned', clusters: [] })
  expect(hand.show().pools).toEqual([])

  // The subnet is free for the next cluster.
  const other = made[1]!.cluster
  expect((await ended(await assign(other, [s]))).status).toBe('done')
  expect(await look(s)).toMatchObject({ status: 'active', clusters: [{ id: other.id }] })
  expect((await ended(await assign(other, [], true))).status).toBe('done')
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
}, 600_000)

longTest(
  'subnets of a cluster that is down can be changed, and the change reaches the cluster when it is back',
  async () => {
    const { cluster, node } = made[1]!
    const s = await subnet()
    const t = await subnet()
    await ended(await assign(cluster, [s]))
    const machine = world.machine(node)
    await machine.lifecycle.powerOff()
    const operation = await assign(cluster, [s, t])
    expect(
      await until(
        () => look(t),
        (x) => x.reason !== null,
      ),
    ).toMatchObject({
      status: 'applying',
      reason: expect.stringContaining('The Kubernetes API does not answer'),
      used: null,
    })
    expect(
      (
        await admin.call(subnetUpdate, {
          params: { id: s.id },
          body: { exclude: ['203.0.113.40'] },
        })
      ).status,
    ).toBe(200)
    expect(await look(s)).toMatchObject({ status: 'applying' })
    machine.lifecycle.powerOn()
    expect((await ended(operation)).status).toBe('done')
    await becomes(t, 'active')
    expect(await becomes(s, 'active')).toMatchObject({ reason: null, total: 13 })
    expect(await audited('subnet.drift_corrected', s.id)).toEqual([])
  },
  600_000,
)

longTest(
  'with MetalLB a subnet is assigned, used and drained',
  async () => {
    const { cluster } = made[2]!
    const hand = handOf(cluster)
    hand.setLoadBalancer('metallb')
    const s = await subnet()
    expect((await ended(await assign(cluster, [s]))).status).toBe('done')
    expect((await admin.call(clusterSubnets, { params: { id: cluster.id } })).answer).toMatchObject(
      {
        provider: 'metallb',
        items: [{ status: 'active' }],
      },
    )
    await until(
      () => Promise.resolve(hand.show().services),
      (services) => services.every((x) => x.addresses.length === 1),
    )
    const draining = await assign(cluster, [])
    await until(
      () => look(s),
      (x) => x.reason?.includes('in use') ?? false,
    )
    for (const { namespace, name } of hand.show().services) hand.removeService(namespace, name)
    expect((await ended(draining)).status).toBe('done')
    expect(await look(s)).toMatchObject({ status: 'unassigned' })
    expect(hand.show().pools).toEqual([])
  },
  600_000,
)

test('a workload subnet assigned concurrently to two clusters goes to one of them, a management subnet to both', async () => {
  const [a, b] = [made[0]!.cluster, made[1]!.cluster]
  const s = await subnet()
  const answers = await Promise.all([put(a, [s], true), put(b, [s], true)])
  const won = answers.findIndex((r) => r.status === 202)
  const winner = [a, b][won]!
  expect(answers[1 - won]).toMatchObject({
    status: 409,
    problem: {
      error: `${s.name} was assigned to ${winner.name} by ${admin.email} a moment ago`,
      related: { kind: 'cluster', id: winner.id },
    },
  })
  await ended(answers[won]!.answer!.operation.id)
  const shared = await subnet({ purpose: 'management' })
  for (const c of [a, b]) await ended(await assign(c, [shared], true))
  expect(await look(shared)).toMatchObject({
    status: 'active',
    clusters: [{ name: a.name }, { name: b.name }],
  })
}, 600_000)

test('deleting a cluster frees its subnets', async () => {
  const { cluster } = made[2]!
  const s = await subnet()
  await ended(await assign(cluster, [s]))
  const { answer } = await admin.call(clusterDelete, { params: { id: cluster.id }, query: {} })
  expect((await ended(answer!.operation.id)).status).toBe('done')
  expect(await look(s)).toMatchObject({ status: 'unassigned', clusters: [] })
}, 600_000)
