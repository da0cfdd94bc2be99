import { expect, test } from 'vitest'
import type { CapacityCommitment } from '#contract/marketplace/ccs.ts'
import { byField } from '../../layout/commitment/terms.ts'
import { localOf } from '../../lib/time/local-time.ts'
import { blank, changeOf, commandOf, readForm } from './cc-form.ts'

const now = Date.parse('2026-11-20T08:00:00Z')
const node_id = '00000000-0000-4000-8000-000000000001'
const full = {
  ...blank,
  node_id,
  price: '1.2480',
  currency: 'eur',
  starts_at: localOf('2026-12-01T00:00:00Z'),
  expires_at: localOf('2027-03-01T00:00:00Z'),
}
const wrong = (typed: Partial<typeof blank>) => {
  const read = readForm({ ...full, ...typed }, now)
  return read.ok ? {} : read.fields
}

test('the form becomes the body of the call: times in UTC, money as text', () => {
  expect(readForm(full, now)).toEqual({
    ok: true,
    body: {
      node_id,
      offer_id: null,
      price: { amount: '1.248', currency: 'EUR', basis: 'server' },
      starts_at: '2026-12-01T00:00:00.000Z',
      expires_at: '2027-03-01T00:00:00.000Z',
      status: 'not_committed',
    },
  })
  expect(readForm({ ...blank, node_id }, now)).toMatchObject({
    ok: true,
    body: { price: null, starts_at: null, expires_at: null },
  })
})

test('a time that was not touched keeps its seconds', () => {
  const edit = {
    starts_at: '2026-12-01T00:00:30.500Z',
    expires_at: null,
  } as unknown as CapacityCommitment
  expect(readForm({ ...full, starts_at: localOf(edit.starts_at) }, now, edit)).toMatchObject({
    body: { starts_at: '2026-12-01T00:00:30.500Z' },
  })
})

test('errors are shown at the fields of the form', () => {
  expect(Object.keys(wrong({ node_id: '' }))).toEqual(['node_id'])
  for (const price of ['1e400', '-1', '0.1+0.2', '1,5'])
    expect(wrong({ price })['price']).toContain('decimal number')
  expect(Object.keys(wrong({ currency: '' }))).toEqual(['currency'])
  expect(Object.keys(wrong({ price: '' }))).toEqual(['price'])
  expect(wrong({ expires_at: full.starts_at })).toEqual({
    expires_at: 'The end must be after the start',
  })
  expect(Object.keys(wrong({ offer_id: '0x12' }))).toEqual(['offer_id'])
  const refused = { 'price.amount': 'a', price: 'b', 'price.currency': 'c', expires_at: 'd' }
  expect(byField(refused)).toEqual({ price: 'a', currency: 'c', expires_at: 'd' })
})

test('a form that commits the capacity needs a price and an end', () => {
  expect(wrong({ commit: true })).toEqual({})
  expect(Object.keys(wrong({ commit: true, price: '', currency: '', expires_at: '' }))).toEqual([
    'price',
    'expires_at',
  ])
})

test('the form as a command has the same terms', () => {
  const read = readForm({ ...full, commit: true }, now)
  if (!read.ok) throw new Error('The form is valid')
  const terms =
    '--price 1.248 --currency EUR --basis server --start 2026-12-01T00:00:00.000Z --end 2027-03-01T00:00:00.000Z'
  expect(commandOf(read.body, 'amber-falcon', true)).toBe(
    `steelyard cc create amber-falcon ${terms} --commit`,
  )
  expect(commandOf(read.body, 'amber-falcon', false)).toBe(
    `steelyard cc update amber-falcon ${terms} --no-offer --status waiting_delegation`,
  )
  const emptied = readForm({ ...blank, node_id }, now)
  if (!emptied.ok) throw new Error('The form is valid')
  expect(commandOf(emptied.body, 'amber-falcon', true)).toBe('steelyard cc create amber-falcon')
  expect(commandOf(emptied.body, 'amber-falcon', false)).toBe(
    'steelyard cc update amber-falcon --no-price --no-start --no-end --no-offer',
  )
  expect(changeOf(read.body)).not.toHaveProperty('node_id')
  expect(changeOf({ ...read.body, status: 'not_committed' })).not.toHaveProperty('status')
})
