import { expect, test } from 'vitest'
import { count, counted } from './words.ts'

test('numbers and bigints have narrow no-break spaces between thousands', () => {
  expect([0, 999, 1000, 65_536, 1_234_567, 12.9].map(count)).toEqual([
    '0',
    '999',
    '1\u202f000',
    '65\u202f536',
    '1\u202f234\u202f567',
    '12',
  ])
  expect(count(100_000n)).toBe('100\u202f000')
})

test('counted nouns are singular or plural', () => {
  expect([
    counted(1, 'server'),
    counted(1200, 'server'),
    counted(2, 'address', 'addresses'),
  ]).toEqual(['1 server', '1\u202f200 servers', '2 addresses'])
})
