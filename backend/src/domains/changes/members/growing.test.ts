import { describe, expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import {
  type Cluster,
  clusterCreate,
  clusterDelete,
  clusterPreview,
} from '#contract/clusters/clusters.ts'
import { type Operation, operationCancel, operationRetry } from '#contract/operations.ts'
import { patchCreate, patchList } from '#contract/patches.ts'
import { type Server, serverConfirm, serverReset } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { begins, inAnHour } from '../../clusters/testing/scheduled.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'

const world = await clusterWorld({ servers: longTests ? 24 : 15, seed: 'growing' })
const { admin } = world

const ready = async (nodes: readonly Server[]): Promise<Cluster> => {
  const { cluster, operation } = await world.create(nodes, { endpoint: 'kube.example.com' })
  expect((await world.ended(operation.id)).status).toBe('done')
  return world.cluster(cluster.id)
}
const added = (nodes: readonly Server[], role: 'control_plane' | 'worker') =>
  nodes.map((n) => ({ node_id: n.id, role }))
const etcdOf = (node: Server) => world.machine(node).etcdCluster!.state.members
const timeOf = (o: Operation, key: string, what: 'started_at' | 'ended_at') =>
  Date.parse(o.steps.find((s) => s.key === key)![what]!)
const refusal = async (cluster: Cluster, servers: ReturnType<typeof added>) =>
  (
    await admin.call(clusterChange, {
      params: { id: cluster.id },
      body: { change: { kind: 'grow', servers } },
    })
  ).problem
/** A patch after which Steelyard no longer reaches the server. */
const wall = {
  name: 'wall',
  body: 'apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n',
}

describe.concurrent('adding servers to a running cluster', () => {
  test(
    'a cluster of 1 + 1 grows to 3 + 2: control planes one at a time, and the cluster stays ready',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const [cp2, cp3, worker] = world.take(3) as [Server, Server, Server]
      const cluster = await ready(nodes)
      expect(await refusal(cluster, added([cp2], 'control_plane'))).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining('an odd number of control planes'),
      })
      expect(await refusal(cluster, added(nodes.slice(1), 'worker'))).toMatchObject({
        error: expect.stringContaining('is already in the cluster'),
      })
      const change = {
        kind: 'grow' as const,
        servers: [...added([worker], 'worker'), ...added([cp2, cp3], 'control_plane')],
      }
      const plan = (await admin.call(clusterPlan, { params: { id: cluster.id }, body: { change } }))
        .answer!
      expect(plan.checks.filter((c) => !c.ok)).toEqual([])
      expect(plan.groups.map((g) => g.node_id)).toEqual([cp2.id, cp3.id, worker.id])
      const operation = await world.change(cluster.id, change)
      expect((await world.cluster(cluster.id)).operation_id).toBe(operation.id)
      expect(
        (
          await admin.call(clusterChange, {
            params: { id: cluster.id },
            body: { change: { kind: 'defragment' } },
          })
        ).problem,
      ).toMatchObject({
        code: 'operation_running',
        error: expect.stringContaining('Add servers to'),
      })
      expect(
        (await admin.call(clusterDelete, { params: { id: cluster.id } })).problem,
      ).toMatchObject({ code: 'operation_running' })
      expect(
        (await admin.call(serverReset, { params: { id: nodes[1]!.id }, body: {} })).problem,
      ).toMatchObject({ code: 'operation_running' })
      const statuses = new Set<string>()
      const end = await world.until(
        async () => {
          statuses.add((await world.cluster(cluster.id)).status)
          return world.operation(operation.id)
        },
        (o) => o.ended_at !== null,
      )
      expect(end).toMatchObject({ status: 'done', reason: null })
      expect([...statuses]).toEqual(['ready'])
      expect(timeOf(end, `apply/${cp3.id}`, 'started_at')).toBeGreaterThanOrEqual(
        timeOf(end, `join/${cp2.id}`, 'ended_at'),
      )
      expect(timeOf(end, `apply/${worker.id}`, 'started_at')).toBeGreaterThanOrEqual(
        timeOf(end, `join/${cp3.id}`, 'ended_at'),
      )
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        control_planes: 3,
        workers: 2,
      })
      expect(etcdOf(nodes[0]!).filter((m) => !m.learner)).toHaveLength(3)
      expect(world.nodeNames(nodes[0]!).toSorted()).toEqual(
        [...nodes, cp2, cp3, worker].map((n) => n.name).toSorted(),
      )
      for (const node of [cp2, cp3, worker])
        expect(await world.server(node.id)).toMatchObject({
          status: 'ready',
          operation_id: null,
          kubernetes: { ready: true },
        })
      expect(world.etcds(cluster.name)).toBe(1)
      expect(world.machine(nodes[0]!).etcdCluster!.counters.quorumLosses).toBe(0)
    },
  )

  longTest(
    'an addition beside a control plane that is not well is refused before anything changes',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(4)
      const free = world.take(2)
      const cluster = await ready(nodes)
      // A fault that names a part of the configuration ends a component that runs.
      await addFault(world.machine(nodes[1]!), {
        kind: 'component-fails',
        component: 'kube-scheduler',
        config: 'machine:',
      })
      await world.until(
        async () => world.machine(nodes[1]!).staticPods.get('kube-scheduler')?.isCrashing,
        (is) => is === true,
      )
      expect(await refusal(cluster, added(free, 'control_plane'))).toMatchObject({
        code: 'transition_refused',
        error: expect.stringMatching(
          new RegExp(
            `^kube-scheduler of ${nodes[1]!.name} is not ready: CrashLoopBackOff: .+Bring ${nodes[1]!.name} back first`,
          ),
        ),
      })
      await clearFaults(world.machine(nodes[1]!))
      await world.machine(nodes[2]!).lifecycle.powerOff()
      expect(await refusal(cluster, added(free, 'control_plane'))).toMatchObject({
        error: expect.stringContaining(`${nodes[2]!.name} is not healthy in etcd`),
      })
      for (const { id } of free)
        expect(await world.server(id)).toMatchObject({ cluster: null, operation_id: null })
      world.machine(nodes[2]!).lifecycle.powerOn()
    },
  )

  longTest(
    'a server that can not be installed fails its step; a retry adds it, and nothing is installed twice',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(1)
      const [ill, well] = world.take(2) as [Server, Server]
      const cluster = await ready(nodes)
      const patch = { name: 'motd', body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4097"\n' }
      const servers = added([ill, well], 'worker').map((s) => ({ ...s, patch }))
      const operation = await world.withOtherHardware(ill, () =>
        world.change(cluster.id, { kind: 'grow', servers }),
      )
      const stored = await world.backend.platform.db
        .selectFrom('operation')
        .select('arguments')
        .where('id', '=', operation.id)
        .executeTakeFirstOrThrow()
      expect(JSON.stringify(stored)).not.toContain('somaxconn')
      const failed = await world.ended(operation.id)
      expect(failed).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/[Oo]ther hardware/),
      })
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready', workers: 2 })
      expect(await world.server(ill.id)).toMatchObject({
        identity: { state: 'changed' },
        talos: { reachable: false },
      })
      world.machine(ill).disk.change((state) => (state.identitySalt = ''))
      world.machine(ill).journal.changed()
      const { uuid, serial } = ill.identity
      expect(
        (
          await admin.call(serverConfirm, {
            params: { id: ill.id },
            body: { uuid: uuid!, serial: serial! },
          })
        ).problem,
      ).toBeUndefined()
      expect((await admin.call(operationRetry, { params: { id: operation.id } })).status).toBe(200)
      expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
      for (const node of [ill, well]) {
        expect(world.machine(node).disk.state.counters.installs).toBe(1)
        expect(
          (await admin.call(patchList, { params: { id: node.id } })).answer!.items.map(
            (p) => p.name,
          ),
        ).toContain('motd')
        expect(world.machine(node).config!.text).toContain('4097')
      }
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready', workers: 2 })
    },
  )

  longTest(
    'no other control plane joins until every component of the one before is well',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(1)
      const [first, second] = world.take(2) as [Server, Server]
      const cluster = await ready(nodes)
      await addFault(world.machine(first), {
        kind: 'component-fails',
        component: 'kube-controller-manager',
      })
      const { id } = await world.change(cluster.id, {
        kind: 'grow',
        servers: added([first, second], 'control_plane'),
      })
      const why = `kube-controller-manager of ${first.name} is not ready: CrashLoopBackOff`
      await world.until(
        () => world.operation(id),
        ({ steps }) =>
          steps.some(
            (s) => s.key === `control-plane/${first.id}/join` && s.reason?.startsWith(why) === true,
          ),
      )
      expect(world.machine(second).disk.state.counters.applies).toBe(0)
      await clearFaults(world.machine(first))
      expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
      expect(etcdOf(nodes[0]!).filter((m) => !m.learner)).toHaveLength(3)
    },
  )

  test(
    'a server that would be lost, or for which the pod network has no room, is refused',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(1)
      const [joining] = world.take(1) as [Server]
      const patch = wall
      const why = expect.stringMatching(
        `^The change of the network of ${joining.name} can't be tried, because it comes with the installation: nothing will undo it. Steelyard would lose ${joining.name}: .*port 50000`,
      )
      const refused = {
        status: 409,
        problem: { code: 'loss_not_confirmed', fields: { confirmed_loss: joining.name } },
      }
      // A new cluster.
      const asked = {
        name: 'walled',
        datacenter_id: joining.datacenter!.id,
        endpoint: 'kube.example.com',
        servers: [{ node_id: joining.id, role: 'control_plane' as const, patch }],
      }
      const preview = (await admin.call(clusterPreview, { body: asked })).answer!
      expect(preview.losses).toMatchObject([{ node_id: joining.id, reason: why }])
      expect(preview.checks).toContainEqual(
        expect.objectContaining({ check: 'confirmed_loss', ok: false }),
      )
      expect(await admin.call(clusterCreate, { body: asked })).toMatchObject(refused)
      for (const name of ['another', joining.id])
        expect(
          await admin.call(clusterCreate, { body: { ...asked, confirmed_loss: [name] } }),
        ).toMatchObject(refused)
      expect(await world.server(joining.id)).toMatchObject({ cluster: null, operation_id: null })
      const confirmed = { ...asked, confirmed_loss: [joining.name] }
      expect(
        (await admin.call(clusterPreview, { body: confirmed })).answer!.checks.filter(
          (one) => one.check === 'confirmed_loss' && !one.ok,
        ),
      ).toEqual([])

      // A cluster that grows, whose pod network has room for one node.
      const { cluster, operation } = await world.create(nodes, {
        endpoint: 'kube.example.com',
        pod_cidr: '10.244.0.0/24',
      })
      expect((await world.ended(operation.id)).status).toBe('done')
      const params = { id: cluster.id }
      const change = {
        kind: 'grow' as const,
        servers: [{ node_id: joining.id, role: 'worker' as const, patch }],
      }
      const plan = (await admin.call(clusterPlan, { params, body: { change } })).answer!
      expect(plan.losses).toMatchObject([{ node_id: joining.id, reason: why }])
      expect(plan.checks.filter((one) => !one.ok).map((one) => one.message)).toEqual([
        expect.stringContaining('has room for 1 node'),
      ])
      expect((await admin.call(clusterChange, { params, body: { change } })).status).toBe(409)
      expect(world.machine(joining).disk.state.counters.applies).toBe(0)
    },
  )

  test(
    'a server that would be lost by then, which nobody confirmed, does not join at its time',
    { timeout: 600_000 },
    async () => {
      const [first, joining] = world.take(2) as [Server, Server]
      const cluster = await ready([first])
      const params = { id: cluster.id }
      const change = { kind: 'grow' as const, servers: added([joining], 'worker') }
      const { operation } = (
        await admin.call(clusterChange, { params, body: { change, start: inAnHour() } })
      ).answer!
      const saved = await admin.call(patchCreate, {
        params: { id: joining.id },
        body: { ...wall, confirmed_loss: [joining.name] },
      })
      expect(saved.problem).toBeUndefined()
      await begins(world, cluster.id, operation.id)
      expect(await world.ended(operation.id)).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(
          `^It did not begin: .* nothing will undo it. Steelyard would lose ${joining.name}: .*port 50000`,
        ),
      })
      expect(await world.server(joining.id)).toMatchObject({ cluster: null, operation_id: null })
      expect(world.machine(joining).disk.state.counters.applies).toBe(0)
    },
  )

  longTest(
    'a cancel removes the servers that have not joined, and keeps those that have',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(1)
      const [first, second] = world.take(2) as [Server, Server]
      const cluster = await ready(nodes)
      await addFault(world.machine(first), { kind: 'time', off_ms: 0 })
      const operation = await world.change(cluster.id, {
        kind: 'grow',
        servers: added([first, second], 'control_plane'),
      })
      await world.until(
        () => world.operation(operation.id),
        (o) => o.steps.some((s) => s.key === `etcd/${first.id}` && s.status === 'waiting'),
      )
      await admin.call(operationCancel, { params: { id: operation.id } })
      expect(await world.ended(operation.id)).toMatchObject({ status: 'cancelled' })
      await clearFaults(world.machine(first))
      for (const { id } of [first, second])
        await world.until(
          () => world.server(id),
          (s) => s.cluster === null && s.status === 'maintenance' && s.operation_id === null,
        )
      expect(world.machine(second).disk.state.counters.applies).toBe(0)
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        control_planes: 1,
      })
      // The cluster's next look removes the wiped member.
      await world.until(
        async () => etcdOf(nodes[0]!),
        (members) => members.length === 1,
      )
    },
  )
})
