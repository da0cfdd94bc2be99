import { expect, test } from 'vitest'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { operationRetry } from '#contract/operations.ts'
import {
  clusterSubnets,
  clusterSubnetsPreview,
  subnetAddresses,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import type { FakeKubernetes } from './testing/kubernetes.ts'
import { hostOf, pathOf, poolWorld } from './testing/world.ts'

const world = await poolWorld()
const { engine } = world.backend

// First, because the clusters of the other tests would be reconciled as well.
test('a cluster without subnets is not contacted', async () => {
  const c = await world.cluster()
  const asked: string[] = []
  c.fake.before = (what) => void asked.push(what)
  await world.assign(c.id, [])
  await engine.run(300_000)
  expect(asked).toEqual([])
})

test('an assigned subnet becomes a pool in the cluster, and is active after the pool was read back', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await world.subnet()
  const id = await world.assign(c.id, [s])
  expect(await world.look(s)).toMatchObject({
    status: 'applying',
    clusters: [{ id: c.id, name: c.name }],
    used: null,
  })
  await engine.settle()
  expect(await world.operation(id)).toMatchObject({
    status: 'done',
    kind: 'clusterSubnetsAssign',
    target: { kind: 'cluster', id: c.id },
  })
  expect(await world.steps(id)).toEqual({ apply: 'done', 'read-back': 'done' })
  expect(await world.look(s)).toMatchObject({ status: 'active', reason: null, total: 13, used: 1 })
  expect(c.fake.changes).toEqual([
    `apply ${pathOf(s)}`,
    'apply /apis/cilium.io/v2alpha1/ciliuml2announcementpolicies/steelyard',
  ])
  const shown = (await world.admin().call(clusterSubnets, { params: { id: c.id } })).answer!
  expect(shown).toMatchObject({ provider: 'cilium', items: [{ id: s.id }] })
  expect(shown.manifest).toContain(`name: subnet-${s.id}`)
  expect((await world.admin().call(clusterGet, { params: { id: c.id } })).answer!.subnets).toEqual([
    { id: s.id, name: s.name, cidr: s.cidr },
  ])
  const map = (await world.admin().call(subnetAddresses, { params: { id: s.id } })).answer!
  expect(map.runs.find((r) => r.state === 'used')).toMatchObject({
    first: hostOf(s, 2),
    by: 'web/shop',
  })
})

test('a pool is active only after the load balancer has accepted it; being stored in the API server is not enough', async () => {
  const c = await world.cluster()
  c.fake.controller = false
  const s = await world.subnet()
  const id = await world.assign(c.id, [s])
  await engine.run(10_000)
  expect(await world.look(s)).toMatchObject({
    status: 'applying',
    reason: 'Cilium has not processed the pool yet',
  })
  expect(await world.steps(id)).toEqual({ apply: 'done', 'read-back': 'waiting' })
  await engine.run(130_000)
  expect(await world.look(s)).toMatchObject({
    status: 'error',
    reason: expect.stringContaining('is the address management of the load balancer switched on?'),
  })
  expect(await world.operation(id)).toMatchObject({ status: 'failed' })
  c.fake.controller = true
  c.fake.count()
  expect((await world.admin().call(operationRetry, { params: { id } })).status).toBe(200)
  await engine.settle()
  expect(await world.look(s)).toMatchObject({ status: 'active', reason: null })
  expect(await world.operation(id)).toMatchObject({ status: 'done' })
})

test('a pool that conflicts with another pool fails with the reason, and becomes active after the other is removed', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  const foreign = `/apis/cilium.io/v2/ciliumloadbalancerippools/theirs`
  c.fake.objects.set(foreign, {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumLoadBalancerIPPool',
    metadata: { name: 'theirs', generation: 1 },
    spec: { blocks: [{ start: hostOf(s, 4), stop: hostOf(s, 5) }] },
  })
  const id = await world.assign(c.id, [s])
  await engine.settle()
  expect(await world.look(s)).toMatchObject({
    status: 'error',
    reason: expect.stringContaining('Cilium does not use the pool: Pool conflicts'),
  })
  expect(await world.operation(id)).toMatchObject({
    status: 'failed',
    steps: [{ status: 'done' }, { status: 'failed' }],
  })
  c.fake.objects.delete(foreign)
  c.fake.count()
  await engine.run(60_000)
  expect(await world.look(s)).toMatchObject({ status: 'active', reason: null })
})

test("a pool refused by an admission webhook fails with the webhook's message, and the other pools continue", async () => {
  const c = await world.cluster()
  const [good, bad] = [await world.subnet(), await world.subnet()]
  await world.assign(c.id, [good])
  await engine.settle()
  c.fake.refuse = 'overlaps with "theirs"'
  const id = await world.assign(c.id, [good, bad])
  await engine.settle()
  expect(await world.look(bad)).toMatchObject({
    status: 'error',
    reason: expect.stringContaining('overlaps with "theirs"'),
  })
  expect(await world.look(good)).toMatchObject({ status: 'active' })
  expect(await world.operation(id)).toMatchObject({
    status: 'failed',
    steps: [{ status: 'failed' }, { status: 'skipped' }],
  })
  await world.assign(c.id, [good])
  await engine.settle()
  expect((await world.admin().call(operationRetry, { params: { id } })).problem).toMatchObject({
    code: 'operation_ended',
    error: `A later change of the subnets of ${c.name} has followed: assign what is still missing`,
  })
})

