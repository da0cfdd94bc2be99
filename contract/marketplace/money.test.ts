import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { Amount, amountShown, hourlyTotal, Price, priceShown, times } from './money.ts'

const read = (amount: unknown) => z.safeParse(Amount, amount)

test.each([
  ['0', '0'],
  ['012.50', '12.5'],
  [' 3 ', '3'],
  ['0.00000001', '0.00000001'],
  ['999999999999.99999999', '999999999999.99999999'],
  ['0.10', '0.1'],
  ['100', '100'],
])('the amount %j is stored as %j', (given, stored) => {
  expect(read(given).data).toBe(stored)
})

test.each([
  -1,
  0.1 + 0.2,
  1e300,
  '1e400',
  '-1',
  '+1',
  '0.30000000000000004',
  '1,5',
  '.5',
  '5.',
  '',
  'NaN',
  'Infinity',
  '1000000000000',
  '0x10',
  '١٢',
  '1\n2',
  null,
])('the amount %j is refused, and the error says what an amount is', (given) => {
  const { success, error } = read(given)
  expect(success).toBe(false)
  expect(error!.issues[0]!.message).toMatch(
    /^An amount is a decimal number such as 12\.50, not negative/,
  )
})

test('a price needs a currency and a basis', () => {
  expect(
    z.safeParse(Price, { amount: '0.05', currency: 'EUR', basis: 'compute_unit' }).success,
  ).toBe(true)
  for (const wrong of [
    { currency: 'eur' },
    { currency: '€' },
    { currency: 'EUROEUR' },
    { basis: 'month' },
    { tax: '0.19' },
  ])
    expect(
      z.safeParse(Price, { amount: '0.05', currency: 'EUR', basis: 'cluster', ...wrong }).success,
    ).toBe(false)
})

test('products are exact where floats are not', () => {
  expect(0.1 * 3).not.toBe(0.3)
  expect(times('0.1', 3)).toBe('0.3')
  expect(times('999999999999.99999999', 10_000)).toBe('9999999999999999.9999')
  expect(times('0.0625', 16)).toBe('1')
})

test('amounts are shown with at least two digits after the point, and none is cut off', () => {
  expect(['12.5', '0', '0.0625', '1234567.891', '3'].map(amountShown)).toEqual([
    '12.50',
    '0.00',
    '0.0625',
    '1\u202f234\u202f567.891',
    '3.00',
  ])
  expect(priceShown({ amount: '0.05', currency: 'EUR', basis: 'compute_unit' })).toBe(
    '0.05 EUR per CU and hour',
  )
  expect(priceShown({ amount: '40', currency: 'USDC', basis: 'cluster' })).toBe(
    '40.00 USDC per hour',
  )
})

test('the total of an hour is unknown if the number of priced units is unknown', () => {
  const price = (basis: Price['basis']): Price => ({ amount: '0.05', currency: 'EUR', basis })
  expect(hourlyTotal(price('compute_unit'), { servers: 3, compute_units: 96 })).toBe('4.8')
  expect(hourlyTotal(price('compute_unit'), { servers: 3, compute_units: null })).toBeNull()
  expect(hourlyTotal(price('server'), { servers: 3, compute_units: null })).toBe('0.15')
  expect(hourlyTotal(price('cluster'), { servers: null, compute_units: null })).toBe('0.05')
})
