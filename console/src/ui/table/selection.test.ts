import { expect, test } from 'vitest'
import { knownAfter, toggled } from './selection.ts'

const page = ['a', 'b', 'c', 'd', 'e']

test('toggling changes one row', () => {
  expect([...toggled(new Set(['a']), 'b', null, null)]).toEqual(['a', 'b'])
  expect([...toggled(new Set(['a', 'b']), 'a', 'b', null)]).toEqual(['b'])
})

test('with Shift, all rows in between get the new state, in either direction', () => {
  expect([...toggled(new Set(['b']), 'd', 'b', page)].toSorted()).toEqual(['b', 'c', 'd'])
  expect([...toggled(new Set(['d']), 'b', 'd', page)].toSorted()).toEqual(['b', 'c', 'd'])
  expect([...toggled(new Set(page), 'c', 'a', page)].toSorted()).toEqual(['d', 'e'])
  expect([...toggled(new Set(), 'c', 'gone', page)]).toEqual(['c'])
})

test('rows stay selected when a filter hides them', () => {
  const rows = (...keys: string[]) => keys.map((key) => ({ key }))
  const keyOf = (row: { key: string }) => row.key
  const first = knownAfter(new Map(), new Set(), rows('a', 'b', 'c'), keyOf)
  const narrowed = knownAfter(first, new Set(['a', 'c']), rows('d'), keyOf)
  expect([...narrowed.keys()]).toEqual(['a', 'c', 'd'])
  const fresh = { key: 'a', name: 'newer' }
  expect(knownAfter(narrowed, new Set(['a']), [fresh], keyOf).get('a')).toBe(fresh)
})