test.each([
  [
    'changed',
    (c: FakeKubernetes, at: string) =>
      c.edit(
        at,
        (o) => (o.spec['blocks'] = [{ cidr: '10.0.0.0/8', start: '10.0.0.0', stop: '10.0.0.9' }]),
      ),
    /10\.0\.0\.0\/8/,
  ],
  ['deleted', (c: FakeKubernetes, at: string) => void c.objects.delete(at), /deleted/],
])(
  'a pool that somebody has %s is corrected within a minute, with an audit entry',
  async (_what, meddle, found) => {
    const c = await world.cluster()
    const s = await world.subnet()
    await world.assign(c.id, [s])
    await engine.settle()
    meddle(c.fake, pathOf(s))
    await engine.run(75_000)
    expect(c.fake.objects.get(pathOf(s))!.spec).toMatchObject({
      blocks: [{ start: hostOf(s, 2), stop: hostOf(s, 14) }],
    })
    expect(await world.look(s)).toMatchObject({ status: 'active', reason: null })
    const [entry, ...more] = await world.audited('subnet.drift_corrected', s.id)
    expect(more).toEqual([])
    expect(entry).toMatchObject({ actor: 'Steelyard', target: { kind: 'subnet', name: s.name } })
    expect(JSON.stringify(entry!.after)).toMatch(found)
  },
)

test("Steelyard's own change does not count as drift: excluding addresses shrinks the pool without a drift record", async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  const address = hostOf(s, 9)
  expect(
    (await world.admin().call(subnetUpdate, { params: { id: s.id }, body: { exclude: [address] } }))
      .answer,
  ).toMatchObject({ status: 'applying' })
  await engine.settle()
  expect(c.fake.addresses(c.fake.objects.get(pathOf(s))!)).not.toContain(address)
  expect(await world.look(s)).toMatchObject({ status: 'active', total: 12 })
  expect(await world.audited('subnet.drift_corrected', s.id)).toEqual([])
})

test('if something in the cluster keeps undoing a correction, the subnet shows an error and no audit entries are added', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  c.fake.meddle = (o) => {
    if (o.kind === 'CiliumLoadBalancerIPPool') o.spec['allowFirstLastIPs'] = 'Yes'
  }
  c.fake.edit(pathOf(s), (o) => (o.spec['allowFirstLastIPs'] = 'Yes'))
  await engine.run(300_000)
  expect(await world.look(s)).toMatchObject({
    status: 'error',
    reason: 'Something in the cluster changes the pool back (allowFirstLastIPs)',
  })
  expect(await world.audited('subnet.drift_corrected', s.id)).toEqual([])
  c.fake.meddle = null
  await engine.run(60_000)
  expect(await world.look(s)).toMatchObject({ status: 'active' })
  expect(await world.audited('subnet.drift_corrected', s.id)).toHaveLength(1)
})

test('a removed announcement is restored, and the audit log records this', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  const at = '/apis/cilium.io/v2alpha1/ciliuml2announcementpolicies/steelyard'
  c.fake.objects.delete(at)
  await engine.run(75_000)
  expect(c.fake.objects.get(at)).toMatchObject({ spec: { loadBalancerIPs: true } })
  expect(await world.audited('cluster.announcements_corrected', c.id)).toHaveLength(1)
})

test('a removed subnet drains: it assigns no new addresses, waits until none is used, then loses pool, announcement and assignment', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  const id = await world.assign(c.id, [])
  await engine.run(20_000)
  expect(c.fake.objects.get(pathOf(s))!.spec['disabled']).toBe(true)
  expect(await world.look(s)).toMatchObject({
    status: 'draining',
    reason: expect.stringMatching(/^1 address is in use: 10\.20\.\d+\.2 by web\/shop$/),
    used: 1,
  })
  expect(await world.steps(id)).toEqual({ drain: 'waiting', remove: 'todo' })
  expect((await world.admin().call(subnetRemove, { params: { id: s.id } })).problem).toMatchObject({
    code: 'subnet_in_use',
  })
  c.fake.services.push({ name: 'late', ip: null })
  await engine.run(5_000)
  expect(c.fake.services.map((x) => x.ip !== null)).toEqual([true, false])
  c.fake.services.splice(0)
  c.fake.count()
  await engine.run(20_000)
  expect(await world.look(s)).toMatchObject({ status: 'unassigned', clusters: [], used: 0 })
  expect([...c.fake.objects.keys()]).toEqual([])
  expect(await world.operation(id)).toMatchObject({ status: 'done' })
  expect(await world.audited('subnet.unassigned', s.id)).toHaveLength(1)
  expect((await world.admin().call(subnetRemove, { params: { id: s.id } })).status).toBe(204)
})

