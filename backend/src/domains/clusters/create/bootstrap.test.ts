import { expect, test } from 'vitest'
import { patchCreate } from '#contract/patches.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'
onEachMinor(async (minor) => {
  // Each test expects exactly one etcd per cluster, whatever fails around the bootstrap call.
  const world = await clusterWorld({ minor, servers: longTests ? 5 : 4 })
  const { db } = world.backend.platform
  const controlPlanes = (nodes: readonly { id: string }[]) => ({
    servers: nodes.map((n) => ({ node_id: n.id, role: 'control_plane' as const })),
  })
  const intend = (clusterId: string, node: { id: string; identity: { uuid: string | null } }) =>
    db
      .insertInto('cluster_bootstrap')
      .values({
        cluster_id: clusterId,
        node_id: node.id,
        node_uuid: node.identity.uuid!,
        intent_at: new Date(),
      })
      .execute()
  const bootstraps = (nodes: readonly { id: string }[]) =>
    nodes.map((n) => world.machine(n).disk.state.counters.bootstraps)

  test('after a crash the bootstrap continues on the server chosen before: while it is silent, etcd is bootstrapped nowhere else', async () => {
    const nodes = world.take(3)
    const chosen = nodes[2]!
    await addFault(world.machine(chosen), { kind: 'refuse', port: 'apid', stage: 'booting' })
    const { cluster, operation } = await world.create(nodes, controlPlanes(nodes))
    await intend(cluster.id, chosen)
    await world.until(
      () => world.operation(operation.id),
      (o) => o.steps.filter((s) => s.key.startsWith('boot/') && s.status === 'done').length === 2,
    )
    await world.until(
      () => world.cluster(cluster.id),
      ({ reason }) => reason?.includes(chosen.name) === true,
    )
    expect(world.etcds(cluster.name)).toBe(0)
    await clearFaults(world.machine(chosen))
    expect((await world.ended(operation.id)).status).toBe('done')
    expect(world.etcds(cluster.name)).toBe(1)
    expect(bootstraps(nodes)).toEqual([0, 0, 1])
  }, 600_000)

  test('if the response to the bootstrap is lost, the members of etcd confirm it, and etcd is not bootstrapped again', async () => {
    const nodes = world.take(1)
    await addFault(world.machine(nodes[0]!), { kind: 'lost-reply', method: 'Bootstrap', times: 5 })
    const { cluster, operation } = await world.create(nodes, controlPlanes(nodes))
    expect((await world.ended(operation.id)).status).toBe('done')
    expect(world.etcds(cluster.name)).toBe(1)
    const row = await db
      .selectFrom('cluster_bootstrap')
      .selectAll()
      .where('cluster_id', '=', cluster.id)
      .executeTakeFirstOrThrow()
    expect(row.confirmed_at).not.toBeNull()
  }, 600_000)

  longTest(
    'etcd is found on a server that knows no control plane, because discovery is off and Kubernetes does not run yet',
    async () => {
      const nodes = world.take(1)
      // Since 1.14 discovery has a document of its own.
      const body =
        minor.minor === '1.13'
          ? 'cluster:\n  discovery:\n    enabled: false\n'
          : 'apiVersion: v1alpha1\nkind: DiscoveryServiceConfig\nname: default\n$patch: delete\n'
      expect(
        (
          await world.admin.call(patchCreate, {
            params: { id: nodes[0]!.id },
            body: { name: 'no-discovery', body },
          })
        ).answer,
      ).toBeDefined()
      await addFault(world.machine(nodes[0]!), { kind: 'image-missing', image: 'kube-apiserver' })
      const { cluster, operation } = await world.create(nodes, { endpoint: 'k8s.example.com' })
      const step = await world.until(
        async () =>
          (await world.operation(operation.id)).steps.find(({ key }) => key === 'control-plane')!,
        ({ status }) => status === 'waiting',
      )
      expect(step.reason).toContain(nodes[0]!.name)
      expect(world.machine(nodes[0]!).apiServerUp).toBe(false)
      await clearFaults(world.machine(nodes[0]!))
      expect((await world.ended(operation.id)).status).toBe('done')
      expect(world.machine(nodes[0]!).disk.state.counters).toMatchObject({
        bootstrapCalls: 1,
        bootstraps: 1,
      })
      expect(world.etcds(cluster.name)).toBe(1)
    },
    600_000,
  )
})
