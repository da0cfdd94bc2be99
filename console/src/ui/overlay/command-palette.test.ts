import { expect, test } from 'vitest'
import { firstAble, matches } from './CommandPalette.tsx'

test('an entry matches if it contains every typed word, in any order', () => {
  const action = { label: 'Create cluster', hint: '192 CU' }
  expect(matches(action, 'clus cre')).toBe(true)
  expect(matches(action, '192')).toBe(true)
  expect(matches(action, 'create server')).toBe(false)
  expect(matches(action, '')).toBe(true)
})

test('the first enabled entry is selected initially, or none if all are disabled', () => {
  const [refused, able] = [
    { label: 'Delete', can: { ok: false, reason: 'Not now' } as const },
    { label: 'Edit', can: { ok: true } as const },
  ]
  expect(firstAble([refused, able, refused])).toBe(1)
  expect(firstAble([{ label: 'Overview' }, refused])).toBe(0)
  expect(firstAble([refused, refused])).toBe(-1)
  expect(firstAble([])).toBe(-1)
})
