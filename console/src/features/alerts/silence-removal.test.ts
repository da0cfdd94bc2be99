import { expect, test } from 'vitest'
import type { Silence } from '#contract/alerts/silences.ts'
import { removalOf, stateNow } from './silence-removal.ts'

const silence = {
  severities: ['down'],
  kinds: [],
  datacenters: [],
  clusters: [],
  object: null,
  starts_at: '2026-11-28T20:00:00.000Z',
  ends_at: '2026-11-28T22:00:00.000Z',
  repeats: null,
  // As it was when the list was read.
  state: 'waiting',
} as unknown as Silence
const at = (time: string) => Date.parse(`2026-11-28T${time}:00.000Z`)

test('a silence begins and ends while its list is open, and its removal says what it does then', () => {
  const times = [at('19:00'), at('21:00'), at('22:00')]
  expect(times.map((now) => stateNow(silence, now))).toEqual(['waiting', 'active', 'ended'])
  expect(times.map((now) => removalOf(silence, now).action)).toEqual([
    'Remove',
    'End now',
    'Remove',
  ])
  expect(removalOf(silence, at('21:00')).text).toMatch(
    /Findings that are still open are sent then\.$/,
  )
  expect(removalOf(silence, at('22:00')).text).not.toContain('are sent')
})
