import { describe, expect, test } from 'vitest'
import {
  clusterChange,
  type ClusterChangeInput,
  clusterPlan,
} from '#contract/clusters/changes/changes.ts'
import {
  type Cluster,
  clusterServerReplace,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { patchCreate, patchRemove } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { operationCancel } from '#contract/operations.ts'
import { kubernetesOf } from '#simulator/src/kubernetes/joining.ts'
import { longTests, spread } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'

const world = await clusterWorld({ servers: longTests ? 28 : 13, seed: 'departing' })
const { admin } = world

const ready = async (
  nodes: readonly Server[],
  asked: Partial<NewClusterInput> = {},
): Promise<Cluster> => {
  const { cluster, operation } = await world.create(nodes, {
    endpoint: 'kube.example.com',
    ...asked,
  })
  expect((await world.ended(operation.id)).status).toBe('done')
  return world.cluster(cluster.id)
}
const dark = async (node: Server) => {
  await world.machine(node).lifecycle.powerOff()
  await world.until(
    () => world.server(node.id),
    (s) => s.talos.reachable === false,
  )
}
const refusal = async (cluster: Cluster, change: ClusterChangeInput) =>
  (await admin.call(clusterChange, { params: { id: cluster.id }, body: { change } })).problem
const planOf = async (cluster: Cluster, change: ClusterChangeInput) => {
  const called = await admin.call(clusterPlan, { params: { id: cluster.id }, body: { change } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const etcdOf = (node: Server) =>
  world
    .machine(node)
    .etcdCluster!.state.members.map((m) => m.name)
    .toSorted()
interface Thing {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Record<string, unknown>
}
/** Objects of the simulated cluster. */
const thingsOf = (controlPlane: Server): Thing[] =>
  Object.values(kubernetesOf(world.machine(controlPlane))!.state.kubernetes.objects).map(
    (one) => (one as { readonly body: unknown }).body as Thing,
  )
const namesOf = (nodes: readonly Server[]) => nodes.map((n) => n.name).toSorted()
const isFree = async (node: Server) =>
  expect(await world.server(node.id)).toMatchObject({
    status: 'maintenance',
    cluster: null,
    operation_id: null,
  })

describe.concurrent('removing servers from a running cluster', () => {
  test(
    'a removal that would lose the quorum or the last control plane is refused; otherwise workers leave first, then control planes one at a time; each ends in maintenance and is wiped as the plan says',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(5)
      const cluster = await ready(nodes)
      const [cp1, cp2, cp3, worker, last] = nodes as [Server, Server, Server, Server, Server]
      const shrink = (...gone: Server[]) => ({
        kind: 'shrink' as const,
        servers: gone.map((n) => ({ node_id: n.id })),
      })
      expect(await refusal(cluster, shrink(cp1, cp2, cp3))).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining('delete the cluster instead'),
      })
      expect(
        await refusal(cluster, { kind: 'shrink', servers: [{ node_id: worker.id, force: true }] }),
      ).toMatchObject({
        error: expect.stringContaining('answers'),
      })
      await dark(cp3)
      expect(await refusal(cluster, shrink(cp3))).toMatchObject({
        error: expect.stringContaining('does not answer'),
      })
      expect(await refusal(cluster, shrink(cp1))).toMatchObject({
        error: expect.stringContaining(`Bring ${cp3.name} back first`),
      })
      world.machine(cp3).lifecycle.powerOn()

      const change = shrink(cp2, worker, cp3)
      const plan = await world.until(
        () => planOf(cluster, change),
        ({ checks }) => checks.every((c) => c.ok),
      )
      expect(plan.groups.map((g) => [g.node_id, g.drains])).toEqual([
        [worker.id, true],
        [cp3.id, true],
        [cp2.id, true],
      ])
      // A dead member that has the name of a server leaves etcd with it.
      world.machine(cp1).etcdCluster!.change(({ members }) => {
        members.push({ ...members.find(({ name }) => name === cp3.name)!, id: '00000000000000ff' })
      })
      const { id } = await world.change(cluster.id, change)
      const end = await world.ended(id)
      expect({
        status: end.status,
        open: end.steps.filter((s) => s.status !== 'done' && !s.key.startsWith('uncordon/')),
      }).toEqual({ status: 'done', open: [] })
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        control_planes: 1,
        workers: 1,
      })
      expect(etcdOf(cp1)).toEqual([cp1.name])
      expect(world.nodeNames(cp1).toSorted()).toEqual(namesOf([cp1, last]))
      expect(world.machine(cp1).etcdCluster!.counters.quorumLosses).toBe(0)
      for (const node of [cp2, cp3, worker]) {
        await isFree(node)
        expect(world.machine(node).disk.state.counters.resets).toBe(1)
      }
    },
  )

  longTest(
    'a server that does not answer is removed by force, does not block other changes, and is reset when it answers',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(3)
      const cluster = await ready(nodes)
      const [gone, other] = [nodes[2]!, nodes[1]!]
      await dark(gone)
      const { id } = await world.change(cluster.id, {
        kind: 'shrink',
        servers: [{ node_id: gone.id, force: true }],
      })
      const end = await world.ended(id)
      expect(end).toMatchObject({ status: 'done' })
      expect(end.steps.find((s) => s.key === `reset/${gone.id}`)).toMatchObject({
        status: 'skipped',
        reason: expect.stringContaining('as soon as it answers'),
      })
      await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'ready' && c.workers === 1,
      )
      expect(world.nodeNames(nodes[0]!)).not.toContain(gone.name)
      expect(
        (await planOf(cluster, { kind: 'rotate', what: 'talos_ca' })).warnings.join(),
      ).toContain(`${gone.name} did not answer when it left the cluster`)
      const second = await world.change(cluster.id, {
        kind: 'shrink',
        servers: [{ node_id: other.id }],
      })
      expect(await world.ended(second.id)).toMatchObject({ status: 'done' })
      world.machine(gone).lifecycle.powerOn()
      await world.until(
        () => world.server(gone.id),
        (s) => s.cluster === null && s.status === 'maintenance',
      )
      expect(world.machine(gone).disk.state.counters.resets).toBe(1)
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
    },
  )

  longTest(
    'a budget that forbids the drain keeps the server; a cancel lets it run workload again, and a wider budget lets it leave',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(4)
      const cluster = await ready(nodes, {
        servers: nodes.map((n, i) => ({
          node_id: n.id,
          role: i === 0 ? ('control_plane' as const) : ('worker' as const),
        })),
      })
      const hand = handOn(world.simulator.world, cluster.name)!
      hand.addWorkload({ name: 'counter', replicas: 3, minAvailable: 3 })
      const things = () => thingsOf(nodes[0]!)
      const running = (node: Server) =>
        things().filter(
          (b) =>
            b.kind === 'Pod' &&
            b.spec['nodeName'] === node.name &&
            b.metadata.name.startsWith('counter-'),
        )
      const worker = (await world.until(
        async () => nodes.slice(1).find((n) => running(n).length > 0),
        (n) => n !== undefined,
      ))!
      const change = { kind: 'shrink' as const, servers: [{ node_id: worker.id }] }
      const warningsOf = async (node: Server) =>
        (await planOf(cluster, { kind: 'shrink', servers: [{ node_id: node.id }] })).warnings.join(
          '\n',
        )
      await world.until(
        () => warningsOf(worker),
        (text) =>
          text.includes(
            '/counter never allows one of its 3 pods to be moved: change the budget first. Otherwise the drain of',
          ),
      )
      const { id } = await world.change(cluster.id, change)
      await world.until(
        () => world.operation(id),
        (o) =>
          o.steps.some(
            (s) =>
              s.key === `drain/${worker.id}` &&
              /counter-\d can't be moved: .*disruption budget/.test(s.reason ?? ''),
          ),
      )
      await admin.call(operationCancel, { params: { id } })
      expect(await world.ended(id)).toMatchObject({ status: 'cancelled' })
      const nodeOf = () =>
        things().find((b) => b.kind === 'Node' && b.metadata.name === worker.name)
      expect(nodeOf()!.spec['unschedulable'] ?? false).toBe(false)
      expect(await world.server(worker.id)).toMatchObject({
        status: 'ready',
        operation_id: null,
        cluster: { id: cluster.id },
      })
      world.machine(nodes[0]!).etcdCluster!.change(() => {
        for (const budget of things().filter((b) => b.kind === 'PodDisruptionBudget'))
          budget.spec['minAvailable'] = 2
      })
      const again = await world.change(cluster.id, change)
      expect(await world.ended(again.id)).toMatchObject({ status: 'done' })
      expect(hand.show()).toMatchObject({
        counters: { quorumLosses: 0, budgetBreaches: 0 },
        workloads: [{ isIntact: true, ready: 3 }],
      })
      const left = nodes.slice(1).find((n) => n !== worker && running(n).length > 0)!
      world.machine(nodes[0]!).etcdCluster!.change(() => {
        for (const pod of running(left)) Reflect.deleteProperty(pod.metadata, 'ownerReferences')
      })
      expect(await warningsOf(left)).toMatch(
        new RegExp(
          `Nothing creates these pods again after they are moved off: .*counter-\\d on ${left.name}`,
        ),
      )
    },
  )
})

