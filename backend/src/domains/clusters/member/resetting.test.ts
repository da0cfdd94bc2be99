import { describe, expect, test } from 'vitest'
import { clusterDelete, clusterGet } from '#contract/clusters/clusters.ts'
import { ccGet } from '#contract/marketplace/ccs.ts'
import { hasEnded, operationCancel, operationGet, operationRetry } from '#contract/operations.ts'
import {
  type Server,
  serverAdd,
  serverCommands,
  serverEvents,
  serverGet,
  serverList,
  serverRemove,
  serverReset,
} from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { joinedYesterday, powerOff, promiseCapacity, readied, seenAt } from '../testing/servers.ts'
import { clusterWorld } from '../testing/world.ts'

const world = await clusterWorld({ servers: longTests ? 20 : 12, seed: 'resetting' })
const { admin } = world

const ready = (nodes: readonly Server[]) => readied(world, nodes)
const reset = (node: Server, body: { keep_workload_disks?: boolean } = {}) =>
  admin.call(serverReset, { params: { id: node.id }, body })
/**
 * The server stops to answer before the reset is sent, and after the request was accepted: it is
 * refused once a contact has noticed the silence.
 */
const silentAfterReset = (node: Server) =>
  world.alone(async () => {
    // Refused while a control plane that was off is not well yet.
    const { answer } = await world.until(
      () => reset(node),
      (one) => one.answer !== undefined,
    )
    const { operation } = answer!
    await addFault(world.machine(node), { kind: 'refuse', port: 'apid' })
    return operation
  })
const isAccepted = ({ answer }: Awaited<ReturnType<typeof reset>>) => answer !== undefined
const dark = (node: Server) => powerOff(world, node)
const promise = (node: Server) => promiseCapacity(world, node)
const etcdOf = (node: Server) => world.machine(node).etcdCluster!.state.members.map((m) => m.name)

