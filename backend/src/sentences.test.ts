import { expect, test } from 'vitest'
import { allAnswer } from './sentences.ts'

test('a single server is not counted', () => {
  expect([1, 2, 12].map(allAnswer)).toEqual([
    'The server answers',
    'All 2 servers answer',
    'All 12 servers answer',
  ])
})
