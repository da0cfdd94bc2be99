import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterGet } from '#contract/clusters.ts'
import { operationCancel, operationGet, operationRetry } from '#contract/operations.ts'
import {
  clusterSubnets,
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type Subnet,
  subnetAddresses,
  subnetGet,
  subnetRemove,
  subnetUpdate,
} from '#contract/subnets.ts'
import { inTransaction } from '../../db/db.ts'
import { type SignedIn, startBackend } from '../../testing/backend.ts'
import { addCluster as addRow, addDatacenter, addSubnet as add } from '../subnets/testing.ts'
import { FakeKubernetes } from './testing.ts'

const backend = await startBackend()
let operator = await backend.signIn({ role: 'admin' })
// The clock moves on by minutes, and sessions end.
beforeEach(async () => {
  operator = await backend.signIn({ role: 'admin' })
})
const { db } = backend.platform
const poznan = await addDatacenter(operator, 'POZ')

const fakes = new Map<string, FakeKubernetes>()
// The clusters are rows, so nothing listens at their addresses: the API of each is in memory, all else is the program itself.
Object.assign(backend.domains.clusters.pools, { api: (id: string) => Promise.resolve(fakes.get(id)!) })

let count = 0
async function cluster(datacenterId = poznan.id): Promise<{ id: string; name: string; fake: FakeKubernetes }> {
  const name = `cluster-${++count}`
  const id = await addRow(backend, datacenterId, name)
  const fake = new FakeKubernetes()
  fakes.set(id, fake)
  return { id, name, fake }
}
let net = 0
/** A /28 of its own: 13 addresses to hand out beside the gateway. */
const subnet = (more: object = {}): Promise<Subnet> => {
  const n = ++net
  return add(operator, poznan.id, `net-${n}`, `10.20.${n}.0/28`, { gateway: `10.20.${n}.1`, ...more })
}

const put = (clusterId: string, subnets: readonly { id: string }[], force = false, by: SignedIn = operator) =>
  by.call(clusterSubnetsAssign, { params: { id: clusterId }, body: { subnet_ids: subnets.map((s) => s.id), force } })
async function assign(clusterId: string, subnets: readonly { id: string }[], force = false): Promise<string> {
  const { answer, text } = await put(clusterId, subnets, force)
  if (!answer) throw new Error(text)
  return answer.operation.id
}
const look = async ({ id }: { id: string }) => (await operator.call(subnetGet, { params: { id } })).answer!
const operation = async (id: string) => (await operator.call(operationGet, { params: { id } })).answer!
const steps = async (id: string) => Object.fromEntries((await operation(id)).steps.map((s) => [s.key.split('/')[0], s.status]))
const path = ({ id }: { id: string }) => `/apis/cilium.io/v2/ciliumloadbalancerippools/subnet-${id}`
const audited = async (action: string, target: string) => {
  await backend.publish()
  return (await operator.call(auditList, { query: { action, target } })).answer!.items
}

test('a subnet that is assigned is a pool in the cluster, and active once it was read back', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await subnet()
  const id = await assign(c.id, [s])
  expect(await look(s)).toMatchObject({ status: 'applying', clusters: [{ id: c.id, name: c.name }], used: null })
  await backend.engine.settle()
  expect(await operation(id)).toMatchObject({ status: 'done', kind: 'clusterSubnetsAssign', target: { kind: 'cluster', id: c.id } })
  expect(await steps(id)).toEqual({ apply: 'done', 'read-back': 'done' })
  expect(await look(s)).toMatchObject({ status: 'active', reason: null, total: 13, used: 1 })
  expect(c.fake.changes).toEqual([`apply ${path(s)}`, 'apply /apis/cilium.io/v2alpha1/ciliuml2announcementpolicies/steelyard'])
  const shown = (await operator.call(clusterSubnets, { params: { id: c.id } })).answer!
  expect(shown).toMatchObject({ provider: 'cilium', items: [{ id: s.id }] })
  expect(shown.manifest).toContain(`name: subnet-${s.id}`)
  expect((await operator.call(clusterGet, { params: { id: c.id } })).answer!.subnets).toEqual([{ id: s.id, name: s.name, cidr: s.cidr }])
  const map = (await operator.call(subnetAddresses, { params: { id: s.id } })).answer!
  expect(map.runs.find((r) => r.state === 'used')).toMatchObject({ first: s.cidr.replace('.0/28', '.2'), by: 'web/shop' })
})

