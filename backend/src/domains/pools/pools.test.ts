import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { operationCancel } from '#contract/operations.ts'
import {
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type Subnet,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { addDatacenter, addServer, addSubnet } from '../subnets/testing.ts'
import { type FakeCluster, hostOf, pathOf, poolWorld } from './testing/world.ts'

const world = await poolWorld()
const { backend } = world
const { engine } = backend
const { db } = backend.platform

/** Cancels an assignment while the load balancer does nothing, and lets that work again. */
async function cancelled({ fake }: FakeCluster, id: string) {
  await world.admin().call(operationCancel, { params: { id } })
  fake.controller = true
  await engine.run(20_000)
  fake.count()
  await engine.run(60_000)
  expect(await world.operation(id)).toMatchObject({ status: 'cancelled' })
}

test('a repeated assignment returns the running operation; after that operation has ended, the repetition does nothing', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  const first = await world.assign(c.id, [s])
  expect(await world.assign(c.id, [s])).toBe(first)
  await engine.settle()
  const before = c.fake.changes.length
  const again = await world.put(c.id, [s])
  expect(again.answer!.operation).toMatchObject({ status: 'done', steps: [] })
  await engine.settle()
  expect(c.fake.changes.length).toBe(before)
})

test('a forced removal removes a subnet at once, even if it is draining; the preview names the Services that lose an address', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  const address = c.fake.services[0]!.ip!
  const change = (
    await world
      .admin()
      .call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [] } })
  ).answer!
  expect(change).toMatchObject({
    provider: 'cilium',
    after: '',
    losing: [{ subnet_id: s.id, service: 'web/shop', address }],
  })
  expect(change.before).toContain(`subnet-${s.id}`)
  const slow = await world.assign(c.id, [])
  await engine.run(10_000)
  // The subnet is draining, and a Service still has one of its addresses, which a forced removal
  // would take away.
  const draining = (
    await world
      .admin()
      .call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [] } })
  ).answer!
  expect(draining.losing).toEqual([{ subnet_id: s.id, service: 'web/shop', address }])
  const id = await world.assign(c.id, [], true)
  await engine.settle()
  expect(await world.operation(slow)).toMatchObject({ status: 'cancelled' })
  expect(await world.operation(id)).toMatchObject({
    status: 'done',
    steps: [{ status: 'skipped', reason: 'By force' }, { status: 'done' }],
  })
  expect(c.fake.services[0]!.ip).toBeNull()
  expect(await world.look(s)).toMatchObject({ status: 'unassigned' })
})

test('a draining subnet that is assigned again stops draining', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await world.subnet()
  await world.assign(c.id, [s])
  await engine.settle()
  await world.assign(c.id, [])
  await engine.run(5_000)
  await world.assign(c.id, [s])
  await engine.settle()
  expect(await world.look(s)).toMatchObject({ status: 'active', used: 1 })
  expect(c.fake.objects.get(pathOf(s))!.spec['disabled']).toBe(false)
})

test('an assignment to a cluster that is down can be cancelled, because nothing has reached the cluster', async () => {
  const c = await world.cluster()
  c.fake.down = 'no route to the server'
  const s = await world.subnet()
  const id = await world.assign(c.id, [s])
  await engine.run(5_000)
  expect((await world.admin().call(operationCancel, { params: { id } })).status).toBe(200)
  await engine.settle()
  expect(await world.operation(id)).toMatchObject({
    status: 'cancelled',
    steps: [{ reason: 'Cancelled' }, { reason: 'Cancelled' }],
  })
  expect(await world.look(s)).toMatchObject({ status: 'unassigned' })
})

test('an assignment that is requested again while it is being cancelled is carried out', async () => {
  const c = await world.cluster()
  c.fake.down = 'no route to the server'
  const s = await world.subnet()
  const id = await world.assign(c.id, [s])
  await engine.run(5_000)
  await world.admin().call(operationCancel, { params: { id } })
  const again = await world.assign(c.id, [s])
  expect(again).not.toBe(id)
  c.fake.down = null
  await engine.run(40_000)
  expect(await world.operation(id)).toMatchObject({ status: 'cancelled' })
  expect(await world.operation(again)).toMatchObject({ status: 'done' })
  expect(await world.look(s)).toMatchObject({ status: 'active' })
})

