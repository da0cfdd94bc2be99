/**
 * Every component that doesn't come back on the first control plane that joins, or while one leaves:
 * no second control plane is touched.
 */
import { describe, expect, test } from 'vitest'
import { hasEnded } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import { type Component, COMPONENTS as components } from '#simulator/src/fleet/faults.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { onEachMinor } from '../../clusters/testing/minors.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

onEachMinor(async (minor) => {
  /** A fault that names a part of the configuration ends a component that runs. */
  const faultOf = (component: Component) =>
    ({ kind: 'component-fails', component, config: 'machine:' }) as const

  const world = await clusterWorld({ minor, servers: 65, seed: 'gate-members' })
  const { ready } = upgradeWorld(world)

  describe('control planes that join and leave', () => {
    const controlPlanes = (nodes: readonly Server[]) =>
      nodes.map((n) => ({ node_id: n.id, role: 'control_plane' as const }))
    const appliesOf = (node: Server) => world.machine(node).disk.state.counters.applies
    const resetsOf = (node: Server) => world.machine(node).disk.state.counters.resets
    const isDead = (node: Server, component: Component): boolean => {
      const machine = world.machine(node)
      return component === 'etcd' || component === 'kubelet'
        ? !machine.services.isUp(component)
        : machine.staticPods.get(component)?.isCrashing === true
    }
    /** Waits until the component has ended and the change waits for its server. */
    const waitsFor = async (id: string, node: Server, component: Component) => {
      await world.until(
        () => Promise.resolve(isDead(node, component)),
        (is) => is,
      )
      return world.until(
        () => world.operation(id),
        (o) =>
          hasEnded(o) ||
          o.steps.some(
            ({ key, status, reason }) =>
              status === 'waiting' &&
              // A server whose kubelet fails hasn't joined yet, and that step's title names it.
              reason?.includes(key === `join/${node.id}` ? component : node.name) === true,
          ),
      )
    }

    test.each(components)('grow: %s', { timeout: 900_000 }, async (component) => {
      const { cluster } = await ready(1, {})
      const [first, second] = world.take(2) as [Server, Server]
      const servers = controlPlanes([first, second])
      if (component === 'kubelet') await addFault(world.machine(first), faultOf(component))
      const { id } = await world.change(cluster.id, { kind: 'grow', servers })
      // A component that never starts would stop the server in an earlier step.
      await world.until(
        () => world.operation(id),
        ({ steps }) => steps.some((s) => s.key === `join/${first.id}` && s.status !== 'todo'),
      )
      if (component !== 'kubelet') await addFault(world.machine(first), faultOf(component))
      expect(hasEnded(await waitsFor(id, first, component))).toBe(false)
      expect(appliesOf(second)).toBe(0)
      await clearFaults(world.machine(first))
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
    })

    test.each(components)('replace: %s', { timeout: 900_000 }, async (component) => {
      const { nodes, cluster } = await ready(4, {})
      const [by] = world.take(1) as [Server]
      const old = nodes[2]!
      if (component === 'kubelet') await addFault(world.machine(by), faultOf(component))
      const { id } = await world.change(cluster.id, {
        kind: 'replace',
        node_id: old.id,
        by: { node_id: by.id },
      })
      await world.until(
        () => world.operation(id),
        ({ steps }) => steps.some((s) => s.key === `join/${by.id}` && s.status !== 'todo'),
      )
      if (component !== 'kubelet') await addFault(world.machine(by), faultOf(component))
      expect(hasEnded(await waitsFor(id, by, component))).toBe(false)
      expect(resetsOf(old)).toBe(0)
      await clearFaults(world.machine(by))
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
    })

    // A kubelet that runs ends only with the next configuration or boot, which the others don't get.
    test.each(components.filter((one) => one !== 'kubelet'))(
      'shrink: %s',
      { timeout: 900_000 },
      async (component) => {
        const all = world.take(5)
        const { cluster, operation } = await world.create(all, {
          servers: controlPlanes(all),
        })
        expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
        const [ill, second, first] = [all[0]!, all[3]!, all[4]!]
        const { id } = await world.change(cluster.id, {
          kind: 'shrink',
          servers: [second, first].map((n) => ({ node_id: n.id })),
        })
        await world.until(
          () => world.operation(id),
          ({ steps }) => steps.some((s) => s.key === `release/${first.id}` && s.status !== 'todo'),
        )
        await addFault(world.machine(ill), faultOf(component))
        expect(hasEnded(await waitsFor(id, ill, component))).toBe(false)
        expect(resetsOf(second)).toBe(0)
        await clearFaults(world.machine(ill))
        expect(await world.ended(id)).toMatchObject({ status: 'done' })
      },
    )
  })
})
