import { describe, expect, test } from 'vitest'
import { clusterDelete, clusterGet, clusterKubeconfig } from '#contract/clusters/clusters.ts'
import { operationCancel } from '#contract/operations.ts'
import { serverConfirm, serverRemove } from '#contract/servers/servers.ts'
import type { Server } from '#contract/servers/servers.ts'
import { templatePlan } from '#contract/templates/templates.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests, spread } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { claimNow, isQuiet } from '../../../testing/engine.ts'
import { clusterQueue } from '../parts.ts'
import { clusterWorld } from '../testing/world.ts'

const world = await clusterWorld({ servers: longTests ? 28 : 9 })
const { admin } = world

const expectFree = async (nodes: readonly Server[]) => {
  for (const { id } of nodes)
    expect(await world.server(id)).toMatchObject({
      status: 'maintenance',
      type: 'unknown',
      cluster: null,
      operation_id: null,
    })
}
const ready = async (nodes: readonly Server[]) => {
  const { cluster, operation } = await world.create(nodes)
  expect((await world.ended(operation.id)).status).toBe('done')
  return cluster
}

describe.concurrent('leaving a cluster', () => {
  test(
    'deleting a cluster resets its worker, then its control planes one by one; all servers end in maintenance',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(4)
      const cluster = await ready(nodes)
      const deleted = await admin.call(clusterDelete, { params: { id: cluster.id } })
      expect(deleted.status).toBe(202)
      expect(
        (await admin.call(clusterDelete, { params: { id: cluster.id } })).problem,
      ).toMatchObject({ code: 'operation_running' })
      const leaving = (await admin.call(clusterGet, { params: { id: cluster.id } })).answer
      // The cluster keeps its servers until they are in maintenance again. Workers leave first.
      expect(leaving).toMatchObject({
        status: 'deleting',
        reason: expect.stringMatching(/^Waiting for .+ to be back in maintenance$/) as string,
        control_planes: 3,
      })
      const end = await world.ended(deleted.answer!.operation.id)
      expect(end).toMatchObject({ status: 'done', reason: null, kind: 'clusterDelete' })
      expect((await admin.call(clusterGet, { params: { id: cluster.id } })).status).toBe(404)
      await expectFree(nodes)
      const endOf = (n: Server) =>
        Date.parse(end.steps.find((s) => s.key === `release/${n.id}`)!.ended_at!)
      const [a, b, c, worker] = nodes.map(endOf) as [number, number, number, number]
      expect(worker).toBeLessThanOrEqual(Math.min(a, b, c))
      expect([c, b, a]).toEqual([a, b, c].toSorted((x, y) => x - y))
      for (const node of nodes) {
        expect(world.machine(node).stage.stage).toBe('maintenance')
        expect((await world.server(node.id)).talos.stage).toBe('maintenance')
        expect(world.machine(node).disk.state.counters.resets).toBe(1)
      }
      // A new cluster is created on one of the machines, whose disk has Talos already.
      for (const node of nodes.slice(0, 1)) {
        const server = await world.until(
          () => world.server(node.id),
          (s) => s.talos.stage === 'maintenance' && s.talos.reachable === true,
        )
        await admin.call(serverConfirm, {
          params: { id: node.id },
          body: { uuid: server.identity.uuid!, serial: server.identity.serial! },
        })
      }
      const fit = await world.until(
        () => world.server(nodes[0]!.id),
        // The contacts read what is installed when they find it in maintenance, if not before.
        (s) => s.talos.installed !== null && s.eligibility.every((check) => check.ok),
      )
      // It keeps that Talos, so it is not chosen for another image.
      const reasonsWith = async (extensions: string[]) =>
        (
          await admin.call(templatePlan, {
            body: {
              datacenter_id: fit.datacenter!.id,
              clusters: [{ name: 'other' }],
              template: { name: 'other', talos_version: 'v1.13.9', extensions },
            },
          })
        ).answer!.left.flatMap(({ reason, servers }) =>
          servers.some(({ id }) => id === fit.id) ? [reason] : [],
        )
      const kept = 'Talos is installed with another image, and is kept'
      expect(await reasonsWith(['siderolabs/gvisor'])).toEqual([kept])
      expect(await reasonsWith([])).not.toContain(kept)
      const again = await world.create([fit])
      const made = await world.ended(again.operation.id)
      expect(made.status).toBe('done')
      expect(made.steps.find((s) => s.key === `install/${fit.id}`)).toMatchObject({
        status: 'skipped',
        reason: 'Talos is already installed',
      })
      expect(world.machine(fit).disk.state.counters.installs).toBe(1)
    },
  )

  test(
    'after a forced deletion was requested, no server is contacted, even before the deletion begins; the servers that were not wiped are listed',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      const { engine } = world.backend.platform
      // The test claims the cluster in the queue but doesn't reconcile it, as if the reconciler
      // were busy with other clusters.
      const held = (await world.until(
        () => claimNow(engine, clusterQueue, cluster.id),
        (taken) => taken !== undefined,
      ))!
      const deleted = await admin.call(clusterDelete, {
        params: { id: cluster.id },
        query: { force: 'true' },
      })
      await world.until(
        () => isQuiet(engine.db, new Date(world.backend.clock.now()), cluster.id),
        (quiet) => quiet,
      )
      expect((await world.operation(deleted.answer!.operation.id)).steps).toMatchObject([
        { key: 'forget', status: 'todo' },
      ])
      await engine.run(held, new AbortController().signal)
      expect((await world.ended(deleted.answer!.operation.id)).steps).toMatchObject([
        { key: 'forget', status: 'done', reason: expect.stringContaining(nodes[1]!.name) },
      ])
      for (const node of nodes) {
        expect(world.machine(node).disk.state.counters.resets).toBe(0)
        expect(world.machine(node).stage.stage).toBe('running')
        expect((await world.server(node.id)).cluster).toBeNull()
      }
    },
  )

  longTest(
    'if a creation is cancelled before anything was sent to its servers, the servers become free at once',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      for (const node of nodes) await addFault(world.machine(node), { kind: 'refuse' })
      const { cluster, operation } = await world.create(nodes)
      await world.until(
        () => world.operation(operation.id),
        (o) => o.steps.some((s) => s.key.startsWith('apply/') && s.status === 'waiting'),
      )
      expect(
        (await admin.call(clusterDelete, { params: { id: cluster.id } })).problem,
      ).toMatchObject({ code: 'operation_running' })
      await admin.call(operationCancel, { params: { id: operation.id } })
      expect((await world.ended(operation.id)).status).toBe('cancelled')
      await expectFree(nodes)
      for (const node of nodes) {
        expect(world.machine(node).disk.state.counters.applies).toBe(0)
        await clearFaults(world.machine(node))
      }
    },
  )

  test.each(spread([0, 0.1, 0.2, 0.35, 0.5, 0.7], 1))(
    'if a creation is cancelled after the fraction %f of its steps, every server becomes free and is in maintenance',
    { timeout: 600_000 },
    async (share) => {
      const nodes = world.take(3)
      const { cluster, operation } = await world.create(nodes)
      await world.until(
        () => world.operation(operation.id),
        ({ steps }) =>
          steps.filter(({ status }) => status === 'done').length >=
          Math.floor(share * steps.length),
      )
      const asked = await admin.call(operationCancel, { params: { id: operation.id } })
      expect(asked.status).toBe(200)
      expect((await world.ended(operation.id)).status).toBe('cancelled')
      await expectFree(nodes)
      for (const node of nodes)
        await world.until(
          async () => world.machine(node).stage.stage,
          (stage) => stage === 'maintenance',
        )
      expect((await admin.call(clusterGet, { params: { id: cluster.id } })).status).toBe(404)
      expect(world.etcds(cluster.name)).toBeLessThanOrEqual(1)
    },
  )

  longTest(
    'a ready cluster that loses a server is degraded with the reason, and becomes ready again when the server is back',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      expect(await world.server(nodes[1]!.id)).toMatchObject({
        status: 'ready',
        kubernetes: { ready: true, reason: null },
      })
      await world.machine(nodes[1]!).lifecycle.powerOff()
      const degraded = await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'degraded',
      )
      expect(degraded.reason).toContain(nodes[1]!.name)
      // The server's status also depends on Kubernetes: if its node is dead, the server is not
      // Ready.
      expect(await world.server(nodes[1]!.id)).toMatchObject({
        status: 'ready',
        kubernetes: { ready: false, reason: expect.stringContaining('NodeStatusUnknown') },
      })
      expect(await world.server(nodes[0]!.id)).toMatchObject({
        kubernetes: { ready: true, reason: null },
      })
      expect((await admin.call(clusterKubeconfig, { params: { id: cluster.id } })).status).toBe(200)
      world.machine(nodes[1]!).lifecycle.powerOn()
      expect(
        await world.until(
          () => world.judged(cluster.id),
          (c) => c.status === 'ready',
        ),
      ).toMatchObject({ reason: null })
      expect(await world.server(nodes[1]!.id)).toMatchObject({
        kubernetes: { ready: true, reason: null },
      })
      // Now no control plane answers.
      await world.machine(nodes[0]!).lifecycle.powerOff()
      const silent = await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'degraded' && /Kubernetes API does not answer/.test(c.reason ?? ''),
      )
      expect(await world.server(nodes[1]!.id)).toMatchObject({
        kubernetes: { ready: null, reason: silent.reason },
      })
      expect((await admin.call(serverRemove, { params: { id: nodes[0]!.id } })).status).toBe(409)
    },
  )
})
