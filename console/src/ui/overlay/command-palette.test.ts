import { expect, test } from 'vitest'
import { byFit, firstAble, matches } from './CommandPalette.tsx'

test('an entry matches if it contains every typed word, in any order', () => {
  const action = { label: 'Create cluster', hint: '192 CU' }
  expect(matches(action, 'clus cre')).toBe(true)
  expect(matches(action, '192')).toBe(true)
  expect(matches(action, 'create server')).toBe(false)
  expect(matches(action, '')).toBe(true)
})

test('an entry whose word begins with the search stands before one that only contains it', () => {
  const found = [
    { label: 'rack-2', hint: 'server, 52:54:cc:00:00:01' },
    { label: 'accra', hint: 'server, free' },
  ]
  const pages = [{ label: 'Account' }, { label: 'Compute capacity (CCs)', hint: 'marketplace' }]
  const groups = byFit(
    [
      { heading: 'Found', found: true, actions: found },
      { heading: 'Go to', actions: pages },
    ],
    'cc',
  )
  expect(groups.map(({ actions }) => actions.map(({ label }) => label))).toEqual([
    ['Compute capacity (CCs)', 'Account'],
    ['rack-2', 'accra'],
  ])
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
