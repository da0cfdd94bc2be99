import { expect, test } from 'vitest'
import { isoOf, localOf } from './local-time.ts'

test('a time survives the way through the form to the minute', () => {
  const iso = '2026-11-20T14:07:00.000Z'
  expect(isoOf(localOf(iso))).toBe(iso)
  expect(localOf(iso)).toMatch(/^2026-11-2[01]T\d\d:\d\d$/)
  expect([localOf(undefined), localOf(null), localOf('yesterday')]).toEqual(['', '', ''])
  expect([isoOf(''), isoOf('2026-')]).toEqual([undefined, undefined])
})