test('cancelling an assignment drains subnets that may have reached the cluster, and keeps subnets that were being removed', async () => {
  const c = await world.cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const [old, fresh] = [await world.subnet(), await world.subnet()]
  await world.assign(c.id, [old])
  await engine.settle()
  c.fake.controller = false
  const id = await world.assign(c.id, [fresh])
  await engine.run(5_000)
  expect([(await world.look(old)).status, (await world.look(fresh)).status]).toEqual([
    'draining',
    'applying',
  ])
  await cancelled(c, id)
  expect([(await world.look(old)).status, (await world.look(fresh)).status]).toEqual([
    'active',
    'unassigned',
  ])
  expect(c.fake.pools().map((p) => p.metadata.name)).toEqual([`subnet-${old.id}`])
})

test('an assignment is refused for another datacenter, overlapping cluster networks, an unknown subnet or cluster, or a cluster that is not ready', async () => {
  const c = await world.cluster()
  const warsaw = await addDatacenter(world.admin(), 'WAW')
  const away = await addSubnet(world.admin(), warsaw.id, 'away', '10.30.0.0/24')
  const other = `away is in ${warsaw.code}; cluster ${c.name} is in ${world.datacenter.code}`
  expect((await world.put(c.id, [away])).problem).toMatchObject({
    code: 'conflict',
    error: other,
    fields: { 'subnet_ids.0': other },
  })
  const six = await world.subnet({ cidr: '2001:db8:20::/120', gateway: '2001:db8:20::1' })
  const family = `Services of cluster ${c.name} have IPv4 addresses, and ${six.name} has IPv6 ones`
  expect((await world.put(c.id, [six])).problem).toMatchObject({
    code: 'conflict',
    error: `${six.name} can't be assigned: ${family}`,
    fields: { 'subnet_ids.0': family },
  })
  const s = await world.subnet()
  await sql`update cluster set pod_cidr = ${s.cidr.replace('.0/28', '.0/24')} where id = ${c.id}`.execute(
    db,
  )
  const sentence = `Overlaps with the pod network ${s.cidr.replace('/28', '/24')} of cluster ${c.name}`
  expect(await world.put(c.id, [s])).toMatchObject({
    status: 409,
    problem: {
      error: `${s.name} can't be assigned: ${sentence}`,
      fields: { 'subnet_ids.0': sentence },
      related: { kind: 'cluster', id: c.id },
    },
  })
  expect(
    (
      await world
        .admin()
        .call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [s.id] } })
    ).status,
  ).toBe(409)
  expect((await world.put(c.id, [{ id: randomUUID() }])).problem).toMatchObject({
    code: 'not_found',
    error: 'There is no such subnet',
  })
  expect((await world.put(randomUUID(), [])).problem).toMatchObject({
    code: 'not_found',
    error: 'There is no such cluster',
  })
  await sql`update cluster set status = 'installing' where id = ${c.id}`.execute(db)
  expect((await world.put(c.id, [])).problem).toMatchObject({
    code: 'cluster_not_ready',
    error: `${c.name} is not ready yet: subnets can be assigned after it is ready`,
  })
  expect(await world.look(s)).toMatchObject({ status: 'unassigned' })
})

test('of two concurrent assignments of a subnet, one succeeds; the other fails with an error that contains the cluster and the user of the first', async () => {
  const people = [world.admin(), await backend.signIn({ role: 'operator' })]
  const [a, b] = [await world.cluster(), await world.cluster()]
  const s = await world.subnet()
  const mine = [await world.subnet(), await world.subnet()]
  const answers = await Promise.all([
    world.put(a.id, [mine[0]!, s], false, people[0]),
    world.put(b.id, [mine[1]!, s], false, people[1]),
  ])
  const won = answers.findIndex((r) => r.status === 202)
  const lost = answers.find((r) => r.status !== 202)!
  expect(answers.filter((r) => r.status === 202)).toHaveLength(1)
  const winner = [a, b][won]!
  expect(lost).toMatchObject({
    status: 409,
    problem: {
      code: 'subnet_assigned',
      error: `${s.name} was assigned to ${winner.name} by ${people[won]!.email} a moment ago`,
      related: { kind: 'cluster', id: winner.id, name: winner.name },
    },
  })
  expect(await world.look(mine[1 - won]!)).toMatchObject({ status: 'unassigned' })
  await engine.settle()
  expect(await world.look(s)).toMatchObject({ status: 'active', clusters: [{ id: winner.id }] })
  backend.clock.advance(3_600_000)
  await world.signInAgain()
  expect((await world.put([a, b][1 - won]!.id, [s])).problem).toMatchObject({
    error: `${s.name} is assigned to ${winner.name}`,
  })
})