test('an assignment that is asked for again answers the operation that is on its way, and later one that has nothing to do', async () => {
  const c = await cluster()
  const s = await subnet()
  const first = await assign(c.id, [s])
  expect(await assign(c.id, [s])).toBe(first)
  await backend.engine.settle()
  const before = c.fake.changes.length
  const again = await put(c.id, [s])
  expect(again.answer!.operation).toMatchObject({ status: 'done', steps: [] })
  await backend.engine.settle()
  expect(c.fake.changes.length).toBe(before)
})

test('nothing is active on the word of the API server alone: the load balancer has to have accepted it', async () => {
  const c = await cluster()
  c.fake.controller = false
  const s = await subnet()
  const id = await assign(c.id, [s])
  await backend.engine.run(10_000)
  expect(await look(s)).toMatchObject({ status: 'applying', reason: 'Cilium has not looked at the pool yet' })
  expect(await steps(id)).toEqual({ apply: 'done', 'read-back': 'waiting' })
  await backend.engine.run(130_000)
  expect(await look(s)).toMatchObject({ status: 'error', reason: expect.stringContaining('is its address management switched on?') })
  expect(await operation(id)).toMatchObject({ status: 'failed' })
  c.fake.controller = true
  c.fake.count()
  expect((await operator.call(operationRetry, { params: { id } })).status).toBe(200)
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'active', reason: null })
  expect(await operation(id)).toMatchObject({ status: 'done' })
})

test('a pool that conflicts with one of somebody else is an error with the reason, and active by itself when that is gone', async () => {
  const c = await cluster()
  const s = await subnet()
  const foreign = `/apis/cilium.io/v2/ciliumloadbalancerippools/theirs`
  c.fake.objects.set(foreign, {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumLoadBalancerIPPool',
    metadata: { name: 'theirs', generation: 1 },
    spec: { blocks: [{ start: s.cidr.replace('.0/28', '.4'), stop: s.cidr.replace('.0/28', '.5') }] },
  })
  const id = await assign(c.id, [s])
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'error', reason: expect.stringContaining('Cilium does not use the pool: Pool conflicts') })
  expect(await operation(id)).toMatchObject({ status: 'failed', steps: [{ status: 'done' }, { status: 'failed' }] })
  c.fake.objects.delete(foreign)
  c.fake.count()
  await backend.engine.run(60_000)
  expect(await look(s)).toMatchObject({ status: 'active', reason: null })
})

test('a pool that an admission webhook refuses is an error in its words; the others go on', async () => {
  const c = await cluster()
  const [good, bad] = [await subnet(), await subnet()]
  await assign(c.id, [good])
  await backend.engine.settle()
  c.fake.refuse = 'overlaps with "theirs"'
  const id = await assign(c.id, [good, bad])
  await backend.engine.settle()
  expect(await look(bad)).toMatchObject({ status: 'error', reason: expect.stringContaining('overlaps with "theirs"') })
  expect(await look(good)).toMatchObject({ status: 'active' })
  expect(await operation(id)).toMatchObject({ status: 'failed', steps: [{ status: 'failed' }, { status: 'skipped' }] })
})

test.each([
  [
    'changed',
    (c: FakeKubernetes, at: string) => c.edit(at, (o) => (o.spec['blocks'] = [{ cidr: '10.0.0.0/8', start: '10.0.0.0', stop: '10.0.0.9' }])),
    /10\.0\.0\.0\/8/,
  ],
  ['deleted', (c: FakeKubernetes, at: string) => void c.objects.delete(at), /deleted/],
])('a pool that somebody has %s is put right within the minute, and the audit log says so', async (_what, meddle, found) => {
  const c = await cluster()
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  meddle(c.fake, path(s))
  await backend.engine.run(75_000)
  expect(c.fake.objects.get(path(s))!.spec).toMatchObject({ blocks: [{ start: s.cidr.replace('.0/28', '.2'), stop: s.cidr.replace('.0/28', '.14') }] })
  expect(await look(s)).toMatchObject({ status: 'active', reason: null })
  const [entry, ...more] = await audited('subnet.drift_corrected', s.id)
  expect(more).toEqual([])
  expect(entry).toMatchObject({ actor: 'Steelyard', target: { kind: 'subnet', name: s.name } })
  expect(JSON.stringify(entry!.after)).toMatch(found)
})

