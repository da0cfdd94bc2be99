import { expect, test } from 'vitest'
import { lastNight, outcomeText } from './last-day.ts'

test('outcomes are read in words, the worst first, and unknown ones are left out', () => {
  const outcomes = [
    { outcome: 'done', entries: 1200 },
    { outcome: 'new', entries: 1 },
    { outcome: 'failed', entries: 2 },
  ]
  expect(outcomeText({ kind: 'operation_ended', outcomes })).toBe('2 failed, 1\u202f200 done')
  expect(outcomeText({ kind: 'patch_changed', outcomes: [] })).toBe('')
})

test('last night is from the evening before until the morning of the day, in the local time zone', () => {
  for (const hour of [0, 3, 9, 23]) {
    const { since, until } = lastNight(new Date(2026, 10, 27, hour, 30).toISOString())
    expect([new Date(since), new Date(until)]).toEqual([
      new Date(2026, 10, 26, 18),
      new Date(2026, 10, 27, 8),
    ])
  }
})
