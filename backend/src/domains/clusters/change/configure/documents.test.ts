/** A cluster of Talos 1.13 on its way to 1.14, and one that is created with it. */
import { describe, expect, test } from 'vitest'
import { clusterHealth } from '#contract/clusters/health.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import type { Server } from '#contract/servers/servers.ts'
import { clusterWorld } from '../../testing/world.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

const world = await clusterWorld({
  servers: 4,
  special: { 3: { talos: 'v1.14.1' }, 4: { talos: 'v1.14.1' } },
})
const { admin } = world
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

  test('is upgraded to Talos 1.14 and Kubernetes 1.37, and its configurations keep their form', async () => {
    await run({ kind: 'upgradeTalos', version: 'v1.14.1' })
    expect(versions(nodes)).toEqual(['v1.14.1', 'v1.14.1'])
    await run({ kind: 'upgradeKubernetes', version: '1.37.2' })
    expect(await world.cluster(id)).toMatchObject({
      talos_version: 'v1.14.1',
      kubernetes_version: '1.37.2',
    })
    expect(nodes.map(inDocuments)).toEqual([false, false])
    await noDrift(nodes)
  })

  test('is moved to documents server by server, and patches of both forms stay in effect', async () => {
    const patch = (name: string, body: string) => ({ name, weight: 500, labels: {}, body })
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
    await run({ kind: 'documents' })
    expect(nodes.map(inDocuments)).toEqual([true, true])
    for (const node of nodes) expect(configOf(node)).toMatch(/example\.com\/a: "1"/)
    await noDrift(nodes)
    const later = 'apiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels:\n  example.com/b: "2"\n'
    await run({ kind: 'configure', patches: [patch('more', later)] })
    for (const node of nodes) expect(configOf(node)).toMatch(/example\.com\/b: "2"/)
    await noDrift(nodes)
  })

  test('is not rolled back to a Talos that can not read its documents', async () => {
    expect(
      await checkOf(id, { kind: 'rollbackTalos', node_id: worker.id }, 'documents'),
    ).toMatchObject({ ok: false, message: expect.stringContaining("can't read") })
  })

  test('gives a server that joins later the documents as well', async () => {
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
  expect((await world.cluster(cluster.id)).status).toBe('ready')
  await noDrift(nodes)
})
