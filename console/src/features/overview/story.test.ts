import { expect, test } from 'vitest'
import type { Incident } from '#contract/incidents/incidents.ts'
import type { Operation } from '#contract/operations.ts'
import { storyOf } from './story.ts'

const at = (hour: number, minute = 0) =>
  new Date(Date.UTC(2026, 10, 27, hour, minute)).toISOString()
const incident = (more: Partial<Incident>) =>
  ({ id: 'i', title: 'amber-1 does not answer', effect: 'one_server', ...more }) as Incident
const operation = (more: Partial<Operation>) =>
  ({
    id: 'o',
    kind: 'clusterCreate',
    target: { kind: 'cluster', id: 'c', name: 'web' },
    status: 'done',
    created_by: 'ada@example.com',
    created_at: at(5),
    started_at: at(5),
    ended_at: at(5, 9),
    ...more,
  }) as Operation

test('the last 24 hours are told in at most five sentences, the worst effect kept, in the order of time', () => {
  const story = storyOf(
    [
      incident({ since: at(3), ended_at: at(3, 11) }),
      incident({ since: at(8), ended_at: null }),
      incident({ title: 'web failed', effect: 'nobody_served', since: at(7), ended_at: at(7, 1) }),
    ],
    [
      ...[1, 2, 4, 6].map((hour) => operation({ started_at: at(hour), ended_at: at(hour, 2) })),
      operation({ status: 'failed' }),
    ],
    at(0),
  )
  expect(story.map(({ subject, text }) => subject + text)).toEqual([
    'amber-1 does not answer; recovered after 11 min.',
    'Create cluster web: done in 2 min, by ada@example.com.',
    'Create cluster web: failed after 9 min, by ada@example.com.',
    'Create cluster web: done in 2 min, by ada@example.com.',
    'web failed; recovered after 1 min.',
  ])
  expect(story.map((one) => one.at)).toEqual(story.map((one) => one.at).toSorted())
  expect(storyOf([incident({ since: at(1), ended_at: at(2) })], [], at(3))).toEqual([])
})