test('a pool that is deleted while it drains is not recreated, and draining waits for Services that keep an address', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  await world.assign(c.id, [])
  await engine.run(2_000)
  const kept = c.fake.objects.get(pathOf(s))!
  c.fake.keeps = c.fake.addresses(kept)
  c.fake.objects.delete(pathOf(s))
  await engine.run(20_000)
  expect(c.fake.pools()).toEqual([])
  expect(await world.look(s)).toMatchObject({
    status: 'draining',
    reason: expect.stringContaining('by web/shop'),
  })
  c.fake.services.splice(0)
  await engine.run(20_000)
  expect(await world.look(s)).toMatchObject({ status: 'unassigned' })
})

test('subnets of a cluster that is down wait with a reason and continue later, and their number of used addresses is unknown, not 0', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const [old, fresh] = [await world.subnet(), await world.subnet()]
  await world.assign(c.id, [old])
  await engine.settle()
  c.fake.down = 'alpha: connection refused'
  const id = await world.assign(c.id, [old, fresh])
  await engine.run(1_000)
  const reason = 'The Kubernetes API does not answer: alpha: connection refused'
  expect(await world.look(fresh)).toMatchObject({ status: 'applying', reason, used: null })
  expect(await world.operation(id)).toMatchObject({ status: 'waiting', reason })
  await engine.run(90_000)
  expect(await world.look(old)).toMatchObject({ status: 'active', reason, used: null })
  c.fake.down = null
  await engine.run(40_000)
  expect(await world.look(old)).toMatchObject({ status: 'active', reason: null, used: 1 })
  expect(await world.look(fresh)).toMatchObject({ status: 'active', reason: null, used: 0 })
  expect(await world.operation(id)).toMatchObject({ status: 'done' })
})

test('if Cilium and MetalLB are both installed, MetalLB is used', async () => {
  const c = await world.cluster()
  c.fake.providers = ['cilium', 'metallb']
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  expect([...c.fake.objects.keys()].map((k) => k.split('/').slice(-2).join('/'))).toEqual([
    `ipaddresspools/subnet-${s.id}`,
    'l2advertisements/steelyard',
  ])
  expect(await world.look(s)).toMatchObject({ status: 'active' })
  await world.assign(c.id, [])
  await engine.run(1_000)
  expect(c.fake.pools()[0]!.spec['autoAssign']).toBe(false)
  await engine.run(10_000)
  expect(await world.look(s)).toMatchObject({ status: 'unassigned' })
})

test('Cilium stays in use when somebody installs MetalLB beside it', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  c.fake.providers = ['metallb', 'cilium']
  await engine.run(75_000)
  expect(
    (await world.admin().call(clusterSubnets, { params: { id: c.id } })).answer!.provider,
  ).toBe('cilium')
  expect(c.fake.pools().map((p) => p.kind)).toEqual(['CiliumLoadBalancerIPPool'])
})

test('without a load balancer the manifest can be copied; a load balancer installed later gets its objects automatically', async () => {
  const c = await world.cluster()
  c.fake.providers = []
  const s = await world.subnet()
  const id = await world.assign(c.id, [s])
  await engine.settle()
  expect(await world.look(s)).toMatchObject({
    status: 'applying',
    reason: expect.stringContaining('install Cilium or MetalLB, or copy the manifest'),
  })
  expect(await world.operation(id)).toMatchObject({
    status: 'done',
    steps: [{ status: 'skipped' }, { status: 'skipped' }],
  })
  expect((await world.admin().call(clusterSubnets, { params: { id: c.id } })).answer).toMatchObject(
    {
      provider: null,
      manifest: expect.stringContaining('# For MetalLB'),
    },
  )
  const change = (
    await world
      .admin()
      .call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [s.id] } })
  ).answer!
  expect(change).toMatchObject({
    provider: null,
    warnings: [expect.stringContaining('No supported load balancer was found in the cluster')],
  })
  c.fake.providers = ['cilium']
  await engine.run(60_000)
  expect(await world.look(s)).toMatchObject({ status: 'active' })
})

test('if an API server briefly returns no pools, nothing changes', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  await world.assign(c.id, [])
  await engine.run(2_000)
  c.fake.providers = []
  await engine.run(1_500)
  expect(await world.look(s)).toMatchObject({ status: 'draining' })
  c.fake.providers = ['cilium']
  await engine.run(30_000)
  expect(await world.look(s)).toMatchObject({ status: 'draining', used: 1 })
})

test('a subnet that changes during the read-back does not become active with its old addresses', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  const address = hostOf(s, 9)
  let changed = false
  c.fake.before = async (what) => {
    if (changed || !what.startsWith('list /api/v1/services')) return
    changed = true
    expect(
      (
        await world
          .admin()
          .call(subnetUpdate, { params: { id: s.id }, body: { exclude: [address] } })
      ).status,
    ).toBe(200)
  }
  await world.assign(c.id, [s])
  await engine.settle()
  expect(await world.look(s)).toMatchObject({ status: 'active', total: 12 })
  expect(c.fake.addresses(c.fake.objects.get(pathOf(s))!)).not.toContain(address)
})
