import { expect, test } from 'vitest'
import { inRange, rangeWords, readRange, writeRange } from './range.ts'

test.each([
  ['32..64', { least: '32', most: '64' }, '32–64'],
  ['0.5..1.25', { least: '0.5', most: '1.25' }, '0.5–1.25'],
  ['32..', { least: '32', most: null }, '32 or more'],
  ['..64', { least: null, most: '64' }, 'at most 64'],
])('%s is a range', (text, range, words) => {
  expect(readRange(text)).toEqual(range)
  expect(writeRange(range)).toBe(text)
  expect(rangeWords(range)).toBe(words)
})

test('one number is the range that contains only it', () => {
  expect(readRange('64')).toEqual({ least: '64', most: '64' })
  expect(rangeWords({ least: '64', most: '64.0' })).toBe('64')
  expect(writeRange({ least: null, most: null })).toBe('')
})

test('the numbers of a range are compared exactly', () => {
  expect(readRange('0.3..0.30000000001')).not.toBeNull()
  expect(readRange('0.30000000001..0.3')).toBeNull()
  expect(readRange('9.99..10')).not.toBeNull()
})

test('other text is no range, nor is a range whose first number is the larger one', () => {
  for (const text of [
    '',
    '..',
    '...',
    '64..32',
    '1...2',
    '-1..2',
    '1e3..',
    'a..b',
    '1..2..3',
    ' 1..2',
    '1,5..2',
    '1..1e400',
  ])
    expect(readRange(text)).toBeNull()
})

test('a filter shows its range in words, and other text as it is', () => {
  expect(['32..64', '32..', '..1.5', '64', 'cheap', ''].map(inRange('CU').shown)).toEqual([
    '32–64',
    '32 or more',
    'at most 1.5',
    '64',
    'cheap',
    '',
  ])
})

test('a number is in a range with its ends, and a missing end is no limit', () => {
  const held = (text: string) => [0, 31.9, 32, 64, 64.1].filter((n) => inRange('').holds(text, n))
  expect(['32..64', '32..', '..32', '64'].map(held)).toEqual([
    [32, 64],
    [32, 64, 64.1],
    [0, 31.9, 32],
    [64],
  ])
})