test('a change of our own is no drift: excluded addresses leave the pool, and nothing is said of somebody', async () => {
  const c = await cluster()
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  const address = s.cidr.replace('.0/28', '.9')
  expect((await operator.call(subnetUpdate, { params: { id: s.id }, body: { exclude: [address] } })).answer).toMatchObject({ status: 'applying' })
  await backend.engine.settle()
  expect(c.fake.addresses(c.fake.objects.get(path(s))!)).not.toContain(address)
  expect(await look(s)).toMatchObject({ status: 'active', total: 12 })
  expect(await audited('subnet.drift_corrected', s.id)).toEqual([])
})

test('something that changes a pool back again and again is told, and not fought without end in the audit log', async () => {
  const c = await cluster()
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  c.fake.meddle = (o) => {
    if (o.kind === 'CiliumLoadBalancerIPPool') o.spec['allowFirstLastIPs'] = 'Yes'
  }
  c.fake.edit(path(s), (o) => (o.spec['allowFirstLastIPs'] = 'Yes'))
  await backend.engine.run(300_000)
  expect(await look(s)).toMatchObject({ status: 'error', reason: 'Something in the cluster changes the pool back (allowFirstLastIPs)' })
  expect(await audited('subnet.drift_corrected', s.id)).toEqual([])
  c.fake.meddle = null
  await backend.engine.run(60_000)
  expect(await look(s)).toMatchObject({ status: 'active' })
  expect(await audited('subnet.drift_corrected', s.id)).toHaveLength(1)
})

test('announcements that somebody removed come back, and that is written down', async () => {
  const c = await cluster()
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  const at = '/apis/cilium.io/v2alpha1/ciliuml2announcementpolicies/steelyard'
  c.fake.objects.delete(at)
  await backend.engine.run(75_000)
  expect(c.fake.objects.get(at)).toMatchObject({ spec: { loadBalancerIPs: true } })
  expect(await audited('cluster.announcements_corrected', c.id)).toHaveLength(1)
})

test('a subnet that goes is drained: no new address, those in use are waited for, then pool, announcement and assignment are gone', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  const id = await assign(c.id, [])
  await backend.engine.run(20_000)
  expect(c.fake.objects.get(path(s))!.spec['disabled']).toBe(true)
  expect(await look(s)).toMatchObject({ status: 'draining', reason: expect.stringMatching(/^1 address is in use: 10\.20\.\d+\.2 by web\/shop$/), used: 1 })
  expect(await steps(id)).toEqual({ drain: 'waiting', remove: 'todo' })
  expect((await operator.call(subnetRemove, { params: { id: s.id } })).problem).toMatchObject({ code: 'subnet_in_use' })
  c.fake.services.push({ name: 'late', ip: null })
  await backend.engine.run(5_000)
  expect(c.fake.services.map((x) => x.ip !== null)).toEqual([true, false])
  c.fake.services.splice(0)
  c.fake.count()
  await backend.engine.run(20_000)
  expect(await look(s)).toMatchObject({ status: 'unassigned', clusters: [], used: 0 })
  expect([...c.fake.objects.keys()]).toEqual([])
  expect(await operation(id)).toMatchObject({ status: 'done' })
  expect(await audited('subnet.unassigned', s.id)).toHaveLength(1)
  expect((await operator.call(subnetRemove, { params: { id: s.id } })).status).toBe(204)
})

test('by force a subnet leaves at once, also one that is being drained; the preview names who loses an address', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  const address = c.fake.services[0]!.ip!
  const change = (await operator.call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [] } })).answer!
  expect(change).toMatchObject({ provider: 'cilium', after: '', losing: [{ subnet_id: s.id, service: 'web/shop', address }] })
  expect(change.before).toContain(`subnet-${s.id}`)
  const slow = await assign(c.id, [])
  await backend.engine.run(10_000)
  const id = await assign(c.id, [], true)
  await backend.engine.settle()
  expect(await operation(slow)).toMatchObject({ status: 'cancelled' })
  expect(await operation(id)).toMatchObject({ status: 'done', steps: [{ status: 'skipped', reason: 'By force' }, { status: 'done' }] })
  expect(c.fake.services[0]!.ip).toBeNull()
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
})

