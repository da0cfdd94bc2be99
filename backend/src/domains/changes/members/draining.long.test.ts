/** Drains of servers that leave and whose pods don't end, or come back. */
import { expect, test } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { kubernetesOf } from '#simulator/src/kubernetes/joining.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { onEachMinor } from '../../clusters/testing/minors.ts'

onEachMinor(async (minor) => {
  const world = await clusterWorld({ minor, servers: 4, seed: 'draining' })

  /** A control plane and a worker that runs the only pod of a workload. */
  async function runsOne(name: string, tolerations?: { readonly operator: string }[]) {
    const nodes = world.take(2)
    const { cluster, operation } = await world.create(nodes)
    expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
    const [first, worker] = nodes as [Server, Server]
    handOn(world.simulator.world, cluster.name)!.addWorkload({
      name,
      replicas: 1,
      minAvailable: 0,
      ...(tolerations && { tolerations }),
    })
    const nodeOfPod = () => {
      const { objects } = kubernetesOf(world.machine(first))!.state.kubernetes
      const pod = Object.values(objects)
        .map(({ body }) => body as { metadata?: { name?: string }; spec?: { nodeName?: string } })
        .find(({ metadata }) => metadata?.name === `${name}-0`)
      return Promise.resolve(pod?.spec?.nodeName)
    }
    await world.until(nodeOfPod, (node) => node === worker.name)
    return { cluster, first, worker }
  }
  const removalOf = ({ id }: Server) => ({ kind: 'shrink' as const, servers: [{ node_id: id }] })

  test(
    'a server that answers and whose kubelet is dead leaves without the pods that do not end',
    { timeout: 600_000 },
    async () => {
      const { cluster, first, worker } = await runsOne('shop')
      const machine = world.machine(worker)
      await addFault(machine, { kind: 'component-fails', component: 'kubelet' })
      machine.restartKubelet?.()
      await world.until(
        async () => machine.services.get('kubelet')?.state,
        (state) => state !== 'Running',
      )
      machine.lastHeartbeat -= 6 * 60_000
      const { id } = await world.change(cluster.id, removalOf(worker))
      await world.until(
        () => world.operation(id),
        ({ steps }) =>
          steps.some((s) => s.reason?.includes('the server leaves without them') === true),
      )
      // The wall clock stays, because the machines would refuse certificates of a later time.
      const { clock, platform } = world.backend
      clock.advance(6 * 60_000)
      clock.jump(-6 * 60_000)
      await platform.pool.query(
        `update operation_step set started_at = started_at - interval '6 minutes' where operation_id = $1 and status = 'waiting'`,
        [id],
      )
      const end = await world.ended(id)
      expect(end).toMatchObject({ status: 'done' })
      expect(end.steps.find((s) => s.key === `drain/${worker.id}`)).toMatchObject({
        status: 'skipped',
        reason: expect.stringMatching(
          /^The node is not Ready: .*\. Its pods do not end, and leave the cluster with the node$/,
        ) as string,
      })
      expect(world.nodeNames(first)).toEqual([first.name])
    },
  )

  test(
    'a pod that starts on the cordoned node again does not hold up its drain',
    { timeout: 600_000 },
    async () => {
      const { cluster, worker } = await runsOne('operator', [{ operator: 'Exists' }])
      const { id } = await world.change(cluster.id, removalOf(worker))
      const end = await world.ended(id)
      expect(end).toMatchObject({ status: 'done' })
      expect(end.steps.find((s) => s.key === `drain/${worker.id}`)).toMatchObject({
        status: 'done',
      })
    },
  )
})