/** `dead` keeps the authority that the others refuse from now on. */
const rotateWithout = async (dead: Server, cluster: Cluster) => {
  const change = { kind: 'rotate' as const, what: 'talos_ca' as const }
  expect((await planOf(cluster, change)).warnings.join()).not.toContain(dead.name)
  const { id } = await world.change(cluster.id, change)
  expect(await world.ended(id)).toMatchObject({ status: 'done' })
}

describe.concurrent('replacing a server of a running cluster', () => {
  test.each(spread(['after a rotation', 'at once'] as const, 1))(
    'a dead control plane is removed from etcd before the new one joins, and does not disturb the cluster when it comes back %s',
    { timeout: 600_000 },
    async (when) => {
      const nodes = world.take(4)
      const [spare] = world.take(1) as [Server]
      const cluster = await ready(nodes)
      const dead = nodes[2]!
      await dark(dead)
      expect(
        (
          await admin.call(clusterServerReplace, {
            params: { id: cluster.id, node_id: dead.id },
            body: { node_id: spare.id },
          })
        ).problem,
      ).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining('kind: replace'),
      })
      const { id } = await world.change(cluster.id, {
        kind: 'replace',
        node_id: dead.id,
        by: { node_id: spare.id },
      })
      const end = await world.ended(id)
      expect(end).toMatchObject({ status: 'done' })
      const order = end.steps.map((s) => s.key)
      expect(order.indexOf(`forget-member/${dead.id}`)).toBeLessThan(
        order.indexOf(`config/${spare.id}`),
      )
      const now = [nodes[0]!, nodes[1]!, spare]
      expect(etcdOf(nodes[0]!)).toEqual(namesOf(now))
      await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'ready' && c.control_planes === 3,
      )
      if (when === 'after a rotation') await rotateWithout(dead, cluster)
      world.machine(dead).lifecycle.powerOn()
      await world.until(
        () => world.server(dead.id),
        (s) => s.cluster === null && s.status === 'maintenance',
      )
      expect(etcdOf(nodes[0]!)).toEqual(namesOf(now))
      expect(world.machine(dead).disk.state.counters.resets).toBe(1)
      await world.until(
        async () => world.nodeNames(nodes[0]!).includes(dead.name),
        (is) => !is,
      )
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
    },
  )

  longTest(
    'a healthy server leaves after the new one has joined',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const [spare] = world.take(1) as [Server]
      const cluster = await ready(nodes)
      const { id } = await world.change(cluster.id, {
        kind: 'replace',
        node_id: nodes[0]!.id,
        by: { node_id: spare.id },
      })
      const end = await world.ended(id)
      expect(end).toMatchObject({ status: 'done' })
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        control_planes: 1,
        workers: 1,
      })
      expect(etcdOf(spare)).toEqual([spare.name])
      expect(world.machine(spare).etcdCluster!.counters.quorumLosses).toBe(0)
      await isFree(nodes[0]!)
    },
  )
})

