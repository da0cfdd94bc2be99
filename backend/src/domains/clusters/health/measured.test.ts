import { expect, test } from 'vitest'
import { measuredOf } from './measured.ts'

const etcd = (size: number, statusMs: number) => ({
  status: { sizeBytes: size, inUseBytes: size / 2 },
  statusMs,
})

test('a cluster is measured by its slowest machine that answers and its largest member', () => {
  const asked = {
    etcd: [etcd(100, 4), etcd(300, 2), { status: null, statusMs: null }],
    apiServers: [{ ms: 3 }, { ms: null }, { ms: 12 }],
  }
  expect(measuredOf(asked, [true, false, null])).toEqual({
    api_seconds: 0.012,
    etcd_seconds: 0.004,
    etcd_bytes: 300,
    etcd_in_use_bytes: 150,
    nodes_ready: 1,
    nodes: 3,
  })
})

test('what no machine says is unknown, never zero', () => {
  const asked = { etcd: [{ status: null, statusMs: null }], apiServers: [{ ms: null }] }
  expect(measuredOf(asked, [null, null])).toEqual({
    api_seconds: null,
    etcd_seconds: null,
    etcd_bytes: null,
    etcd_in_use_bytes: null,
    nodes_ready: null,
    nodes: 2,
  })
})
