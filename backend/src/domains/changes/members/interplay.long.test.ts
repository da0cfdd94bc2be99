/**
 * Changes of a cluster's servers together with other requests and failures: deletion, removal by
 * force, a server that fails in the middle, a retry.
 */
import { describe, expect, test } from 'vitest'
import {
  type Cluster,
  clusterDelete,
  clusterGet,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { operationGet, operationRetry } from '#contract/operations.ts'
import { type Server, serverRemove } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { onEachMinor } from '../../clusters/testing/minors.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

onEachMinor(async (minor) => {
  /** The stage in which Talos installs itself: since 1.14 it does so while it boots. */
  const installs = minor.minor === '1.13' ? 'installing' : 'booting'
  const world = await clusterWorld({ minor, servers: 12, seed: 'interplay' })
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
  /**
   * Asks for a growth that fails, because `ill` has other hardware. `waits` is the server after it.
   */
  const growInVain = (cluster: Cluster, ill: Server, waits: Server) => {
    const servers = [ill, waits].map((n) => ({ node_id: n.id, role: 'control_plane' as const }))
    return world.withOtherHardware(ill, () => world.change(cluster.id, { kind: 'grow', servers }))
  }
  const workers = (nodes: readonly Server[]) =>
    nodes.map((n) => ({ node_id: n.id, role: 'worker' as const }))

  describe.concurrent('changes of servers and other requests', () => {
    test(
      'after a failed growth the cluster can be deleted, and servers that waited for their turn are released',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(1)
        const [ill, waits] = world.take(2) as [Server, Server]
        const cluster = await ready(nodes)
        const { id } = await growInVain(cluster, ill, waits)
        expect(await world.ended(id)).toMatchObject({ status: 'failed' })
        expect(await world.server(waits.id)).toMatchObject({
          cluster: { id: cluster.id },
          operation_id: null,
        })
        expect(world.machine(waits).disk.state.counters.applies).toBe(0)
        await clearFaults(world.machine(ill))
        const deletion = await admin.call(clusterDelete, { params: { id: cluster.id } })
        expect(await world.ended(deletion.answer!.operation.id)).toMatchObject({ status: 'done' })
        expect((await admin.call(clusterGet, { params: { id: cluster.id } })).status).toBe(404)
        for (const node of [ill, waits])
          expect(await world.server(node.id)).toMatchObject({ cluster: null, operation_id: null })
      },
    )

    test(
      'after a failed growth its servers can be removed, and the cluster can grow with other servers',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(1)
        const [ill, waits, other] = world.take(3) as [Server, Server, Server]
        const cluster = await ready(nodes)
        expect(await world.ended((await growInVain(cluster, ill, waits)).id)).toMatchObject({
          status: 'failed',
        })
        const given = await world.change(cluster.id, {
          kind: 'shrink',
          servers: [ill, waits].map((n) => ({ node_id: n.id })),
        })
        expect(await world.ended(given.id)).toMatchObject({ status: 'done' })
        // A server that restarts after its failed installation is released as soon as it answers.
        for (const node of [ill, waits])
          await world.until(
            () => world.server(node.id),
            (now) => now.cluster === null && now.operation_id === null,
          )
        const again = await world.change(cluster.id, { kind: 'grow', servers: workers([other]) })
        expect(await world.ended(again.id)).toMatchObject({ status: 'done' })
        expect(await world.recovered(cluster.id)).toMatchObject({
          status: 'ready',
          control_planes: 1,
          workers: 1,
        })
      },
    )

    test(
      'a joining server that dies and is removed by force does not stop the others',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(1)
        const [dead, well] = world.take(2) as [Server, Server]
        const cluster = await ready(nodes)
        await addFault(world.machine(dead), { kind: 'vanish', stage: installs })
        const { id } = await world.change(cluster.id, {
          kind: 'grow',
          servers: workers([dead, well]),
        })
        await world.until(
          () => world.server(dead.id),
          (s) => s.talos.reachable === false && !world.machine(dead).isOn,
        )
        const removed = await admin.call(serverRemove, {
          params: { id: dead.id },
          query: { force: 'true' },
        })
        expect(removed.problem).toBeUndefined()
        const end = await world.ended(id)
        expect(end).toMatchObject({ status: 'done' })
        expect(end.steps.find((s) => s.key === `join/${dead.id}`)).toMatchObject({
          status: 'skipped',
          reason: `${dead.name} was removed by force`,
        })
        expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready', workers: 1 })
      },
    )
  })

  test(
    'a server whose Talos API falls silent before its reset fails the change, stays and runs workload again; a retry drains and removes it',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      const worker = nodes[1]!
      const { id } = await world.change(cluster.id, {
        kind: 'shrink',
        servers: [{ node_id: worker.id }],
      })
      await addFault(world.machine(worker), { kind: 'hang', port: 'apid' })
      const end = await world.until(
        () => world.operation(id),
        (o) =>
          o.ended_at !== null ||
          o.steps.some((s) => s.key === `reset/${worker.id}` && s.status === 'waiting'),
      )
      expect(end.status).toBe('running')
      world.backend.clock.advance(46 * 60_000)
      const again = await world.backend.signIn({ role: 'admin' })
      const failed = await world.until(
        async () => (await again.call(operationGet, { params: { id } })).answer!,
        (o) => o.ended_at !== null,
      )
      expect(failed).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/^Not done after 46 min/),
      })
      const now = (await again.call(clusterGet, { params: { id: cluster.id } })).answer!
      expect(now.servers.map((s) => s.node_id)).toContain(worker.id)
      expect(upgradeWorld(world).cordoned(nodes[0]!)).toEqual([])
      await clearFaults(world.machine(worker))
      expect((await again.call(operationRetry, { params: { id } })).status).toBe(200)
      const done = await world.until(
        async () => (await again.call(operationGet, { params: { id } })).answer!,
        (o) => o.ended_at !== null,
      )
      expect(done).toMatchObject({ status: 'done' })
      expect(done.steps.find((s) => s.key === `drain/${worker.id}`)).toMatchObject({ attempt: 2 })
      expect(world.machine(worker).disk.state.counters.resets).toBe(1)
    },
  )
})
