import { expect, test } from 'vitest'
import type { HistoryEntry } from '#contract/history/history.ts'
import { marksOf, momentsOf } from './moments.ts'

const server = '0198c0de-0000-7000-8000-000000000001'
const entry = (kind: HistoryEntry['kind'], more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  id: 1,
  at: '2026-11-27T12:00:00.000Z',
  kind,
  object: { kind: 'server', id: server, name: 'falcon-01' },
  cluster: null,
  message: 'It happened',
  by: { kind: 'steelyard', name: 'Steelyard' },
  operation: null,
  before: {},
  after: {},
  has_log: false,
  simulated: false,
  ...more,
})

test('operations, restarts, versions and findings are marked, and other changes are not', () => {
  const entries = [
    entry('finding_began', { at: '2026-11-27T12:05:00.000Z', message: 'Disk gone' }),
    entry('server_stage', { after: { stage: 'rebooting' }, message: 'Is rebooting' }),
    entry('server_stage', { after: { stage: 'running' } }),
    entry('server_renamed'),
    entry('server_version', {
      at: '2026-11-27T12:01:00.000Z',
      object: { kind: 'server', id: 'other', name: 'falcon-02' },
      message: 'Talos changed',
      simulated: true,
    }),
  ]
  expect(momentsOf(entries, server).map(({ text }) => text)).toEqual([
    'Is rebooting',
    'falcon-02: Talos changed (simulated)',
    'Disk gone',
  ])
})

test('moments of one slot share a mark, and those outside of the period have none', () => {
  const moments = [-1, 0, 4, 50, 100, 101].map((at) => ({ at, text: String(at) }))
  const marks = marksOf(moments, { from: 0, to: 100 }, 10)
  expect(marks.map(({ place, moments: some }) => [place, some.map(({ text }) => text)])).toEqual([
    [0.05, ['0', '4']],
    [0.55, ['50']],
    [0.95, ['100']],
  ])
})
