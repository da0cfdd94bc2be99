import { expect, test } from 'vitest'
import { busy, figuresOf } from './figures.ts'
import { momentOf, silencesOf } from './incidents.ts'
import { pastOf } from './past.ts'

const now = Date.parse('2026-11-27T12:00:00Z')
const nodes = (prefix: string, n: number) =>
  Array.from({ length: n }, (_, i) => ({ id: `${prefix}-${i}`, name: `${prefix}-${i}` }))
const clusters = [
  { id: 'a', name: 'a', talos_version: 'v1.14.1', kubernetes_version: 'v1.36.2' },
  { id: 'b', name: 'b', talos_version: 'v1.13.0', kubernetes_version: '1.35.0' },
].map((cluster, i) => ({ ...cluster, nodes: nodes(cluster.id, 4 - i) }))
const present = {
  in_clusters: 7,
  free: 13,
  not_well: 0,
  servers: 20,
  units_in_clusters: 300,
  units_free: 500,
  units_committed: null,
  units_uncommitted: null,
}

test('the simulated past ends before now, and an installation without clusters has none', () => {
  const past = pastOf(clusters, now)
  expect(past.every(({ at }) => at.getTime() < now)).toBe(true)
  expect(pastOf([], now)).toEqual([])
  // A version that is the first of its minor was not upgraded to.
  const versions = past.filter((e) => e.kind === 'cluster_version')
  expect(versions.map((e) => [e.object.name, e.before, e.after])).toEqual([
    ['a', { talos_version: 'v1.14.0' }, { talos_version: 'v1.14.1' }],
    ['a', { kubernetes_version: 'v1.36.1' }, { kubernetes_version: 'v1.36.2' }],
  ])
})

test('people are busier by day than at night, and on weekdays than at weekends', () => {
  const [noon, night] = [Date.parse('2026-11-26T13:00:00Z'), Date.parse('2026-11-26T02:00:00Z')]
  const sunday = Date.parse('2026-11-29T13:00:00Z')
  expect(busy(noon)).toBeGreaterThan(3 * busy(night))
  expect(busy(noon)).toBeGreaterThan(busy(sunday))
})

test('figures agree with the history: a silent server has none, and is missing in its cluster', () => {
  const objects = figuresOf(clusters, present, now)
  const [silence] = silencesOf(clusters, now)
  const { node, cluster, from } = silence!
  const at = (id: string, ms: number) =>
    objects.find((one) => one.kind !== 'capacity' && one.id === id)!.at(ms) as Record<
      string,
      number
    >
  expect(at(node.id, from)).toEqual({})
  expect(at(node.id, from - 60_000)['cpu']).toBeGreaterThan(0)
  expect([at(cluster.id, from)['nodes'], at(cluster.id, from)['nodes_ready']]).toEqual([4, 3])
  const capacity = objects.find((one) => one.kind === 'capacity')!
  expect(capacity.at(momentOf(now, 1, 12))).toMatchObject({
    in_clusters: 7,
    free: 13,
    servers: 20,
    units_in_clusters: 300,
    units_free: 500,
  })
  expect(capacity.at(momentOf(now, 25, 12))).toMatchObject({ units_in_clusters: 150 })
})
