/** A cluster of eight servers like another one, spread over the racks of its datacenter. */
import { expect, test } from 'vitest'
import { clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { rackCreate, serverPlace } from '#contract/racks/racks.ts'
import { clusterTemplate, templateCreate, templatePlan } from '#contract/templates/templates.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const racks = ['R1', 'R2', 'R3', 'R4', 'R5']

test('"3 + 5 like shop-01, spread over racks" becomes a cluster on servers of all five racks', async () => {
  const world = await clusterWorld({ servers: 23, seed: 'spread' })
  const { admin, datacenterId: datacenter_id } = world
  const ids: string[] = []
  for (const name of racks)
    ids.push((await admin.call(rackCreate, { body: { datacenter_id, name } })).answer!.id)
  // The first eight servers, those of shop-01, stand in no rack.
  for (const [i, node] of world.nodes.slice(8).entries()) {
    const body = { rack_id: ids[i % racks.length]!, unit: 1 + Math.floor(i / racks.length) }
    expect((await admin.call(serverPlace, { params: { id: node.id }, body })).status).toBe(200)
  }
  const shop = await world.create(world.take(8), { name: 'shop-01' })
  expect(await world.ended(shop.operation.id)).toMatchObject({ status: 'done' })

  const like = await admin.call(clusterTemplate, { params: { id: shop.cluster.id } })
  expect(like.answer).toMatchObject({
    template: { control_planes: { count: 3 }, workers: { count: 5 }, spread_over_racks: true },
  })
  const saved = await admin.call(templateCreate, {
    body: { ...like.answer!.template, name: 'shop' },
  })
  const { answer } = await admin.call(templatePlan, {
    body: { datacenter_id, template_id: saved.answer!.id, clusters: [{ name: 'shop-02' }] },
  })
  expect(answer).toMatchObject({ refusals: [] })
  const planned = answer!.clusters![0]!
  const racksOf = (role: string) =>
    planned.servers.filter((s) => s.role === role).map(({ rack }) => rack!)
  expect(new Set(racksOf('control_plane')).size).toBe(3)
  expect(racksOf('worker').toSorted()).toEqual(racks)
  for (const { reasons } of planned.servers) expect(reasons.join()).toMatch(/rack R\d/)

  const created = await admin.call(clusterCreate, { body: planned.body })
  expect(created.problem).toBeUndefined()
  expect(await world.ended(created.answer!.operation.id)).toMatchObject({ status: 'done' })
  const { answer: made } = await admin.call(clusterGet, {
    params: { id: created.answer!.cluster.id },
  })
  expect(made).toMatchObject({ status: 'ready', control_planes: 3, workers: 5 })
  expect(world.etcds('shop-02')).toBe(1)
  const first = new Set(shop.cluster.servers.map((s) => s.node_id))
  expect(made!.servers.filter((s) => first.has(s.node_id))).toEqual([])
}, 600_000)