describe.concurrent('removing a server from a cluster', () => {
  test(
    'invalid removals are refused with a reason; a removed worker is wiped and free, and the cluster is ready with one server less',
    { timeout: 600_000 },
    async () => {
      const [free, first, worker] = world.take(3) as [Server, Server, Server]
      expect((await reset(free)).problem).toMatchObject({
        code: 'server_not_in_cluster',
        error: 'Talos allows this only once the server is in a cluster',
      })
      const unknown = { params: { id: crypto.randomUUID() }, body: {} }
      expect((await admin.call(serverReset, unknown)).status).toBe(404)
      const { cluster, operation: creation } = await world.create([first, worker])
      expect((await reset(worker)).problem).toMatchObject({ code: 'operation_running' })
      await world.ended(creation.id)
      expect((await reset(first)).problem).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining('delete the cluster instead'),
      })
      const stale = { params: { id: worker.id }, body: {} }
      expect((await admin.call(serverReset, stale, { ifMatch: 1 })).problem).toMatchObject({
        code: 'stale',
      })
      expect(
        (await admin.call(clusterDelete, { params: { id: cluster.id } }, { ifMatch: 1 })).problem,
      ).toMatchObject({ code: 'stale' })
      const viewer = await world.backend.signIn({ role: 'viewer' })
      expect((await viewer.call(serverReset, stale)).status).toBe(403)
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready', workers: 1 })

      const statuses = new Set<string>()
      const { status, answer } = await reset(worker)
      expect(status).toBe(202)
      const { operation } = answer!
      expect(operation).toMatchObject({
        kind: 'serverReset',
        target: { kind: 'server', id: worker.id },
      })
      expect(operation.steps.map((s) => s.key)).toEqual([
        `reset/${worker.id}`,
        `release/${worker.id}`,
        `forget-node/${worker.id}`,
      ])
      expect((await reset(worker)).problem).toMatchObject({ code: 'operation_running' })
      expect(
        (await admin.call(serverCommands.serverReboot, { params: { id: worker.id } })).problem,
      ).toMatchObject({ code: 'operation_running' })
      expect(
        (await admin.call(clusterDelete, { params: { id: cluster.id } })).problem,
      ).toMatchObject({
        code: 'operation_running',
        error: expect.stringContaining(worker.name),
      })
      const end = await world.until(
        async () => {
          statuses.add((await world.cluster(cluster.id)).status)
          return world.operation(operation.id)
        },
        (o) => o.ended_at !== null,
      )
      expect({ status: end.status, open: end.steps.filter((s) => s.status !== 'done') }).toEqual({
        status: 'done',
        open: [],
      })
      expect(await world.server(worker.id)).toMatchObject({
        status: 'maintenance',
        type: 'unknown',
        cluster: null,
        operation_id: null,
        identity: { state: 'unconfirmed', note: expect.stringContaining(cluster.name) },
      })
      expect(world.machine(worker).stage.stage).toBe('maintenance')
      expect(world.machine(worker).disk.state).toMatchObject({
        config: null,
        counters: { resets: 1 },
        installed: { version: 'v1.13.9' },
      })
      expect(world.nodeNames(first)).toEqual(expect.not.arrayContaining([worker.name]))
      expect([...statuses]).toEqual(['ready'])
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        reason: null,
        control_planes: 1,
        workers: 0,
      })
      await world.backend.publish()
      const { items } = (await admin.call(serverEvents, { params: { id: worker.id } })).answer!
      expect(items.map((e) => e.type)).toEqual(
        expect.arrayContaining(['server.reset_requested', 'server.reset']),
      )
    },
  )

  longTest(
    'one of three control planes can be removed; the operation warns that an even number remains',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(4)
      const cluster = await ready(nodes)
      const first = nodes[0]!
      // Two control planes are removed concurrently: one call is accepted, the other is refused for
      // now.
      const both = await Promise.all([reset(nodes[1]!), reset(nodes[2]!)])
      expect(both.map((r) => r.status).toSorted((a, b) => a - b)).toEqual([202, 409])
      const asked = both.find((r) => r.status === 202)!
      const [second, third] = asked === both[0] ? [nodes[2]!, nodes[1]!] : [nodes[1]!, nodes[2]!]
      expect(
        asked.answer!.operation.steps.find((s) => s.key === `forget-member/${third.id}`)!.title,
      ).toContain('2 control planes remain, an even number')
      expect((await reset(second)).problem).toMatchObject({
        code: 'operation_running',
        error: expect.stringContaining('one after another'),
      })
      const end = await world.ended(asked.answer!.operation.id)
      expect(end).toMatchObject({
        status: 'done',
        reason: expect.stringContaining('an even number'),
      })
      expect(etcdOf(first).toSorted()).toEqual([first.name, second.name].toSorted())
      expect(world.nodeNames(first)).not.toContain(third.name)
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        control_planes: 2,
        workers: 1,
      })

      // One of two members is dead. The healthy one can't leave, and the dead one can't be removed
      // by force.
      await dark(second)
      const costly = await reset(first)
      expect(costly.problem).toMatchObject({
        code: 'transition_refused',
        error: expect.stringMatching(/needs 1 of them healthy, but only 0 are|no control plane/i),
      })
      const forced = await admin.call(serverRemove, {
        params: { id: second.id },
        query: { force: 'true' },
      })
      expect(forced.problem).toMatchObject({ code: 'transition_refused' })
    },
  )

  longTest(
    'a removal that would cost etcd its majority is refused, and a dead member can be removed by force',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(4)
      const cluster = await ready(nodes)
      const [first, second, third] = nodes as [Server, Server, Server, Server]
      const unreachable = await dark(third)
      expect((await reset(first)).problem).toMatchObject({
        code: 'transition_refused',
        error: `Without ${first.name}, etcd of ${cluster.name} has 2 members and needs 2 of them healthy, but only 1 is. Bring ${third.name} back first`,
      })
      expect((await reset(third)).problem).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining('remove it by force'),
      })
      expect(
        (
          await admin.call(
            serverRemove,
            { params: { id: third.id }, query: { force: 'true' } },
            { ifMatch: unreachable.version - 1 },
          )
        ).status,
      ).toBe(412)
      expect(
        (await admin.call(serverRemove, { params: { id: third.id }, query: { force: 'true' } }))
          .status,
      ).toBe(202)
      await world.until(
        async () => etcdOf(first).toSorted(),
        (members) => members.join() === [first.name, second.name].toSorted().join(),
      )
      expect(
        await world.until(
          () => world.judged(cluster.id),
          (c) => c.status === 'ready',
        ),
      ).toMatchObject({ control_planes: 2, workers: 1 })
      await world.until(
        async () => world.nodeNames(first),
        (names) => !names.includes(third.name),
      )
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
    },
  )

  test(
    "a silent worker can be removed by force, which fails the commitment of its capacity; a worker that answers can't",
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(3)
      const cluster = await ready(nodes)
      const [first, second, worker] = nodes as [Server, Server, Server]
      const force = (node: Server) =>
        admin.call(serverRemove, { params: { id: node.id }, query: { force: 'true' } })
      expect((await force(worker)).problem).toMatchObject({
        code: 'transition_refused',
        error: `${worker.name} answers: reset it instead`,
      })
      expect((await admin.call(serverRemove, { params: { id: worker.id } })).problem).toMatchObject(
        { code: 'server_in_cluster' },
      )
      // The server is contacted once more before a forced removal, even after failed contacts.
      await addFault(world.machine(second), { kind: 'refuse', port: 'apid' })
      await world.until(
        () => world.server(second.id),
        (s) => s.talos.reachable === false,
      )
      await clearFaults(world.machine(second))
      expect((await force(second)).problem).toMatchObject({
        code: 'transition_refused',
        error: `${second.name} answers: reset it instead`,
      })

      // A forced removal ends a pending reset that the server never received.
      const commitment = await promise(worker)
      await addFault(world.machine(worker), { kind: 'refuse', port: 'apid' })
      const { operation: unheard } = (await reset(worker)).answer!
      await dark(worker)
      expect(await admin.call(ccGet, { params: { id: commitment } })).toMatchObject({
        answer: { status: 'active' },
      })
      expect((await force(worker)).status).toBe(202)
      const failed = await world.until(
        async () => (await admin.call(ccGet, { params: { id: commitment } })).answer!,
        (cc) => cc.status !== 'active',
      )
      expect(failed).toMatchObject({
        status: 'failed',
        reason: 'The server was removed',
        server: { status: 'deleted' },
      })
      expect(await world.ended(unheard.id)).toMatchObject({
        status: 'failed',
        reason: 'The server was removed by force',
      })
      await clearFaults(world.machine(worker))
      expect(await world.server(worker.id)).toMatchObject({
        status: 'deleted',
        cluster: null,
        operation_id: null,
      })
      const healthy = await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'ready' && c.reason === null,
      )
      expect(healthy).toMatchObject({ control_planes: 1, workers: 1 })
      await world.until(
        async () => world.nodeNames(first),
        (names) => !names.includes(worker.name),
      )

      // A removed server that is wiped and added again becomes a new server, with a note about the
      // removed server.
      const machine = world.machine(worker)
      machine.disk.change((state) => {
        state.config = null
        state.installed = null
      })
      machine.lifecycle.powerOn()
      await world.until(
        async () => machine.stage.stage,
        (stage) => stage === 'maintenance',
      )
      const { operation } = (
        await admin.call(serverAdd, { body: { addresses: [machine.plan.address] } })
      ).answer!
      await world.ended(operation.id)
      const again = (
        await admin.call(serverList, { query: { per_page: 1000, status: 'maintenance' } })
      ).answer!.items.find((s) => s.identity.uuid === worker.identity.uuid)!
      expect(again.id).not.toBe(worker.id)
      expect(again.identity.note).toContain(worker.name)
    },
  )

  longTest(
    'a removal that is cancelled before the wipe leaves the server in its cluster; the control plane whose address is the endpoint stays',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(4)
      const { cluster, operation: creation } = await world.create(nodes)
      await world.ended(creation.id)
      const [holder, second, third] = nodes as [Server, Server, Server, Server]
      expect((await reset(holder)).problem).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining('nobody can reach that endpoint'),
      })
      const waitsBy = (operationId: string, reason: string | RegExp) =>
        world.until(
          () => world.operation(operationId),
          (o) => o.steps.some((step) => step.status === 'waiting' && step.reason?.match(reason)),
        )
      // The server is silent at first. When it answers again, another control plane is down, so
      // etcd's majority is checked again and the reset waits.
      const operation = await silentAfterReset(second)
      await waitsBy(operation.id, 'does not answer')
      await world.machine(third).lifecycle.powerOff()
      await clearFaults(world.machine(second))
      await waitsBy(
        operation.id,
        `needs 2 of them healthy, but only 1 is. Bring ${third.name} back first`,
      )
      await admin.call(operationCancel, { params: { id: operation.id } })
      expect((await world.ended(operation.id)).status).toBe('cancelled')
      expect(await world.server(second.id)).toMatchObject({
        status: 'ready',
        cluster: { id: cluster.id },
        operation_id: null,
      })
      expect(world.machine(second).disk.state.counters.resets).toBe(0)
      expect(await world.cluster(cluster.id)).toMatchObject({ control_planes: 3, workers: 1 })
      world.machine(third).lifecycle.powerOn()
      // The cluster may not have noticed yet that the server was off, and still be ready.
      await world.until(
        () => world.server(third.id),
        ({ talos }) => talos.reachable === true && world.machine(third).stage.stage === 'running',
      )
      await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'ready',
      )
      // A forced deletion waits for no reset.
      const doomed = await silentAfterReset(third)
      const deletion = await admin.call(clusterDelete, {
        params: { id: cluster.id },
        query: { force: 'true' },
      })
      expect((await world.ended(deletion.answer!.operation.id)).status).toBe('done')
      expect(await world.operation(doomed.id)).toMatchObject({
        status: 'failed',
        reason: 'The cluster was deleted by force',
      })
      expect(await world.server(third.id)).toMatchObject({
        status: 'maintenance',
        cluster: null,
        operation_id: null,
      })
    },
  )
})

