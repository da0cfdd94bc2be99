import { expect, test } from 'vitest'
import type { ClusterCertificate } from '#contract/clusters/certificates.ts'
import { againMs, endingOf } from './certificate-watch.ts'

const of = (
  kind: ClusterCertificate['kind'],
  name: string | null,
  more: Partial<ClusterCertificate>,
): ClusterCertificate => ({
  kind,
  node_id: null,
  name,
  starts_at: null,
  ends_at: '2026-12-01T00:00:00.000Z',
  renewed_by: 'talos',
  ending: false,
  reason: null,
  ...more,
})
const reason = 'Restart the server'
const unread = { ends_at: null, reason: 'web-1 does not answer' }

test('a certificate that could not be read stays as it was, and one of a server that is gone does not', () => {
  const seen = endingOf(
    [of('kubelet', 'web-1', { ending: true, reason }), of('kubelet', 'web-2', {})],
    [],
  )
  expect(seen).toEqual([
    { kind: 'kubelet', name: 'web-1', ends_at: '2026-12-01T00:00:00.000Z', reason },
  ])
  const silent = [of('kubelet', 'web-1', unread), of('kubelet', 'web-2', unread)]
  expect(endingOf(silent, seen)).toEqual(seen)
  expect(endingOf([of('kubelet', 'web-2', {})], seen)).toEqual([])
  const renewed = [of('kubelet', 'web-1', { ends_at: '2027-12-01T00:00:00.000Z' })]
  expect(endingOf(renewed, seen)).toEqual([])
})

test('what a restart renews is looked at again within minutes, and other certificates after hours', () => {
  const ending = (kind: ClusterCertificate['kind']) =>
    endingOf([of(kind, null, { ending: true, reason })], [])
  expect(againMs(ending('kubelet'))).toBe(600_000)
  expect([[], ending('etcd_ca'), ending('talos_ca')].map(againMs)).toEqual(
    Array.from({ length: 3 }, () => 6 * 3_600_000),
  )
})