test('the database refuses a second cluster for a subnet, and the error explains the reason', async () => {
  const [a, b] = [await world.cluster(), await world.cluster()]
  const s = await world.subnet()
  const now = new Date(backend.clock.now())
  const rows = (id: string) => ({
    subnet_id: s.id,
    cluster_id: id,
    purpose: 'workload' as const,
    state: 'applying' as const,
    reason: null,
    assigned_by: 'ann@example.com',
    assigned_at: now,
  })
  await db.insertInto('subnet_assignment').values(rows(a.id)).execute()
  await expect(
    db.insertInto('subnet_assignment').values(rows(b.id)).execute(),
  ).rejects.toMatchObject({ code: '23505', constraint: 'subnet_one_cluster' })
  expect((await world.put(b.id, [s])).problem).toMatchObject({
    error: `${s.name} was assigned to ${a.name} by ann@example.com a moment ago`,
  })
})

test('a management subnet can be shared by clusters, is active at once, and never becomes a pool', async () => {
  const [a, b] = [await world.cluster(), await world.cluster()]
  const s = await world.subnet({ purpose: 'management' })
  for (const c of [a, b]) await world.assign(c.id, [s])
  await engine.settle()
  expect(await world.look(s)).toMatchObject({
    status: 'active',
    clusters: [{ name: a.name }, { name: b.name }],
  })
  expect([...a.fake.changes, ...b.fake.changes]).toEqual([])
  await world.assign(a.id, [])
  expect(await world.look(s)).toMatchObject({ clusters: [{ name: b.name }] })
})

test('an assignment raises the version of the cluster, and an assignment with a stale If-Match changes nothing', async () => {
  const c = await world.cluster()
  const [s, t] = [await world.subnet(), await world.subnet()]
  const version = (await world.admin().call(clusterGet, { params: { id: c.id } })).answer!.version
  const ask = (subnets: Subnet[]) =>
    world
      .admin()
      .call(
        clusterSubnetsAssign,
        { params: { id: c.id }, body: { subnet_ids: subnets.map((x) => x.id) } },
        { ifMatch: version },
      )
  expect((await ask([s])).status).toBe(202)
  expect(await ask([t])).toMatchObject({ status: 412, problem: { code: 'stale' } })
  expect(await world.look(t)).toMatchObject({ status: 'unassigned' })
})

test('an assignment is refused while another operation runs on the cluster', async () => {
  const c = await world.cluster()
  await inTransaction(db, (tx) =>
    backend.domains.operations.create(
      tx,
      { kind: 'system', name: 'test' },
      {
        kind: 'clusterServerReplace',
        target: { id: c.id, name: c.name },
        steps: [],
        queue: 'none',
        queueKey: c.id,
      },
    ),
  )
  expect((await world.put(c.id, [await world.subnet()])).problem).toMatchObject({
    code: 'operation_running',
  })
})

test('cancelling an assignment keeps a subnet that was only being applied again after an edit', async () => {
  const c = await world.cluster()
  const [old, fresh] = [await world.subnet(), await world.subnet()]
  await world.assign(c.id, [old])
  await engine.settle()
  c.fake.controller = false
  await world
    .admin()
    .call(subnetUpdate, { params: { id: old.id }, body: { exclude: [hostOf(old, 9)] } })
  await engine.run(5_000)
  expect((await world.look(old)).status).toBe('applying')
  const id = await world.assign(c.id, [old, fresh])
  expect((await world.operation(id)).steps.map((s) => s.key)).toEqual([
    `apply/${fresh.id}`,
    `read-back/${fresh.id}`,
  ])
  await engine.run(5_000)
  await cancelled(c, id)
  expect([(await world.look(old)).status, (await world.look(fresh)).status]).toEqual([
    'active',
    'unassigned',
  ])
})

test('cancelling an assignment keeps a failed subnet that the cluster had before, and takes back those of a replaced assignment', async () => {
  const c = await world.cluster()
  const [old, first, second] = [await world.subnet(), await world.subnet(), await world.subnet()]
  await world.assign(c.id, [old])
  await engine.settle()
  await sql`update subnet_assignment set state = 'error', reason = 'refused' where subnet_id = ${old.id}`.execute(
    db,
  )
  c.fake.down = 'no route to the server'
  await world.assign(c.id, [old, first])
  const id = await world.assign(c.id, [old, first, second])
  expect(new Set((await world.operation(id)).steps.map((s) => s.key.split('/')[1]))).toEqual(
    new Set([old.id, first.id, second.id]),
  )
  await world.admin().call(operationCancel, { params: { id } })
  await engine.run(5_000)
  expect(await world.operation(id)).toMatchObject({ status: 'cancelled' })
  expect((await world.look(old)).clusters.map((one) => one.id)).toEqual([c.id])
  expect((await world.look(first)).status).toBe('unassigned')
  expect((await world.look(second)).status).toBe('unassigned')
})

