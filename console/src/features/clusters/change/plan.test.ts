import { expect, test } from 'vitest'
import type { ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Operation } from '#contract/operations.ts'
import { keyOf } from '../create/wiped.ts'
import { canStart, partsOf, sameTexts, scheduledOf, startOf } from './plan.ts'

const disk: ClusterPlan['disks'][number] = {
  server: 'w-1',
  device: '/dev/sdb',
  disk: { id: 'sdb', content: 'ext4', serial: 'S1' },
  content: 'ext4',
  media: null,
  by: { serial: 'S1', content: 'ext4' },
}

test('servers with the same text are shown together, in the given order', () => {
  const of = (name: string, text: string) => ({ name, text })
  expect(sameTexts([of('a', '+ x'), of('b', '+ y'), of('c', '+ x')])).toEqual([
    { names: ['a', 'c'], text: '+ x' },
    { names: ['b'], text: '+ y' },
  ])
})

test('a sentence is split at the names of servers, but not inside of longer names', () => {
  const [a, b] = [{ name: 'cp-1' }, { name: 'cp-10' }]
  expect(partsOf('cp-1 and cp-10: cp-1.example.com is silent.', [a, b])).toEqual([
    a,
    ' ',
    'and',
    ' ',
    b,
    ': ',
    'cp-1.example.com',
    ' ',
    'is',
    ' ',
    'silent',
    '.',
  ])
})

test("a change begins at once, in the window, or at a valid time in the user's time zone", () => {
  expect(startOf('now', '')).toEqual({ ok: true, start: undefined })
  expect(startOf('window', '')).toEqual({ ok: true, start: { in_window: true } })
  expect(startOf('at', '2026-11-23T02:30')).toEqual({
    ok: true,
    start: { at: new Date(2026, 10, 23, 2, 30).toISOString() },
  })
  expect(startOf('at', '')).toMatchObject({ ok: false })
})

test('a change can begin once all checks have passed and each disk is confirmed', () => {
  const fine = { check: 'etcd', ok: true, message: 'All members are healthy' }
  const bad = { check: 'etcd', ok: false, message: 'cp-2 is not healthy' }
  expect(canStart({ checks: [fine], disks: [] }, new Set())).toEqual({ ok: true })
  expect(canStart({ checks: [fine, bad], disks: [] }, new Set())).toMatchObject({
    ok: false,
    reason: 'cp-2 is not healthy',
  })
  expect(canStart({ checks: [], disks: [disk] }, new Set())).toMatchObject({
    ok: false,
    reason: 'Confirm each disk first',
  })
  expect(canStart({ checks: [], disks: [disk] }, new Set([keyOf(disk)]))).toEqual({ ok: true })
  expect(canStart({ checks: [], disks: [{ ...disk, by: null }] }, new Set())).toMatchObject({
    ok: false,
    reason: expect.stringContaining('/dev/sdb of w-1') as string,
  })
})

test('only changes that wait for a time or the window count as scheduled', () => {
  const operation = (id: string, more: Partial<Operation>) =>
    ({
      id,
      status: 'pending',
      started_at: null,
      starts_at: null,
      in_window: false,
      ...more,
    }) as Operation
  const later = operation('later', { starts_at: '2026-11-24T02:00:00Z' })
  const sooner = operation('sooner', { starts_at: '2026-11-23T02:00:00Z', in_window: true })
  const window = operation('window', { status: 'waiting', in_window: true })
  const begun = operation('begun', {
    in_window: true,
    status: 'waiting',
    started_at: '2026-11-22T02:00:00Z',
  })
  expect(
    scheduledOf([later, begun, operation('plain', {}), sooner, window]).map((o) => o.id),
  ).toEqual(['window', 'sooner', 'later'])
})
