/**
 * Kills the program with −9 while an act on many servers upgrades Talos in two clusters, or commits
 * their capacity.
 */
import { beforeAll, expect, test } from 'vitest'
import { type Cluster, clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { ccList } from '#contract/marketplace/ccs.ts'
import { operationList } from '#contract/operations.ts'
import { plannedItems, serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { startInstallation } from './testing/killing.ts'
import { ended, patiently } from './testing/world.ts'

const { site, call, killedAt } = await startInstallation({ servers: 4, seed: 'kill-bulk' })

// Each case upgrades both clusters to the next patch release.
const points = [
  ['after the upgrade of the first cluster was begun', 'bulk-begun:after', 'v1.13.6'],
  ['after an image was written', 'write-talos:after', 'v1.13.7'],
  ['before a restart', 'restart-talos:before', 'v1.13.8'],
  ['after a restart was requested', 'restart-talos:after', 'v1.13.9'],
] as const

let nodes: readonly Server[] = []
let clusters: readonly Cluster[] = []

beforeAll(async () => {
  nodes = await site.take(call, 4)
  const made = []
  for (const [i, name] of ['kill-many-a', 'kill-many-b'].entries()) {
    const [controlPlane, worker] = nodes.slice(2 * i, 2 * i + 2)
    made.push(
      await call(clusterCreate, {
        body: {
          name,
          datacenter_id: site.datacenterId,
          servers: [
            { node_id: controlPlane!.id, role: 'control_plane' },
            { node_id: worker!.id, role: 'worker' },
          ],
          talos_version: 'v1.13.5',
        },
      }),
    )
  }
  for (const { operation } of made) expect((await ended(call, operation.id)).status).toBe('done')
  clusters = made.map(({ cluster }) => cluster)
})

/** How often each server was started, and how often each cluster was upgraded. */
const counts = async () => {
  const { servers } = await site.simulator.counters()
  const boots = nodes.map(
    ({ identity }) => servers.find((s) => s.uuid.toLowerCase() === identity.uuid)!.boots,
  )
  const upgrades = await Promise.all(
    clusters.map(async ({ id: target }) => {
      const { items } = await patiently(() =>
        call(operationList, { query: { target, kind: 'clusterUpgradeTalos' } }),
      )
      expect(items.map((o) => o.status)).toEqual(items.map(() => 'done'))
      return items.length
    }),
  )
  return { boots, upgrades }
}

test.each(points)(
  'an upgrade of the servers of two clusters interrupted by kill −9 %s upgrades each server once, and has every result',
  async (_name, point, version) => {
    const before = await counts()
    const plan = await call(serverBulkPlan, {
      body: {
        act: { kind: 'upgrade', talos_version: version },
        node_ids: nodes.map(({ id }) => id),
      },
    })
    expect(plan).toMatchObject({ allowed: nodes.length, refused: 0 })
    const { operation } = await killedAt(point, () =>
      call(serverBulk, {
        body: { act: plan.act, items: plannedItems(plan) },
      }),
    )
    const end = await ended(call, operation.id, 150_000)
    expect({
      status: end.status,
      steps: end.steps.map(({ node_id, status, reason }) => [node_id, status, reason]),
    }).toEqual({ status: 'done', steps: plan.items.map(({ id }) => [id, 'done', null]) })
    for (const { id } of nodes)
      expect(await patiently(() => call(serverGet, { params: { id } }))).toMatchObject({
        operation_id: null,
        talos: { version },
      })
    for (const { id } of clusters)
      expect((await patiently(() => call(clusterGet, { params: { id } }))).talos_version).toBe(
        version,
      )
    expect(await counts()).toEqual({
      boots: before.boots.map((n) => n + 1),
      upgrades: before.upgrades.map((n) => n + 1),
    })
  },
)

test('a commitment of the capacity of several servers interrupted by kill −9 after the first commits each server once', async () => {
  const plan = await call(serverBulkPlan, {
    body: {
      act: {
        kind: 'commit',
        terms: {
          price: { amount: '1.25', currency: 'EUR', basis: 'server' },
          expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
        },
      },
      node_ids: nodes.map(({ id }) => id),
    },
  })
  const { operation } = await killedAt('bulk-begun:after', () =>
    call(serverBulk, { body: { act: plan.act, items: plannedItems(plan) } }),
  )
  const end = await ended(call, operation.id)
  expect(end.steps.map(({ node_id, status, reason }) => [node_id, status, reason])).toEqual(
    plan.items.map(({ id }) => [id, 'done', null]),
  )
  for (const { id: server } of nodes) {
    const { items } = await patiently(() => call(ccList, { query: { server } }))
    expect(items.map((cc) => cc.status)).toEqual(['waiting_delegation'])
  }
})
