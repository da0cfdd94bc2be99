import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { Overview } from './overview.ts'

const units = { total: 12, in_clusters: 0, free: 12 }
const overview = (disks: number) => ({
  attention: { total: 0, acknowledged: 0, silenced: 0, silenced_incidents: [], groups: [] },
  dials_nowhere: false,
  servers: {
    total: 1,
    maintenance: 1,
    ready: 0,
    reachable: 1,
    unreachable: 0,
    away: 0,
    unconfirmed: 0,
    in_clusters: 0,
    quarantined: 0,
    free: 0,
    by_word: [],
  },
  clusters: { total: 0, by_status: {}, by_word: [] },
  capacity: [
    {
      datacenter: null,
      servers: 1,
      compute_units: units,
      vcpu: units,
      memory_bytes: units,
      disk_bytes: { total: disks, in_clusters: 0, free: disks },
      unknown_servers: 0,
    },
  ],
  subnets: [],
  running: [],
  failures: [],
  last_day: null,
})

test('sums of disk sizes above 2^53 bytes are accepted', () => {
  expect(z.safeParse(Overview, overview(10_000 * 10 ** 15)).success).toBe(true)
  expect(z.safeParse(Overview, overview(-1)).success).toBe(false)
})
