import { expect, test } from 'vitest'
import { same } from './same.ts'

test('objects and arrays with the same contents are the same', () => {
  expect(same({ a: [1, { b: null }], c: undefined }, { c: undefined, a: [1, { b: null }] })).toBe(
    true,
  )
  for (const [a, b] of [
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: undefined }, { b: undefined }],
    [
      [1, 2],
      [2, 1],
    ],
    [[], {}],
    [null, {}],
    [{ length: 0 }, []],
  ])
    expect(same(a, b)).toBe(false)
})

test('dates, sets and functions are the same only as the same object', () => {
  const date = new Date(0)
  expect(same({ date }, { date })).toBe(true)
  expect(same({ date }, { date: new Date(0) })).toBe(false)
  expect(same(new Set([1]), new Set([2]))).toBe(false)
  expect(same({ run: () => 1 }, { run: () => 1 })).toBe(false)
})
