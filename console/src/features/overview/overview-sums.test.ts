import { expect, test } from 'vitest'
import { clusterStatuses } from '#contract/clusters/clusters.ts'
import { clusterGroups, sums } from './overview-sums.ts'

const amount = (total: number, used: number) => ({ total, in_clusters: used, free: total - used })
const site = (n: number) => ({
  datacenter: null,
  servers: n,
  compute_units: amount(n, 1),
  vcpu: amount(2 * n, 2),
  memory_bytes: amount(n, 0),
  disk_bytes: amount(n, n),
  unknown_servers: 1,
})

test('capacity is summed over all datacenters', () => {
  expect(sums([site(10), site(5)])).toMatchObject({
    compute_units: { total: 15, in_clusters: 2, free: 13 },
    disk_bytes: { free: 0 },
    unknown: 2,
  })
  expect(sums([])).toMatchObject({
    compute_units: { total: 0, in_clusters: 0, free: 0 },
    unknown: 0,
  })
})

test('every status of a cluster is in exactly one group', () => {
  for (const status of clusterStatuses)
    expect(clusterGroups({ [status]: 3 }).filter((g) => g.value === 3)).toHaveLength(1)
})

test('a number of clusters leads to the clusters that it counts', () => {
  const links = Object.fromEntries(clusterGroups({}).map(({ word, to }) => [word, to]))
  expect(links).toEqual({
    Ready: '/infra/clusters?status=ready',
    'Being created': '/infra/clusters?group=status',
    Degraded: '/infra/clusters?status=degraded',
    Failed: '/infra/clusters?status=failed',
    Deleting: '/infra/clusters?status=deleting',
  })
})
