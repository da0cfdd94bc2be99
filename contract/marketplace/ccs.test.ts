import { expect, test } from 'vitest'
import {
  canChangeCcStatus,
  canChangeCcTerms,
  canMoveCc,
  CcChange,
  ccCommitProblems,
  ccStatuses,
  ccTermProblems,
  ccTrouble,
  lostCommitment,
  NewCc,
} from './ccs.ts'

const now = Date.UTC(2026, 10, 20)
const day = 24 * 3_600_000
const iso = (days: number) => new Date(now + days * day).toISOString()
const price = { amount: '1.25', currency: 'EUR', basis: 'server' } as const
const node_id = '00000000-0000-4000-8000-000000000001'

test('exactly the specified changes of the status are allowed', () => {
  const allowed = ccStatuses.flatMap((from) =>
    ccStatuses.filter((to) => canChangeCcStatus(from, to).ok).map((to) => `${from} → ${to}`),
  )
  expect(allowed).toEqual([
    'not_committed → waiting_delegation',
    'waiting_delegation → waiting_start',
    'waiting_delegation → removed',
    'waiting_start → active',
    'active → completed',
    'active → failed',
    'completed → removed',
    'failed → removed',
  ])
})

test('a refused change of the status says what may follow', () => {
  expect(canChangeCcStatus('not_committed', 'active')).toEqual({
    ok: false,
    reason:
      'The status cannot change from not committed to active. After not committed comes waiting for delegation',
  })
  expect(canChangeCcStatus('active', 'removed')).toMatchObject({
    reason: expect.stringContaining('completed or failed') as string,
  })
  expect(canChangeCcStatus('removed', 'active')).toMatchObject({
    reason: 'The commitment was removed, so its status cannot change any more',
  })
})

test('the terms are fixed once the capacity is committed', () => {
  expect(ccStatuses.filter((status) => canChangeCcTerms({ status }).ok)).toEqual(['not_committed'])
})

test('nothing of a removed server is promised or delegated, and no delegation is confirmed after the end', () => {
  const cc = {
    status: 'waiting_delegation',
    expires_at: iso(1),
    server: { status: 'ready' },
  } as const
  expect(canMoveCc(cc, 'waiting_start', now)).toEqual({ ok: true })
  expect(canMoveCc({ ...cc, server: { status: 'deleted' } }, 'waiting_start', now).ok).toBe(false)
  expect(
    canMoveCc({ ...cc, status: 'waiting_start', server: { status: 'deleted' } }, 'active', now).ok,
  ).toBe(false)
  expect(canMoveCc({ ...cc, server: { status: 'deleted' } }, 'removed', now)).toEqual({ ok: true })
  expect(canMoveCc({ ...cc, expires_at: iso(0) }, 'waiting_start', now)).toEqual({
    ok: false,
    reason: 'The end of the commitment has passed',
  })
  expect(canMoveCc({ ...cc, expires_at: iso(0) }, 'removed', now)).toEqual({ ok: true })
  expect(canMoveCc({ ...cc, status: 'active', expires_at: iso(-1) }, 'completed', now)).toEqual({
    ok: true,
  })
})

test('a draft needs a price and an end in the future before its capacity can be committed', () => {
  expect(ccCommitProblems({ price: null, starts_at: null, expires_at: null }, now)).toEqual({
    price: 'Enter a price before you commit the capacity',
    expires_at: 'Enter the end before you commit the capacity',
  })
  expect(ccCommitProblems({ price, starts_at: null, expires_at: iso(0) }, now)).toEqual({
    expires_at: 'The end is in the past',
  })
  expect(ccCommitProblems({ price, starts_at: iso(-3), expires_at: iso(1) }, now)).toEqual({})
})

test('the end is after the start, at most ten years', () => {
  expect(ccTermProblems({ starts_at: iso(2), expires_at: iso(2) }, now)).toEqual({
    expires_at: 'The end must be after the start',
  })
  expect(ccTermProblems({ starts_at: null, expires_at: iso(-2) }, now)).toEqual({})
  expect(ccTermProblems({ starts_at: iso(0), expires_at: iso(3661) }, now)).toEqual({
    expires_at: 'A commitment lasts at most 10 years',
  })
  expect(ccTermProblems({ starts_at: iso(0), expires_at: iso(3660) }, now)).toEqual({})
})

