/** A cluster of Talos 1.13 on its way to 1.14, and one that is created with it. */
import { describe, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { clusterHealth } from '#contract/clusters/health.ts'
import { operationCancel } from '#contract/operations.ts'
import { patchCreate } from '#contract/patches.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import type { Server } from '#contract/servers/servers.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { effectsOf } from '../../clusters/testing/effects.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

const world = await clusterWorld({
  servers: 4,
  special: { 3: { talos: 'v1.14.1' }, 4: { talos: 'v1.14.1' } },
})
const { admin } = world
const { holdAt } = effectsOf(world)
const { ready, plan, versions } = upgradeWorld(world)
const configOf = (node: Pick<Server, 'id'>): string => world.machine(node).disk.state.config ?? ''
const inDocuments = (node: Pick<Server, 'id'>): boolean =>
  configOf(node).includes('kind: KubeletConfig')
const checkOf = async (
  id: string,
  change: Parameters<typeof plan>[1],
  name: string,
): Promise<unknown> => (await plan(id, change)).checks.find((c) => c.check === name)
const noDrift = async (nodes: readonly Server[]) => {
  for (const { id } of nodes)
    expect((await admin.call(serverDrift, { params: { id } })).answer).toMatchObject({
      state: 'none',
    })
}

describe('a cluster of Talos 1.13', async () => {
  const { nodes, cluster } = await ready(2, {})
  const [controlPlane, worker] = nodes as [Server, Server]
  const { id } = cluster
  const patch = (name: string, body: string) => ({ name, weight: 500, labels: {}, body })
  const bootsOf = (node: Server): number => world.machine(node).disk.state.counters.boots
  const refusal = expect.stringContaining("can't read") as string
  /** Why a rollback is refused. */
  const rollBack = async (node: Server) => {
    const change = { kind: 'rollbackTalos' as const, node_id: node.id }
    return (await admin.call(clusterChange, { params: { id }, body: { change } })).problem
  }
  const run = async (change: Parameters<typeof world.change>[1]) =>
    expect(await world.ended((await world.change(id, change)).id)).toMatchObject({
      status: 'done',
      reason: null,
    })

  test('is not moved to documents before it runs Talos 1.14', async () => {
    expect(await checkOf(id, { kind: 'documents' }, 'versions')).toMatchObject({
      ok: false,
      message: expect.stringContaining('upgrade Talos first'),
      remedies: [{ change: 'upgradeTalos' }],
    })
  })

  test('is upgraded to Talos 1.14, and its configurations keep their form', async () => {
    await run({ kind: 'upgradeTalos', version: 'v1.14.1' })
    expect(versions(nodes)).toEqual(['v1.14.1', 'v1.14.1'])
    expect(nodes.map(inDocuments)).toEqual([false, false])
    await noDrift(nodes)
  })

  test('is moved to documents server by server, also after a cancel half way, and patches of both forms stay in effect', async () => {
    const labels = 'machine:\n  nodeLabels:\n    example.com/a: "1"\n'
    await run({ kind: 'configure', patches: [patch('labels', labels)] })
    const planned = await plan(id, { kind: 'documents' })
    expect(planned.checks.filter((c) => !c.ok)).toEqual([])
    expect(planned.groups.map((g) => [g.node_id, g.reboots])).toEqual([
      [worker.id, 'no'],
      [controlPlane.id, 'no'],
    ])
    expect(planned.differences.map((d) => d.diff).join('\n')).toContain(
      '+kind: KubeAPIServerConfig',
    )
    // Cancelled while the worker gets its configuration: the cluster is half way.
    const held = holdAt(`configure/${worker.id}`, 'before')
    const half = await world.change(id, { kind: 'documents' })
    await held.reached()
    await admin.call(operationCancel, { params: { id: half.id } })
    held.release()
    expect(await world.ended(half.id)).toMatchObject({ status: 'cancelled' })
    expect(nodes.map(inDocuments)).toEqual([false, true])
    await noDrift(nodes)
    expect(await rollBack(worker)).toMatchObject({ code: 'transition_refused', error: refusal })
    const moved = configOf(worker)
    const rest = await plan(id, { kind: 'documents' })
    expect(rest.groups.map((g) => g.node_id)).toEqual([controlPlane.id])
    await run({ kind: 'documents' })
    expect(nodes.map(inDocuments)).toEqual([true, true])
    expect(configOf(worker)).toBe(moved)
    for (const node of nodes) expect(configOf(node)).toMatch(/example\.com\/a: "1"/)
    await noDrift(nodes)
    const later = 'apiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels:\n  example.com/b: "2"\n'
    await run({ kind: 'configure', patches: [patch('more', later)] })
    for (const node of nodes) expect(configOf(node)).toMatch(/example\.com\/b: "2"/)
    await noDrift(nodes)
  })

  test('is not rolled back to a Talos that can not read its documents', async () => {
    const boots = nodes.map(bootsOf)
    for (const node of nodes)
      expect(await rollBack(node)).toMatchObject({ code: 'transition_refused', error: refusal })
    expect(nodes.map(bootsOf)).toEqual(boots)
  })

  longTest(
    'is restarted by Steelyard, server by server, for a change that Talos 1.14 reads only when it boots',
    async () => {
      const body =
        'machine:\n  files:\n    - path: /var/etc/app.conf\n      op: create\n      permissions: 0o644\n      content: "1"\n'
      const change = { kind: 'configure' as const, patches: [patch('file', body)] }
      const planned = await plan(id, change)
      expect(planned.groups.map((g) => [g.node_id, g.reboots, g.drains])).toEqual([
        [worker.id, 'yes', true],
        [controlPlane.id, 'yes', true],
      ])
      // The answer to the restart is lost, and the server restarts nevertheless.
      await addFault(world.machine(worker), { kind: 'lost-reply', method: 'Reboot', times: 1 })
      const before = nodes.map(bootsOf)
      const restarted: string[] = []
      const timer = setInterval(() => {
        for (const [i, node] of nodes.entries())
          if (bootsOf(node) > before[i]! && !restarted.includes(node.id)) {
            // The server before is up again.
            for (const one of restarted)
              if (world.machine({ id: one }).stage.stage !== 'running')
                restarted.push(`${one} away`)
            restarted.push(node.id)
          }
      }, 3)
      await run(change)
      clearInterval(timer)
      expect(restarted).toEqual([worker.id, controlPlane.id])
      expect(nodes.map(bootsOf)).toEqual(before.map((n) => n + 1))
      for (const node of nodes) expect(configOf(node)).toContain('/var/etc/app.conf')
      await noDrift(nodes)
    },
  )

  longTest(
    'is restarted by Steelyard for a patch of one server that Talos 1.14 reads only when it boots',
    async () => {
      const before = nodes.map(bootsOf)
      const body =
        'machine:\n  files:\n    - path: /var/etc/other.conf\n      op: create\n      permissions: 0o644\n      content: "2"\n'
      const made = await admin.call(patchCreate, {
        params: { id: worker.id },
        body: patch('other', body),
      })
      expect(made.status).toBe(201)
      await world.until(
        () => Promise.resolve(nodes.map(bootsOf)),
        ([, own]) => own === before[1]! + 1,
      )
      await world.until(
        () => world.server(worker.id),
        (s) => s.talos.stage === 'running' && s.kubernetes?.ready === true,
      )
      expect(configOf(worker)).toContain('/var/etc/other.conf')
      expect(nodes.map(bootsOf)).toEqual([before[0], before[1]! + 1])
      await noDrift(nodes)
    },
  )

  longTest('is upgraded to Kubernetes 1.37 in its documents', async () => {
    await run({ kind: 'upgradeKubernetes', version: '1.37.2' })
    expect(await world.cluster(id)).toMatchObject({
      talos_version: 'v1.14.1',
      kubernetes_version: '1.37.2',
    })
    for (const node of nodes) expect(configOf(node)).toContain('kubelet:v1.37.2')
    await noDrift(nodes)
  })

  longTest('gives a server that joins later the documents as well', async () => {
    const [joining] = world.take(1)
    await run({ kind: 'grow', servers: [{ node_id: joining!.id, role: 'worker' }] })
    expect(inDocuments(joining!)).toBe(true)
    await noDrift([joining!])
    const health = await admin.call(clusterHealth, { params: { id } })
    expect(health.answer!.lines.find((l) => l.topic === 'configuration')).toMatchObject({
      state: 'ok',
    })
  })
})

test('a cluster is created with Talos 1.14 and Kubernetes 1.37, in documents', async () => {
  const nodes = world.take(1)
  const { cluster, operation } = await world.create(nodes, {
    talos_version: 'v1.14.1',
    kubernetes_version: '1.37.2',
  })
  expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
  expect(versions(nodes)).toEqual(['v1.14.1'])
  expect(inDocuments(nodes[0]!)).toBe(true)
  expect((await world.recovered(cluster.id)).status).toBe('ready')
  await noDrift(nodes)
})
