import { expect, test } from 'vitest'
import { matches } from './CommandPalette.tsx'

test('every word has to occur, in any order', () => {
  const action = { label: 'Create cluster', hint: '192 CU' }
  expect(matches(action, 'clus cre')).toBe(true)
  expect(matches(action, '192')).toBe(true)
  expect(matches(action, 'create server')).toBe(false)
  expect(matches(action, '')).toBe(true)
})