test('a pool that somebody deletes while it is drained is not made anew; Services that keep an address are waited for', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  await assign(c.id, [])
  await backend.engine.run(2_000)
  const kept = c.fake.objects.get(path(s))!
  c.fake.keeps = c.fake.addresses(kept)
  c.fake.objects.delete(path(s))
  await backend.engine.run(20_000)
  expect(c.fake.pools()).toEqual([])
  expect(await look(s)).toMatchObject({ status: 'draining', reason: expect.stringContaining('by web/shop') })
  c.fake.services.splice(0)
  await backend.engine.run(20_000)
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
})

test('a subnet that is wanted again while it is drained stays', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  await assign(c.id, [])
  await backend.engine.run(5_000)
  await assign(c.id, [s])
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'active', used: 1 })
  expect(c.fake.objects.get(path(s))!.spec['disabled']).toBe(false)
})

test('while a cluster is down its subnets wait and say so, and go on by themselves; what is in use is unknown then, not 0', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const [old, fresh] = [await subnet(), await subnet()]
  await assign(c.id, [old])
  await backend.engine.settle()
  c.fake.down = 'alpha: connection refused'
  const id = await assign(c.id, [old, fresh])
  await backend.engine.run(1_000)
  const reason = 'The Kubernetes API does not answer: alpha: connection refused'
  expect(await look(fresh)).toMatchObject({ status: 'applying', reason, used: null })
  expect(await operation(id)).toMatchObject({ status: 'waiting', reason })
  await backend.engine.run(90_000)
  expect(await look(old)).toMatchObject({ status: 'active', reason, used: null })
  c.fake.down = null
  await backend.engine.run(40_000)
  expect(await look(old)).toMatchObject({ status: 'active', reason: null, used: 1 })
  expect(await look(fresh)).toMatchObject({ status: 'active', reason: null, used: 0 })
  expect(await operation(id)).toMatchObject({ status: 'done' })
})

test('an assignment to a cluster that is down can be taken back: nothing reached it', async () => {
  const c = await cluster()
  c.fake.down = 'no route to the server'
  const s = await subnet()
  const id = await assign(c.id, [s])
  await backend.engine.run(5_000)
  expect((await operator.call(operationCancel, { params: { id } })).status).toBe(200)
  await backend.engine.settle()
  expect(await operation(id)).toMatchObject({ status: 'cancelled', steps: [{ reason: 'Cancelled' }, { reason: 'Cancelled' }] })
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
})

test('a cancel takes back what may have reached the cluster by draining it, and lets stay what was going', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const [old, fresh] = [await subnet(), await subnet()]
  await assign(c.id, [old])
  await backend.engine.settle()
  c.fake.controller = false
  const id = await assign(c.id, [fresh])
  await backend.engine.run(5_000)
  expect([(await look(old)).status, (await look(fresh)).status]).toEqual(['draining', 'applying'])
  await operator.call(operationCancel, { params: { id } })
  c.fake.controller = true
  await backend.engine.run(20_000)
  c.fake.count()
  await backend.engine.run(60_000)
  expect(await operation(id)).toMatchObject({ status: 'cancelled' })
  expect([(await look(old)).status, (await look(fresh)).status]).toEqual(['active', 'unassigned'])
  expect(c.fake.pools().map((p) => p.metadata.name)).toEqual([`subnet-${old.id}`])
})

test('MetalLB is given its own objects, also where Cilium is the network, and keeps them when both are there', async () => {
  const c = await cluster()
  c.fake.providers = ['cilium', 'metallb']
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  expect([...c.fake.objects.keys()].map((k) => k.split('/').slice(-2).join('/'))).toEqual([`ipaddresspools/subnet-${s.id}`, 'l2advertisements/steelyard'])
  expect(await look(s)).toMatchObject({ status: 'active' })
  await assign(c.id, [])
  await backend.engine.run(1_000)
  expect(c.fake.pools()[0]!.spec['autoAssign']).toBe(false)
  await backend.engine.run(10_000)
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
})

test('a Cilium that is in use stays in use when somebody installs MetalLB beside it', async () => {
  const c = await cluster()
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  c.fake.providers = ['metallb', 'cilium']
  await backend.engine.run(75_000)
  expect((await operator.call(clusterSubnets, { params: { id: c.id } })).answer!.provider).toBe('cilium')
  expect(c.fake.pools().map((p) => p.kind)).toEqual(['CiliumLoadBalancerIPPool'])
})