test('more assignments at once than the pool has connections are all begun', async () => {
  const clusters = await Promise.all(Array.from({ length: 24 }, () => world.cluster()))
  const subnets: Subnet[] = []
  for (const _ of clusters) subnets.push(await world.subnet())
  const begun = await Promise.all(clusters.map(({ id }, i) => world.put(id, [subnets[i]!])))
  expect(begun.map(({ status }) => status)).toEqual(clusters.map(() => 202))
  await engine.settle()
})

test('a change of the cluster that is only scheduled does not prevent an assignment; one that runs does, by its title', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  const begin = (startsAt: Date | null) =>
    inTransaction(db, async (tx) => {
      const made = await backend.domains.operations.create(tx, system, {
        kind: 'clusterDefragment',
        target: c,
        steps: [{ key: 'defragment', title: 'Defragment etcd' }],
        queue: 'test',
        audit: null,
        arguments: {
          change: { kind: 'defragment' },
          confirmed_disks: [],
          confirmed_loss: [],
          applied_set: null,
          other_image: false,
          chosen: null,
        },
        startsAt,
      })
      return made.id
    })
  const later = await begin(new Date(backend.clock.now() + 86_400_000))
  const id = await world.assign(c.id, [s])
  await engine.settle()
  expect(await world.operation(id)).toMatchObject({ status: 'done' })
  await inTransaction(db, (tx) =>
    backend.domains.operations.set(tx, later, { status: 'cancelled', reason: null }),
  )
  await begin(null)
  expect((await world.put(c.id, [])).text).toContain(`Defragment etcd of ${c.name} has not ended`)
})

test('a subnet is not assigned while a server or a virtual IP has one of its addresses, though these came later', async () => {
  const c = await world.cluster()
  const [beside, under] = [await world.subnet(), await world.subnet()]
  await addServer(backend, world.datacenter.id, 'calm-otter-7', hostOf(beside, 7))
  const refused = await world.put(c.id, [beside])
  expect(refused.status).toBe(409)
  expect(refused.text).toContain(
    `Contains ${hostOf(beside, 7)}, the address of server calm-otter-7. Exclude it first`,
  )
  const other = await world.cluster()
  await sql`update cluster set other_endpoint = ${`https://${hostOf(under, 8)}:6443`}, other_virtual_ip = true where id = ${other.id}`.execute(
    db,
  )
  const preview = await world
    .admin()
    .call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [under.id] } })
  expect(preview.text).toContain(
    `Contains ${hostOf(under, 8)}, the virtual IP of cluster ${other.name}. Exclude it first`,
  )
  expect(await world.look(beside)).toMatchObject({ status: 'unassigned' })
})

test('removing a cluster frees its subnets and ends its running assignment', async () => {
  const c = await world.cluster()
  const [s, t] = [await world.subnet(), await world.subnet()]
  await world.assign(c.id, [s])
  await engine.settle()
  c.fake.down = 'gone'
  const id = await world.assign(c.id, [s, t])
  await engine.run(5_000)
  await sql`update cluster set wanted = 'removed', status = 'deleting' where id = ${c.id}`.execute(
    db,
  )
  await engine.run(60_000)
  expect(await world.operation(id)).toMatchObject({
    status: 'cancelled',
    reason: `${c.name} is being deleted`,
  })
  await inTransaction(db, (tx) => backend.domains.pools.release(tx, c.id))
  expect([(await world.look(s)).status, (await world.look(t)).status]).toEqual([
    'unassigned',
    'unassigned',
  ])
  expect(await world.audited('subnet.unassigned', s.id)).toHaveLength(1)
})

test('a change requested during the update of the cluster is applied after that update', async () => {
  const c = await world.cluster()
  const s = await world.subnet()
  let asked = false
  c.fake.before = async (what) => {
    if (asked || !what.startsWith('apply')) return
    asked = true
    await world.assign(c.id, [])
  }
  await world.assign(c.id, [s])
  await engine.run(30_000)
  expect(asked).toBe(true)
  expect(await world.look(s)).toMatchObject({ status: 'unassigned' })
  expect([...c.fake.objects.keys()]).toEqual([])
})
