import { expect, test } from 'vitest'
import { sums, wordsShown } from './overview-sums.ts'

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

test('each word is counted once, the worst first, with the shape that lists show', () => {
  const words = [
    { word: 'Unreachable', severity: 'down' as const, count: 1 },
    { word: 'Ready', severity: 'attention' as const, count: 2 },
    { word: 'Ready', severity: null, count: 5 },
    { word: 'Installing', severity: null, count: 1 },
  ]
  expect(wordsShown(words, '/infra/clusters').map((w) => [w.word, w.tone, w.value])).toEqual([
    ['Unreachable', 'danger', 1],
    ['Ready', 'ok', 7],
    ['Installing', 'busy', 1],
  ])
})