test('where nothing takes pools the manifest is for copying; what is installed later gets it by itself', async () => {
  const c = await cluster()
  c.fake.providers = []
  const s = await subnet()
  const id = await assign(c.id, [s])
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'applying', reason: expect.stringContaining('install Cilium or MetalLB, or copy the manifest') })
  expect(await operation(id)).toMatchObject({ status: 'done', steps: [{ status: 'skipped' }, { status: 'skipped' }] })
  expect((await operator.call(clusterSubnets, { params: { id: c.id } })).answer).toMatchObject({
    provider: null,
    manifest: expect.stringContaining('# For MetalLB'),
  })
  const change = (await operator.call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [s.id] } })).answer!
  expect(change).toMatchObject({ provider: null, warnings: [expect.stringContaining('Nothing in the cluster takes address pools')] })
  c.fake.providers = ['cilium']
  await backend.engine.run(60_000)
  expect(await look(s)).toMatchObject({ status: 'active' })
})

test('an API server that serves no pools for a moment has not lost them', async () => {
  const c = await cluster()
  c.fake.services.push({ name: 'shop', ip: null })
  const s = await subnet()
  await assign(c.id, [s])
  await backend.engine.settle()
  await assign(c.id, [])
  await backend.engine.run(2_000)
  c.fake.providers = []
  await backend.engine.run(1_500)
  expect(await look(s)).toMatchObject({ status: 'draining' })
  c.fake.providers = ['cilium']
  await backend.engine.run(30_000)
  expect(await look(s)).toMatchObject({ status: 'draining', used: 1 })
})

test('refusals: another datacenter, the networks of the cluster, a subnet and a cluster that are not there, one that is not ready', async () => {
  const c = await cluster()
  const warsaw = await addDatacenter(operator, 'WAW')
  const away = await add(operator, warsaw.id, 'away', '10.30.0.0/24')
  const other = `away is in ${warsaw.code}; cluster ${c.name} is in ${poznan.code}`
  expect((await put(c.id, [away])).problem).toMatchObject({ code: 'conflict', error: other, fields: { 'subnet_ids.0': other } })
  const s = await subnet()
  await sql`update cluster set pod_cidr = ${s.cidr.replace('.0/28', '.0/24')} where id = ${c.id}`.execute(db)
  const sentence = `Overlaps with the pod network ${s.cidr.replace('/28', '/24')} of cluster ${c.name}`
  expect(await put(c.id, [s])).toMatchObject({
    status: 409,
    problem: { error: `${s.name} can't be assigned: ${sentence}`, fields: { 'subnet_ids.0': sentence }, related: { kind: 'cluster', id: c.id } },
  })
  expect((await operator.call(clusterSubnetsPreview, { params: { id: c.id }, body: { subnet_ids: [s.id] } })).status).toBe(409)
  expect((await put(c.id, [{ id: randomUUID() }])).problem).toMatchObject({ code: 'not_found', error: 'There is no such subnet' })
  expect((await put(randomUUID(), [])).problem).toMatchObject({ code: 'not_found', error: 'There is no such cluster' })
  await sql`update cluster set status = 'installing' where id = ${c.id}`.execute(db)
  expect((await put(c.id, [])).problem).toMatchObject({ code: 'cluster_not_ready', error: `${c.name} is not ready yet: it can be given subnets once it is` })
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
})

test('a subnet assigned by two people at once is one cluster’s; the other is told whose, by whom, and nothing of theirs is written', async () => {
  const people = [operator, await backend.signIn({ role: 'operator' })]
  const [a, b] = [await cluster(), await cluster()]
  const s = await subnet()
  const mine = [await subnet(), await subnet()]
  const answers = await Promise.all([put(a.id, [mine[0]!, s], false, people[0]), put(b.id, [mine[1]!, s], false, people[1])])
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
  expect(await look(mine[1 - won]!)).toMatchObject({ status: 'unassigned' })
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'active', clusters: [{ id: winner.id }] })
  backend.clock.advance(3_600_000)
  operator = await backend.signIn({ role: 'admin' })
  expect((await put([a, b][1 - won]!.id, [s])).problem).toMatchObject({ error: `${s.name} is assigned to ${winner.name}` })
})

