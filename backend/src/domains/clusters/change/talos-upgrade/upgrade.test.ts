import { describe, expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import type { Server } from '#contract/servers/servers.ts'
import { clusterWorld } from '../../testing/world.ts'

const world = await clusterWorld({ servers: 12 })
const { admin } = world

const ready = async (count: number, asked: Parameters<typeof world.create>[1] = { talos_version: 'v1.13.8' }) => {
  const nodes = world.take(count)
  const { cluster, operation } = await world.create(nodes, asked)
  expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
  return { nodes, cluster }
}
const plan = async (clusterId: string, change: Parameters<typeof world.change>[1]) => {
  const called = await admin.call(clusterPlan, { params: { id: clusterId }, body: { change } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const versions = (nodes: readonly Server[]) => nodes.map((n) => world.machine(n).talosVersion)

/** Looks at the machines all the time: in which order they run the version, how many are away at once, and whether etcd ever lost its quorum. */
function watch(clusterName: string, nodes: readonly Server[], version: string) {
  const etcd = world.simulator.world.etcd.all.find((e) => e.state.name === clusterName)!
  const seen = { order: [] as string[], mostAway: 0, quorumLost: 0 }
  const timer = setInterval(() => {
    const away = nodes.filter((n) => world.machine(n).stage.stage !== 'running')
    seen.mostAway = Math.max(seen.mostAway, away.length)
    if (!etcd.hasQuorum) seen.quorumLost++
    for (const n of nodes) if (world.machine(n).talosVersion === version && !seen.order.includes(n.name)) seen.order.push(n.name)
  }, 3)
  return { seen, stop: () => clearInterval(timer) }
}

describe('a cluster of three control planes and two workers', async () => {
  const { nodes, cluster } = await ready(5)
  const change = { kind: 'upgradeTalos' as const, version: 'v1.13.9' }

  test('an upgrade to a version whose image does not exist is refused before anything moves', async () => {
    const wrong = { ...change, version: 'v1.13.77' }
    expect((await plan(cluster.id, wrong)).checks).toContainEqual({ check: 'image', ok: false, message: 'The image factory does not build Talos v1.13.77' })
    const called = await admin.call(clusterChange, { params: { id: cluster.id }, body: { change: wrong } })
    expect(called.problem).toMatchObject({ code: 'transition_refused' })
    expect(versions(nodes)).toEqual(Array.from({ length: 5 }, () => 'v1.13.8'))
  })

  test.each([
    ['v1.12.11', "Talos v1.13.8 can't become v1.12.11: Talos does not go back to an older minor"],
    ['v1.15.0', 'Talos v1.15.0 is not supported; choose 1.12 or 1.13'],
    ['v1.13.8', 'Every server runs Talos v1.13.8 already'],
  ])('an upgrade to %s is refused', async (version, message) => {
    expect((await plan(cluster.id, { ...change, version })).checks.find((c) => c.check === 'path')).toEqual({
      check: 'path',
      ok: false,
      message: expect.stringContaining(message),
    })
  })

  test('the plan drains and restarts the canary, then the other worker, then the control planes, and changes nothing', async () => {
    const [canary] = nodes.slice(1)
    const planned = await plan(cluster.id, { ...change, canary: canary!.id })
    expect(planned.checks.filter((c) => !c.ok)).toEqual([])
    expect(planned.warnings[0]).toContain(`${canary!.name} is the first`)
    const servers = planned.groups.filter((g) => g.node_id !== null)
    expect(servers.map((g) => g.name)).toEqual([canary!.name, nodes[3]!.name, nodes[4]!.name, expect.any(String), expect.any(String)])
    expect(servers.every((g) => g.drains && g.reboots === 'yes')).toBe(true)
    expect(servers[0]!.steps.map((s) => s.key.split('/')[0])).toEqual(['write', 'drain', 'upgrade', 'etcd-healthy', 'node-ready', 'follow', 'uncordon'])
  })

  test(
    'each server is upgraded alone, workers first and the leader last; etcd keeps its quorum; versions, images and drift follow',
    { timeout: 120_000 },
    async () => {
      const order = (await plan(cluster.id, change)).groups.flatMap((g) => g.name ?? [])
      const watching = watch(cluster.name, nodes, 'v1.13.9')
      const { id } = await world.change(cluster.id, change)
      const ended = await world.ended(id, 100_000)
      watching.stop()
      expect(ended).toMatchObject({ status: 'done', reason: null })
      expect(watching.seen).toMatchObject({ order, quorumLost: 0 })
      expect(order.slice(0, 2).toSorted()).toEqual([nodes[3]!.name, nodes[4]!.name].toSorted())
      expect((await world.cluster(cluster.id)).talos_version).toBe('v1.13.9')
      for (const node of nodes) {
        const server = await world.server(node.id)
        expect(server).toMatchObject({ operation_id: null, talos: { version: 'v1.13.9' } })
        expect(world.machine(node).disk.state.config).toContain(`:v1.13.9`)
        expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({ state: 'none' })
      }
    },
  )
})
