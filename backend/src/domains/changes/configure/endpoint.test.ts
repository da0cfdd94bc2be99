/**
 * A change of the endpoint of the Kubernetes API, on a cluster of a control plane and a worker.
 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { clusterPlan } from '#contract/clusters/changes/changes.ts'
import { clusterKubeconfig } from '#contract/clusters/clusters.ts'
import { operationCancel } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { virtualAddresses } from '../../clusters/store.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'

const world = await clusterWorld({ servers: 3, seed: 'endpoint' })
const { admin } = world
const nodes = world.take(2)
const [spare] = world.take(1)
const { cluster, operation: creation } = await world.create(nodes)
await world.ended(creation.id)
const params = { id: cluster.id }
/** An address of the test's own block that no server has. */
const virtual = world.machine(nodes[0]!).plan.address.replace(/\d+$/, '200')

const to = (endpoint: string, more: object = {}) => ({
  kind: 'endpoint' as const,
  endpoint,
  ...more,
})
const planOf = async (change: ReturnType<typeof to>) => {
  const called = await admin.call(clusterPlan, { params, body: { change } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const refusal = async (change: ReturnType<typeof to>) =>
  (await planOf(change)).checks.find((c) => !c.ok)?.message
const configOf = (node: { id: string }) => world.machine(node).disk.state.config ?? ''
const boots = (node: { id: string }) => world.machine(node).disk.state.counters.boots
const kubeconfig = async () => (await admin.call(clusterKubeconfig, { params })).answer!

test('an endpoint that is in use, belongs to another server or is unchanged is refused with the reason', async () => {
  const { endpoint } = await world.cluster(cluster.id)
  expect(await refusal(to(endpoint))).toBe(`The endpoint is ${endpoint} already`)
  expect(await refusal(to(world.machine(spare!).plan.address))).toContain(
    'which is no control plane of this cluster',
  )
  expect(await refusal(to(world.machine(nodes[1]!).plan.address, { virtual_ip: true }))).toContain(
    'is in use by',
  )
  expect(await refusal(to('nothing.invalid'))).toMatch(
    /^nothing\.invalid does not lead to the control planes: /,
  )
  const reach = async (more: object) =>
    (await planOf(to('198.51.100.200', { virtual_ip: true, ...more }))).checks.find(
      (c) => c.check === 'reach',
    )
  expect(await reach({})).toMatchObject({
    ok: false,
    message: expect.stringMatching(
      /^Steelyard cannot check whether 198\.51\.100\.200 is free: /,
    ) as string,
  })
  expect(await reach({ accept_unchecked: true })).toMatchObject({
    ok: true,
    message: expect.stringMatching(/^Not checked: /) as string,
  })
})

test('both endpoints are valid until every server uses the new one, then the old one is removed from the certificates; no server restarts', async () => {
  const before = (await world.cluster(cluster.id)).endpoint
  const old = new URL(before).hostname
  const started = nodes.map(boots)
  const plan = await planOf(to(virtual, { virtual_ip: true }))
  expect(plan.checks.filter((c) => !c.ok)).toEqual([])
  await addFault(world.machine(nodes[1]!), {
    kind: 'lost-reply',
    method: 'ApplyConfiguration',
    times: 1,
  })
  const { id } = await world.change(cluster.id, to(virtual, { virtual_ip: true }))
  await world.until(
    () => world.operation(id),
    (o) => o.steps.some((s) => s.key === 'reach' && s.status === 'done'),
  )
  for (const node of nodes.slice(0, 1)) {
    expect(configOf(node)).toContain(virtual)
    expect(configOf(node)).toContain(old)
  }
  expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
  expect(await world.recovered(cluster.id)).toMatchObject({
    endpoint: `https://${virtual}:6443`,
    virtual_ip: true,
    status: 'ready',
  })
  for (const node of nodes) {
    expect(configOf(node)).toContain(`endpoint: https://${virtual}:6443`)
    expect(configOf(node)).not.toContain(before)
    expect(await world.server(node.id)).toMatchObject({ drift: null })
  }
  expect(await kubeconfig()).toContain(`https://${virtual}:6443`)
  expect(nodes.map(boots)).toEqual(started)
}, 600_000)

test('whether the endpoint is a virtual IP is not changed alone', async () => {
  expect(await refusal(to(virtual))).toBe(
    `The endpoint is https://${virtual}:6443 already, as a virtual IP of the control planes. That is not changed alone: change to another endpoint first`,
  )
})

/** Begins a change that waits for a server whose kubelet fails. Returns its operation. */
async function waitingFor(server: Server, change: ReturnType<typeof to>): Promise<string> {
  await addFault(world.machine(server), { kind: 'component-fails', component: 'kubelet' })
  world.machine(server).restartKubelet?.()
  await expect.poll(() => world.machine(server).nodeReady).toBe(false)
  const { id } = await world.change(cluster.id, change)
  await world.until(
    () => world.operation(id),
    ({ steps }) => steps.some((s) => s.key === `node-ready/${server.id}` && s.status === 'waiting'),
  )
  return id
}

longTest(
  'an interrupted change to a virtual IP, which a control plane holds already, can be finished',
  async () => {
    const second = virtual.replace(/\d+$/, '201')
    const change = to(second, { virtual_ip: true })
    const [controlPlane, worker] = nodes as [Server, Server]
    const id = await waitingFor(worker, change)
    await admin.call(operationCancel, { params: { id } })
    await clearFaults(world.machine(worker))
    expect(await world.ended(id)).toMatchObject({ status: 'cancelled' })
    // A machine reports the virtual IP that it holds among its addresses.
    await sql`update server set hardware = jsonb_insert(hardware::jsonb, '{links,0,addresses,0}', to_jsonb(${`${second}/8`}::text)) where id = ${controlPlane.id}`.execute(
      world.backend.platform.db,
    )
    await expect.poll(() => world.machine(worker).nodeReady).toBe(true)
    expect((await planOf(change)).checks.filter((c) => !c.ok)).toEqual([])
    const again = await world.change(cluster.id, change)
    expect(await world.ended(again.id)).toMatchObject({ status: 'done', reason: null })
    expect(await world.recovered(cluster.id)).toMatchObject({
      endpoint: `https://${second}:6443`,
      virtual_ip: true,
    })
  },
  600_000,
)

longTest(
  'the former virtual IP stays reserved until every control plane has forgotten it',
  async () => {
    const former = (await world.cluster(cluster.id)).endpoint
    const change = to(virtual.replace(/\d+$/, '202'), { virtual_ip: true })
    const [controlPlane, worker] = nodes as [Server, Server]
    const reserved = async () =>
      (await virtualAddresses(world.backend.platform.db, cluster.datacenter.id)).map(
        ({ address }) => `https://${address}:6443`,
      )
    const id = await waitingFor(worker, change)
    await addFault(world.machine(controlPlane), { kind: 'refuse-apply', times: 1000 })
    await clearFaults(world.machine(worker))
    await world.until(
      () => world.operation(id),
      ({ steps }) =>
        steps.some((s) => s.key === `forget/${controlPlane.id}` && s.status === 'waiting'),
    )
    expect(await reserved()).toContain(former)
    await clearFaults(world.machine(controlPlane))
    expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
    expect(await reserved()).not.toContain(former)
    expect(configOf(controlPlane)).not.toContain(new URL(former).hostname)
  },
  600_000,
)
