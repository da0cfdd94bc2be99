/** Control planes that wait for etcd for longer than Talos tries to join it. */
import { expect, test } from 'vitest'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

onEachMinor(async (minor) => {
  const world = await clusterWorld({ servers: 3, minor })
  const { patience } = world.simulator.world

  test('control planes that have waited for etcd for longer than Talos tries are restarted once, and join', async () => {
    const nodes = world.take(3)
    const [first, ...late] = nodes.map((node) => world.machine(node))
    // Half an hour passes for the other control planes while the first one pulls the image of etcd.
    patience.etcdJoin = 1_000
    await addFault(first!, { kind: 'slow-pull', image: '/etcd:', ms: 600_000 })
    const { cluster, operation } = await world.create(nodes, {
      servers: nodes.map((n) => ({ node_id: n.id, role: 'control_plane' })),
    })
    // Otherwise etcd is started on the one that is installed first.
    await world.backend.platform.db
      .insertInto('cluster_bootstrap')
      .values({
        cluster_id: cluster.id,
        node_id: nodes[0]!.id,
        node_uuid: nodes[0]!.identity.uuid!,
        intent_at: new Date(),
      })
      .execute()
    const etcds = async () =>
      late.map(({ services }) => services.all.find(({ id }) => id === 'etcd')?.state)
    await world.until(etcds, (states) => states.every((state) => state === 'Failed'))
    const boots = new Set(late.map(({ bootId }) => bootId))
    delete patience.etcdJoin
    expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
    expect(late.filter(({ bootId }) => boots.has(bootId))).toEqual([])
    expect(world.etcds(cluster.name)).toBe(1)
    const restarted = await world.backend.platform.db
      .selectFrom('cluster_server')
      .select(['name', 'etcd_restart_at'])
      .where('cluster_id', '=', cluster.id)
      .orderBy('position')
      .execute()
    expect(restarted.filter((m) => m.etcd_restart_at !== null).map(({ name }) => name)).toEqual(
      nodes.slice(1).map((node) => node.name),
    )
  })
})
