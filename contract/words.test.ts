import { expect, test } from 'vitest'
import { count, counted, someOf } from './words.ts'

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

test('the first names stand for all, and the rest are counted', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  expect([someOf([]), someOf(names.slice(0, 3)), someOf(names), someOf(names, 1)]).toEqual([
    '',
    'a, b, c',
    'a, b, c and 2 more',
    'a and 4 more',
  ])
  expect(someOf(['a', 'b'], 3, 1_002)).toBe('a, b and 1\u202f000 more')
})