/** Runs alone, because all tests share the clock. */
longTest(
  'a removal fails if the server stays silent after its wipe, and a retry continues when it is back',
  { timeout: 600_000 },
  async () => {
    const nodes = world.take(2)
    const cluster = await ready(nodes)
    const worker = nodes[1]!
    const askedAt = world.backend.clock.now()
    await joinedYesterday(world, worker)
    // Refused as long as a control plane of the new cluster is not well.
    const { operation } = (await world.until(() => reset(worker), isAccepted)).answer!
    await world.until(
      async () => world.machine(worker).disk.state.counters.resets,
      (resets) => resets === 1,
    )
    await world.machine(worker).lifecycle.powerOff()
    await world.until(
      () => world.operation(operation.id),
      (o) => o.steps.some((s) => s.key.startsWith('release/') && s.status === 'waiting'),
    )
    // "Last seen" is the time at which the reset was sent, not the time of joining.
    expect(await seenAt(world, worker)).toBeGreaterThanOrEqual(askedAt)
    await admin.call(operationCancel, { params: { id: operation.id } })
    await world.until(
      () => world.operation(operation.id),
      (o) => o.reason?.includes("can't be withdrawn") === true,
    )
    world.backend.clock.advance(31 * 60_000)
    // Tokens last ten minutes, so users sign in again.
    const later = await world.backend.signIn({ role: 'admin' })
    const ended = () =>
      world.until(
        async () => (await later.call(operationGet, { params: { id: operation.id } })).answer!,
        hasEnded,
      )
    expect(await ended()).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('Not done after'),
    })
    world.machine(worker).lifecycle.powerOn()
    await later.call(operationRetry, { params: { id: operation.id } })
    expect((await ended()).status).toBe('done')
    expect((await later.call(serverGet, { params: { id: worker.id } })).answer).toMatchObject({
      status: 'maintenance',
      cluster: null,
    })
    expect((await later.call(clusterGet, { params: { id: cluster.id } })).answer).toMatchObject({
      control_planes: 1,
      workers: 0,
    })
  },
)
