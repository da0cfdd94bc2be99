import { describe, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { type Operation, operationCancel } from '#contract/operations.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import type { Server } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { upgradeWorld } from './testing.ts'

const world = await clusterWorld({ servers: 4 })
const { admin } = world
const { ready, plan, versions, upgrades, cordoned, watch, lookForDrift } = upgradeWorld(world)

describe('a cluster of three control planes and a worker', async () => {
  const { nodes, cluster } = await ready(4)
  const change = { kind: 'upgradeTalos' as const, version: 'v1.13.9' }
  const waitsFor = (one: Server, other: Server) =>
    `${one.name} is changed as soon as the other control planes are well. ${other.name} does not answer: `
  const step = (id: string, key: string, is: (one: Operation['steps'][number]) => boolean) =>
    world.until(
      () => world.operation(id),
      (o) => o.steps.some((s) => s.key === key && is(s)),
    )

  test('an upgrade to a version whose image does not exist is refused before anything changes', async () => {
    const wrong = { ...change, version: 'v1.13.77' }
    expect((await plan(cluster.id, wrong)).checks).toContainEqual({
      check: 'image',
      ok: false,
      message: 'The image factory does not build Talos v1.13.77',
    })
    const called = await admin.call(clusterChange, {
      params: { id: cluster.id },
      body: { change: wrong },
    })
    expect(called.problem).toMatchObject({ code: 'transition_refused' })
    expect(versions(nodes)).toEqual(Array.from({ length: 4 }, () => 'v1.13.8'))
  })

  test.each([
    [
      'v1.12.11',
      "Talos v1.13.8 can't become v1.12.11: Talos does not go back to an older minor; Talos 1.12 runs Kubernetes 1.30 to 1.35, not 1.36.3",
    ],
    ['v1.15.0', 'Talos v1.15.0 is not supported; choose 1.12, 1.13 or 1.14'],
    ['v1.13.8', 'Every server runs Talos v1.13.8 already'],
  ])('an upgrade to %s is refused', async (version, message) => {
    expect(
      (await plan(cluster.id, { ...change, version })).checks.find((c) => c.check === 'path'),
    ).toEqual({
      check: 'path',
      ok: false,
      message,
    })
  })

  test('the plan drains and restarts the canary, then the worker, then the control planes, and changes nothing', async () => {
    const [canary] = nodes.slice(1)
    const planned = await plan(cluster.id, { ...change, canary: canary!.id })
    expect(planned.checks.filter((c) => !c.ok)).toEqual([])
    expect(planned.warnings[0]).toContain(`${canary!.name} is the first`)
    const servers = planned.groups.filter((g) => g.node_id !== null)
    expect(servers.map((g) => g.name)).toEqual([
      canary!.name,
      nodes[3]!.name,
      expect.any(String),
      expect.any(String),
    ])
    expect(servers.every((g) => g.drains && g.reboots === 'yes')).toBe(true)
    expect(servers[0]!.steps.map((s) => s.key.split('/')[0])).toEqual([
      'write',
      'drain',
      'upgrade',
      'etcd-healthy',
      'node-ready',
      'follow',
      'control-plane',
      'uncordon',
    ])
  })

  test(
    'a cancel ends an upgrade at once while other control planes forbid the restart',
    { timeout: 600_000 },
    async () => {
      const [first, second] = nodes as [Server, Server]
      const staged = { ...change, stage: true, canary: first.id }
      const { id } = await world.change(cluster.id, staged)
      await step(id, 'image', (s) => s.status === 'done')
      await addFault(world.machine(second), { kind: 'refuse', port: 'apid' })
      await step(
        id,
        `upgrade/${first.id}`,
        (s) => s.reason?.startsWith(waitsFor(first, second)) === true,
      )
      expect(cordoned(first)).toEqual([first.name])
      await admin.call(operationCancel, { params: { id } })
      expect(await world.ended(id)).toMatchObject({ status: 'cancelled' })
      await clearFaults(world.machine(second))
      expect(cordoned(first)).toEqual([])
      expect(versions(nodes)).toEqual(Array.from({ length: 4 }, () => 'v1.13.8'))
      await world.recovered(cluster.id)
    },
  )

  test(
    'servers are upgraded one at a time, workers first and the leader last; etcd keeps its quorum, versions and images are recorded, and nothing counts as changed by others',
    { timeout: 600_000 },
    async () => {
      const order = (await plan(cluster.id, change)).groups.flatMap((g) => g.name ?? [])
      const watching = watch(cluster.name, nodes, 'v1.13.9')
      const looking = lookForDrift(nodes)
      const { id: begun } = await world.change(cluster.id, change)
      const [first, last] = [order[1], order[3]].map((name) => nodes.find((n) => n.name === name)!)
      // A member of etcd that goes off meanwhile is waited for before a control plane restarts.
      await step(begun, 'image', (s) => s.status === 'done')
      await addFault(world.machine(last!), { kind: 'refuse', port: 'apid' })
      await step(
        begun,
        `upgrade/${first!.id}`,
        (s) => s.reason?.startsWith(waitsFor(first!, last!)) === true,
      )
      expect(upgrades([first!, last!])).toEqual([1, 0])
      expect(versions([first!])).toEqual(['v1.13.8'])
      // Another one goes off while it boots: it gets its configuration afterwards, and a cancel
      // doesn't wait for that.
      await addFault(world.machine(first!), { kind: 'refuse', port: 'apid', stage: 'booting' })
      await clearFaults(world.machine(last!))
      await step(
        begun,
        `upgrade/${first!.id}`,
        (s) => s.reason?.startsWith(`${first!.name} does not answer: `) === true,
      )
      await world.until(
        async () => world.machine(first!).talosVersion,
        (version) => version === 'v1.13.9',
      )
      await addFault(world.machine(last!), {
        kind: 'component-fails',
        component: 'kube-scheduler',
        config: 'machine:',
      })
      await world.until(
        async () => world.machine(last!).staticPods.get('kube-scheduler')?.isCrashing,
        (is) => is === true,
      )
      await clearFaults(world.machine(first!))
      await step(
        begun,
        `follow/${first!.id}`,
        (s) =>
          s.reason?.startsWith(
            `${first!.name} is changed as soon as the other control planes are well. kube-scheduler of ${last!.name} `,
          ) === true,
      )
      await admin.call(operationCancel, { params: { id: begun } })
      expect(await world.ended(begun)).toMatchObject({ status: 'cancelled' })
      await clearFaults(world.machine(last!))
      await world.recovered(cluster.id)
      const { id } = await world.change(cluster.id, change)
      const ended = await world.ended(id)
      watching.stop()
      expect(await looking.stop()).toEqual([])
      expect(ended).toMatchObject({ status: 'done', reason: null })
      expect(watching.seen).toEqual({ order, mostAway: 1, quorumLost: 0 })
      expect(upgrades(nodes)).toEqual([1, 1, 1, 1])
      expect(cordoned(nodes[0]!)).toEqual([])
      expect(order[0]).toBe(nodes[3]!.name)
      expect((await world.cluster(cluster.id)).talos_version).toBe('v1.13.9')
      for (const node of nodes) {
        const server = await world.server(node.id)
        expect(server).toMatchObject({ operation_id: null, talos: { version: 'v1.13.9' } })
        expect(world.machine(node).disk.state.config).toContain(`:v1.13.9`)
        expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({
          state: 'none',
        })
      }
    },
  )
})
