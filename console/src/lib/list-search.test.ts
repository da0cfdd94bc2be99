import { expect, test } from 'vitest'
import { pageNumber, pageSize, sortAmong } from './list-search.ts'

test('a page is a whole number that is written plainly', () => {
  expect(['1', '50', '999999'].map(pageNumber)).toEqual([1, 50, 999_999])
  for (const text of ['0', '-1', '1.5', '1e2', '+1', ' 1', '01', '1000000', '', 'x', undefined]) expect(pageNumber(text)).toBe(1)
})

test('a size is one that is offered', () => {
  expect(['5', '1000', '7', '1e3', '', undefined].map((text) => pageSize(text, 50))).toEqual([5, 1000, 50, 50, 50, 50])
})

test('an order is one of the columns, up or down', () => {
  const columns = ['name', 'created_at'] as const
  expect(['name', '-created_at', 'other', '--name', '', undefined].map((text) => sortAmong(columns, text))).toEqual([
    'name',
    '-created_at',
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