describe.concurrent('changing the role of a server', () => {
  test(
    'workers become control planes, one becomes a worker again, and their workload disks are kept; the one whose address is the endpoint stays',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(3)
      const cluster = await ready(nodes, { endpoint: undefined })
      const [holder, a, b] = nodes as [Server, Server, Server]
      expect(
        await refusal(cluster, {
          kind: 'role',
          servers: [{ node_id: holder.id, role: 'worker' }],
        }),
      ).toMatchObject({
        error: expect.stringContaining('give the cluster another endpoint first'),
      })
      const first = await world.change(cluster.id, {
        kind: 'role',
        servers: [a, b].map((n) => ({ node_id: n.id, role: 'control_plane' as const })),
      })
      expect(await world.ended(first.id)).toMatchObject({ status: 'done' })
      expect(await world.recovered(cluster.id)).toMatchObject({
        status: 'ready',
        control_planes: 3,
        workers: 0,
      })
      expect(etcdOf(a)).toEqual(namesOf(nodes))
      expect(await world.server(a.id)).toMatchObject({
        status: 'ready',
        type: 'control_plane',
        identity: { state: 'confirmed' },
      })
      const demotes = {
        kind: 'role' as const,
        servers: [{ node_id: b.id, role: 'worker' as const }],
      }
      const patch = await admin.call(patchCreate, {
        params: { id: b.id },
        body: {
          name: 'of-control-planes',
          body: 'machine: {features: {kubernetesTalosAPIAccess: {enabled: true, allowedRoles: [os:reader], allowedKubernetesNamespaces: [kube-system]}}}\n',
        },
      })
      expect(patch.text).toContain('patch_id')
      // The patch was checked for a control plane.
      expect(await refusal(cluster, demotes)).toMatchObject({
        error: expect.stringMatching(/of-control-planes.*kubernetesTalosAPIAccess/) as string,
      })
      const isSent = () =>
        world.until(
          () => world.server(b.id),
          (s) => s.pending === null,
        )
      await isSent()
      await admin.call(patchRemove, { params: { id: b.id, patchId: patch.answer!.patch_id } })
      await isSent()
      const second = await world.change(cluster.id, demotes)
      expect(await world.ended(second.id)).toMatchObject({ status: 'done' })
      expect(await world.cluster(cluster.id)).toMatchObject({ control_planes: 2, workers: 1 })
      expect(etcdOf(a)).toEqual(namesOf([holder, a]))
      expect(world.machine(b).disk.state.counters.resets).toBe(2)
      expect(
        (await planOf(cluster, { kind: 'extensions', kernel_args: ['panic=10'] })).warnings.join(),
      ).toContain('The cluster has two control planes')
      expect(world.machine(a).etcdCluster!.counters.quorumLosses).toBe(0)
    },
  )
})
