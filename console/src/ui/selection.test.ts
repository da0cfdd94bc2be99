import { expect, test } from 'vitest'
import { toggled } from './selection.ts'

const page = ['a', 'b', 'c', 'd', 'e']

test('one is toggled alone', () => {
  expect([...toggled(new Set(['a']), 'b', null, null)]).toEqual(['a', 'b'])
  expect([...toggled(new Set(['a', 'b']), 'a', 'b', null)]).toEqual(['b'])
})

test('with shift everything between gets the new state, in either direction', () => {
  expect([...toggled(new Set(['b']), 'd', 'b', page)].toSorted()).toEqual(['b', 'c', 'd'])
  expect([...toggled(new Set(['d']), 'b', 'd', page)].toSorted()).toEqual(['b', 'c', 'd'])
  expect([...toggled(new Set(page), 'c', 'a', page)].toSorted()).toEqual(['d', 'e'])
  expect([...toggled(new Set(), 'c', 'gone', page)]).toEqual(['c'])
})
