import { expect, test } from 'vitest'
import type { CapacityCommitment } from '#contract/marketplace/ccs.ts'
import { elapsedDays, expiryNote, hourlyAmount, meaningOf, unitsText, whyOf } from './cc-texts.ts'

const now = Date.parse('2026-11-20T13:00:00Z')
const day = 24 * 3_600_000
const iso = (days: number) => new Date(now + days * day).toISOString()
const cc = {
  status: 'active',
  reason: null,
  server: { id: 's', name: 'amber-falcon', status: 'ready', unreachable_since: null },
  cluster: { id: 'c', name: 'web' },
} as unknown as CapacityCommitment

test('the trouble of the server comes before the reason of an earlier status', () => {
  expect(whyOf(cc, now)).toBeNull()
  expect(whyOf({ ...cc, status: 'failed', reason: 'Flooded' }, now)).toEqual({
    text: 'Flooded',
    isTrouble: false,
  })
  expect(whyOf({ ...cc, cluster: null }, now)).toEqual({ text: 'in no cluster', isTrouble: true })
  expect(whyOf({ ...cc, server: { ...cc.server, status: 'deleted' } }, now)).toEqual({
    text: 'server removed',
    isTrouble: true,
  })
  expect(
    whyOf({ ...cc, server: { ...cc.server, unreachable_since: iso(-30) } }, now)!.text,
  ).toMatch(/^unreachable since \d+ Oct$/)
})

test('the meaning of the trouble depends on the status, and tells a removed server from a silent one', () => {
  const gone = { ...cc.server, status: 'deleted' } as const
  const silent = { ...cc.server, unreachable_since: iso(-1) }
  expect(meaningOf({ ...cc, status: 'waiting_start', server: silent })).toBe(
    'The commitment starts at its time all the same.',
  )
  expect(meaningOf({ ...cc, status: 'waiting_start', server: gone })).toBe(
    'The commitment fails at its start, because the server will not come back.',
  )
  expect(meaningOf({ ...cc, status: 'waiting_delegation', server: gone })).toBe(
    'Nothing is delegated yet, so the commitment is removed too.',
  )
  expect(meaningOf({ ...cc, cluster: null })).toMatch(/^The commitment stays active until a user/)
  expect(meaningOf({ ...cc, server: gone })).toBe('The commitment ends with it.')
  expect(meaningOf(cc)).toBeNull()
  expect(meaningOf({ ...cc, status: 'failed', server: gone })).toBeNull()
})

test('an unknown price is null, and a known one keeps all its digits', () => {
  expect(hourlyAmount({ price_per_hour: null })).toBeNull()
  expect(hourlyAmount({ price_per_hour: '0' })).toBe('0.00')
  expect(hourlyAmount({ price_per_hour: '1.248' })).toBe('1.248')
})

test('the remark beside the end says how long it takes, or when the commitment starts', () => {
  expect(expiryNote({ status: 'active', starts_at: iso(-4), expires_at: iso(86) }, now)).toBe(
    'in 86 d',
  )
  expect(expiryNote({ status: 'completed', starts_at: iso(-90), expires_at: iso(-11) }, now)).toBe(
    '11 d ago',
  )
  expect(
    expiryNote({ status: 'waiting_start', starts_at: iso(11), expires_at: iso(90) }, now),
  ).toBe('starts 1 Dec')
  expect(expiryNote({ status: 'not_committed', starts_at: null, expires_at: null }, now)).toBeNull()
})

test('elapsed days are counted from the real start to the end or to now, never more than agreed', () => {
  expect(elapsedDays({ started_at: null, ended_at: null, expires_at: iso(1) }, now)).toBeNull()
  expect(elapsedDays({ started_at: iso(-4), ended_at: null, expires_at: iso(86) }, now)).toEqual({
    days: 4,
    of: 90,
    text: '4 of 90 days',
  })
  expect(
    elapsedDays({ started_at: iso(-100), ended_at: iso(-40), expires_at: iso(-10) }, now),
  ).toMatchObject({ days: 60, of: 90 })
  expect(
    elapsedDays({ started_at: iso(-100), ended_at: null, expires_at: iso(-10) }, now),
  ).toMatchObject({ days: 90, of: 90 })
  expect(
    elapsedDays({ started_at: iso(1), ended_at: null, expires_at: iso(2) }, now),
  ).toMatchObject({ days: 0, text: '0 of 1 day' })
})

test('the compute units are explained, and unknown ones are null', () => {
  const capacity = {
    compute_units: 64,
    cores: 64,
    vcpu: 128,
    memory_bytes: 768 * 1024 ** 3,
    disk_bytes: null,
  }
  expect(unitsText(capacity)).toBe('64 CU, the lesser of 64 cores and 768 ÷ 4 GiB')
  expect(unitsText({ ...capacity, compute_units: null, cores: null })).toBeNull()
})
