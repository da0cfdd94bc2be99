import { expect, test } from 'vitest'
import { lasted, lastedSaid, severityCounts } from './incident-text.ts'

const since = new Date(2026, 10, 27, 8, 41).toISOString()
const now = new Date(2026, 10, 27, 9, 14, 30).getTime()

test('an open incident says since when and for how long, an ended one from when to when', () => {
  expect(lastedSaid({ since, ended_at: null }, now)).toBe('since 08:41, 33 min')
  const ended_at = new Date(2026, 10, 27, 9, 1).toISOString()
  expect(lastedSaid({ since, ended_at }, now)).toBe('08:41 to 09:01, after 20 min')
  expect(lasted({ since, ended_at: new Date(Date.parse(since) + 12_000).toISOString() })).toBe(
    '12 s',
  )
})

test('incidents are counted by severity, the worst first', () => {
  const of = (...all: ('down' | 'degraded' | 'attention')[]) =>
    severityCounts(all.map((severity) => ({ severity }))).map(
      ({ count, word }) => `${count} ${word}`,
    )
  expect(of('attention', 'down', 'attention')).toEqual(['1 down', '2 need attention'])
  expect(of('attention')).toEqual(['1 needs attention'])
  expect(of()).toEqual([])
})