test('the database itself refuses a second cluster, and what it refused is said as well', async () => {
  const [a, b] = [await cluster(), await cluster()]
  const s = await subnet()
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
  await expect(db.insertInto('subnet_assignment').values(rows(b.id)).execute()).rejects.toMatchObject({ code: '23505', constraint: 'subnet_one_cluster' })
  expect((await put(b.id, [s])).problem).toMatchObject({ error: `${s.name} was assigned to ${a.name} by ann@example.com a moment ago` })
})

test('a management subnet is shared by clusters, active at once, and never a pool', async () => {
  const [a, b] = [await cluster(), await cluster()]
  const s = await subnet({ purpose: 'management' })
  for (const c of [a, b]) await assign(c.id, [s])
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'active', clusters: [{ name: a.name }, { name: b.name }] })
  expect([...a.fake.changes, ...b.fake.changes]).toEqual([])
  await assign(a.id, [])
  expect(await look(s)).toMatchObject({ clusters: [{ name: b.name }] })
})

test('a stale If-Match changes nothing; every assignment is a new version of the cluster', async () => {
  const c = await cluster()
  const [s, t] = [await subnet(), await subnet()]
  const version = (await operator.call(clusterGet, { params: { id: c.id } })).answer!.version
  const ask = (subnets: Subnet[]) =>
    operator.call(clusterSubnetsAssign, { params: { id: c.id }, body: { subnet_ids: subnets.map((x) => x.id) } }, { ifMatch: version })
  expect((await ask([s])).status).toBe(202)
  expect(await ask([t])).toMatchObject({ status: 412, problem: { code: 'stale' } })
  expect(await look(t)).toMatchObject({ status: 'unassigned' })
})

test('what else is done to a cluster goes first', async () => {
  const c = await cluster()
  await inTransaction(db, (tx) =>
    backend.domains.operations.create(
      tx,
      { kind: 'system', name: 'test' },
      { kind: 'clusterServerReplace', target: { kind: 'cluster', id: c.id, name: c.name }, steps: [], queue: 'none', queueKey: c.id },
    ),
  )
  expect((await put(c.id, [await subnet()])).problem).toMatchObject({ code: 'operation_running' })
})

test('a cluster that is removed gives its subnets back, and what was under way ends', async () => {
  const c = await cluster()
  const [s, t] = [await subnet(), await subnet()]
  await assign(c.id, [s])
  await backend.engine.settle()
  c.fake.down = 'gone'
  const id = await assign(c.id, [s, t])
  await backend.engine.run(5_000)
  await sql`update cluster set wanted = 'removed', status = 'deleting' where id = ${c.id}`.execute(db)
  await backend.engine.run(60_000)
  expect(await operation(id)).toMatchObject({ status: 'cancelled', reason: `${c.name} is being deleted` })
  await inTransaction(db, (tx) => backend.domains.pools.release(tx, c.id))
  expect([(await look(s)).status, (await look(t)).status]).toEqual(['unassigned', 'unassigned'])
  expect(await audited('subnet.unassigned', s.id)).toHaveLength(1)
})

test('people who change their mind while the cluster is being told are obeyed: the pool ends as it was last wanted', async () => {
  const c = await cluster()
  const s = await subnet()
  let asked = false
  c.fake.before = async (what) => {
    if (asked || !what.startsWith('apply')) return
    asked = true
    await assign(c.id, [])
  }
  await assign(c.id, [s])
  await backend.engine.run(30_000)
  expect(asked).toBe(true)
  expect(await look(s)).toMatchObject({ status: 'unassigned' })
  expect([...c.fake.objects.keys()]).toEqual([])
})

test('a subnet whose addresses change while it is read back is not active for the addresses of before', async () => {
  const c = await cluster()
  const s = await subnet()
  const address = s.cidr.replace('.0/28', '.9')
  let changed = false
  c.fake.before = async (what) => {
    if (changed || !what.startsWith('list /api/v1/services')) return
    changed = true
    expect((await operator.call(subnetUpdate, { params: { id: s.id }, body: { exclude: [address] } })).status).toBe(200)
  }
  await assign(c.id, [s])
  await backend.engine.settle()
  expect(await look(s)).toMatchObject({ status: 'active', total: 12 })
  expect(c.fake.addresses(c.fake.objects.get(path(s))!)).not.toContain(address)
})

test('a cluster without subnets is not asked anything', async () => {
  const c = await cluster()
  const asked: string[] = []
  c.fake.before = (what) => void asked.push(what)
  await assign(c.id, [])
  await backend.engine.run(300_000)
  expect(asked).toEqual([])
})