test.each([
  ['a price with an exponent', { price: { ...price, amount: '1e400' } }, 'price.amount'],
  ['a negative price', { price: { ...price, amount: '-1' } }, 'price.amount'],
  ['a price as a sum', { price: { ...price, amount: '0.1+0.2' } }, 'price.amount'],
  ['a price as a number', { price: { ...price, amount: 0.1 + 0.2 } }, 'price.amount'],
  ['an infinite price', { price: { ...price, amount: Infinity } }, 'price.amount'],
  ['a price without a currency', { price: { amount: '1', basis: 'server' } }, 'price.currency'],
  ['a currency in words', { price: { ...price, currency: 'euro' } }, 'price.currency'],
  ['the price of a cluster', { price: { ...price, basis: 'cluster' } }, 'price.basis'],
  ['an offer id that is one digit short', { offer_id: `0x${'a'.repeat(63)}` }, 'offer_id'],
  ['an offer id with a line break', { offer_id: `0x${'a'.repeat(63)}\n` }, 'offer_id'],
  ['a day that does not exist', { expires_at: '2027-02-30T00:00:00Z' }, 'expires_at'],
  ['a time without a zone', { expires_at: '2027-02-03T00:00:00' }, 'expires_at'],
  ['the year 0', { starts_at: '0000-01-01T00:00:00Z' }, 'starts_at'],
  ['the year 9999', { expires_at: '9999-12-31T23:59:59Z' }, 'expires_at'],
  ['a later status', { status: 'active' }, 'status'],
])('a commitment with %s is refused at that field', (_name, wrong, field) => {
  const { error } = NewCc.safeParse({ node_id, ...wrong })
  expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([field])
})

test('a price has no superfluous zeros, and a reason no invisible characters', () => {
  expect(NewCc.parse({ node_id, price: { ...price, amount: '0.30' } })).toMatchObject({
    price: { amount: '0.3' },
    status: 'not_committed',
  })
  expect(CcChange.safeParse({ reason: 'disk\u001b[2J' }).success).toBe(false)
  expect(CcChange.safeParse({ reason: '  ' }).success).toBe(false)
})

test('trouble of the server concerns only promised capacity', () => {
  const cc = {
    status: 'active',
    server: { status: 'ready', unreachable_since: null },
    cluster: {},
  } as const
  expect(ccTrouble(cc)).toBeNull()
  expect(ccTrouble({ ...cc, server: { status: 'ready', unreachable_since: iso(0) } })).toEqual({
    kind: 'unreachable',
    since: iso(0),
  })
  expect(ccTrouble({ ...cc, server: { status: 'deleted', unreachable_since: iso(0) } })).toEqual({
    kind: 'server_removed',
  })
  expect(ccTrouble({ ...cc, cluster: null })).toEqual({ kind: 'no_cluster' })
  expect(ccTrouble({ ...cc, status: 'waiting_start', cluster: null })).toBeNull()
  for (const status of ['not_committed', 'completed', 'failed', 'removed'] as const)
    expect(
      ccTrouble({ ...cc, status, server: { status: 'deleted', unreachable_since: null } }),
    ).toBeNull()
})

test('removing or resetting a server tells what happens to its promised capacity', () => {
  const server = (status: (typeof ccStatuses)[number]) => ({
    name: 'amber-falcon',
    capacity_commitment: { status },
  })
  expect(lostCommitment(server('active'), 'remove')).toBe(
    'The capacity of amber-falcon is promised (active): the commitment fails without the server',
  )
  expect(lostCommitment(server('waiting_delegation'), 'remove')).toContain(
    'is removed with the server',
  )
  expect(lostCommitment(server('waiting_start'), 'remove')).toBe(
    'The capacity of amber-falcon is promised (waiting for its start): the commitment fails at its start without the server',
  )
  expect(lostCommitment(server('waiting_start'), 'reset')).toContain('the commitment continues')
  for (const status of ['not_committed', 'completed', 'failed', 'removed'] as const)
    expect(lostCommitment(server(status), 'remove')).toBeNull()
  expect(lostCommitment({ name: 'a', capacity_commitment: null }, 'remove')).toBeNull()
})
