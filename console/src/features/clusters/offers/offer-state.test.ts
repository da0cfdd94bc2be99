import { expect, test } from 'vitest'
import type { OfferResources } from '#contract/marketplace/offers.ts'
import { accessSaid, amountOf, differenceRows, offerSaid } from './offer-state.ts'

const now = Date.parse('2026-11-20T12:00:00.000Z')
const offer = {
  access_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  in_use: false,
  proven_at: null,
  status: 'listed' as const,
}
const resources: OfferResources = {
  servers: 2,
  unknown_servers: 0,
  compute_units: 48,
  vcpu: 128,
  memory_bytes: 192 * 1024 ** 3,
  disk_bytes: 2e12,
}
const unknown: OfferResources = {
  servers: 2,
  unknown_servers: 1,
  compute_units: null,
  vcpu: null,
  memory_bytes: null,
  disk_bytes: null,
}

test('an offer is shown as In use only after a proof', () => {
  expect(accessSaid({ ...offer, access_address: null }, now)).toEqual({
    tone: 'off',
    word: 'No access address',
    why: null,
  })
  expect(accessSaid(offer, now)).toEqual({
    tone: 'idle',
    word: 'Not in use',
    why: 'waiting for the proof from the cluster',
  })
  expect(
    accessSaid({ ...offer, in_use: true, proven_at: '2026-11-20T11:56:00.000Z' }, now),
  ).toEqual({ tone: 'ok', word: 'In use', why: 'proved 4 min ago' })
  expect(accessSaid({ ...offer, status: 'withdrawn' }, now)).toMatchObject({
    word: 'Not in use',
    why: 'the offer is withdrawn',
  })
})

test('an offer whose cluster was removed says so', () => {
  expect(offerSaid({ status: 'withdrawn', cluster: null })).toEqual({
    tone: 'off',
    word: 'Withdrawn',
    why: 'its cluster was removed',
  })
  expect(offerSaid({ status: 'listed', cluster: { id: 'c', name: 'web' } })).toEqual({
    tone: 'ok',
    word: 'Listed',
    why: null,
  })
})

test('amounts have units, and an unknown amount is Unknown, not 0', () => {
  expect(amountOf('memory_bytes', resources)).toBe('192\u00a0GiB')
  expect(amountOf('disk_bytes', resources)).toBe('2\u00a0TB')
  expect(amountOf('vcpu', unknown)).toBe('Unknown')
})

test('the difference has a row for each amount that changes', () => {
  expect(differenceRows(resources, resources)).toEqual([])
  expect(differenceRows(resources, { ...resources, compute_units: 64 })).toEqual([
    { label: 'Compute units', before: '48', after: '64' },
  ])
  expect(differenceRows(resources, unknown).map((row) => row.after)).toEqual([
    '1',
    'Unknown',
    'Unknown',
    'Unknown',
    'Unknown',
  ])
})
