import { expect, test } from 'vitest'
import type { EtcdMemberHealth } from '#contract/clusters/health.ts'
import type { Operation, Step } from '#contract/operations.ts'
import type { Observed } from '../../../db/columns.ts'
import { apartMs, isAtWork, missingDisks, observedOf as observedAt } from './observed.ts'

const member = (healthy: boolean | null): EtcdMemberHealth => ({
  id: '1',
  name: 'a',
  node_id: 'a',
  leader: false,
  learner: false,
  version: '3.6.4',
  size_bytes: 10,
  in_use_bytes: 5,
  alarms: [],
  healthy,
  reason: healthy === true ? null : 'etcd is Failed',
})
const api = (ready: boolean, isOwnDelay = false) => [
  { node_id: 'a', name: 'a', ready, reason: ready ? null : 'connection refused', isOwnDelay },
]
const seen = (healthy: boolean | null, ready: boolean) => ({
  etcd: [member(healthy)],
  api_servers: api(ready),
  missing_disks: [],
})
/** Observations that are far enough apart to count. */
let at = Date.parse('2026-12-01T00:00:00Z')
const observedOf = (
  before: Observed | null,
  now: Parameters<typeof observedAt>[1],
  isChanging: boolean,
): Observed => observedAt(before, now, { at: (at += apartMs), isChanging })
const misses = (now: Observed) => [now.etcd[0]!.misses, now.api_servers[0]!.misses]

test('what is not well is counted until it is well again, and a silent machine says nothing of its etcd', () => {
  const once = observedOf(null, seen(false, false), false)
  expect(misses(once)).toEqual([1, 1])
  expect(once.etcd[0]).toMatchObject({ ill: 'etcd is Failed', size_bytes: 10, alarms: [] })
  const thrice = observedOf(observedOf(once, seen(false, false), false), seen(null, false), false)
  expect(misses(thrice)).toEqual([0, 2])
  expect(misses(observedOf(thrice, seen(true, true), false))).toEqual([0, 0])
})

test('a dead member that no server has does not reset the count of the server of its name', () => {
  const both = { ...seen(false, true), etcd: [{ ...member(null), node_id: null }, member(false)] }
  const twice = observedOf(observedOf(null, both, false), both, false)
  expect(twice.etcd.map((one) => one.misses)).toEqual([0, 2])
})

test('what a running change restarts is not counted, but what was not well before stays so', () => {
  const restarting = observedOf(null, seen(false, false), true)
  expect(misses(restarting)).toEqual([0, 0])
  const ill = observedOf(observedOf(null, seen(true, false), false), seen(true, false), false)
  expect(misses(observedOf(ill, seen(false, false), true))).toEqual([0, 2])
})

test('a late answer after our own start is not counted, but what was not well before stays so', () => {
  const late = { ...seen(true, false), api_servers: api(false, true) }
  expect(misses(observedOf(observedOf(null, late, false), late, false))).toEqual([0, 0])
  const ill = observedOf(observedOf(null, seen(true, false), false), seen(true, false), false)
  expect(misses(observedOf(ill, late, false))).toEqual([0, 2])
})

test('a change that waits for its window between two servers restarts nothing, and one that waits in a step does', () => {
  const step = (status: Step['status']): Step => ({
    key: 'upgrade/a',
    title: 'Upgrade a',
    node_id: 'a',
    status,
    reason: null,
    attempt: 1,
    started_at: null,
    ended_at: null,
  })
  const of = (status: Operation['status'], ...steps: Step['status'][]) =>
    isAtWork({ status, steps: steps.map(step) })
  expect(of('waiting', 'done', 'todo')).toBe(false)
  expect(of('waiting', 'done', 'running', 'todo')).toBe(true)
  expect(of('running', 'done', 'waiting')).toBe(true)
  expect(of('running', 'done', 'todo')).toBe(true)
  expect(isAtWork(undefined)).toBe(false)
})

test('a disk is missing if its WWID is, also if another disk has its name now', () => {
  const disk = (id: string, wwid: string | null) => ({
    id,
    device: `/dev/${id}`,
    wwid,
    serial: null,
    model: 'PM9A3',
    size: 10,
  })
  const of = {
    name: 'a',
    install_disk: '/dev/sda',
    install_wwid: null,
    workload_disks: ['/dev/sdb', '/dev/sdc'],
    disk_wwids: { '/dev/sdb': 'naa.1' },
    agreed_disks: {},
  }
  expect(missingDisks(of, [disk('sda', null), disk('sdb', 'naa.9')])).toEqual([
    '/dev/sdb',
    '/dev/sdc',
  ])
  expect(missingDisks(of, [disk('sda', null), disk('sdx', 'naa.1'), disk('sdc', null)])).toEqual([])
  expect(missingDisks(of, [])).toEqual([])
})

test('a disk that appears late was not lost: a loss was missing in two readings at least 20 s apart', () => {
  const disk = { node_id: 'a', name: 'a', device: '/dev/sdb' }
  const began = Date.parse('2026-12-01T00:00:00Z')
  const after = (before: Observed | null, s: number, more: object = { missing_disks: [disk] }) =>
    observedAt(
      before,
      { ...seen(true, true), ...more },
      { at: began + s * 1000, isChanging: false },
    )
  const counts = (of: Observed) => of.missing_disks.map((d) => d.misses)
  const first = after(null, 0)
  expect(counts(first)).toEqual([1])
  expect(counts(after(first, 19))).toEqual([1])
  expect(counts(after(after(first, 19), 20))).toEqual([2])
  // A machine that still boots has two minutes.
  const booting = { missing_disks: [disk], booting: ['a'] }
  expect(counts(after(first, 119, booting))).toEqual([1])
  expect(counts(after(first, 120, booting))).toEqual([2])
  // A machine that doesn't answer shows nothing, so nothing is counted or forgotten.
  expect(after(first, 60, { silent: ['a'] }).missing_disks).toEqual(first.missing_disks)
  expect(counts(after(after(first, 20), 30, {}))).toEqual([])
})

test('what is not well is counted in readings at least 20 s apart', () => {
  const began = Date.parse('2026-12-01T00:00:00Z')
  const after = (before: Observed | null, s: number) =>
    observedAt(before, seen(false, false), { at: began + s * 1000, isChanging: false })
  expect(misses(after(after(null, 0), 5))).toEqual([1, 1])
  expect(misses(after(after(after(null, 0), 5), 21))).toEqual([2, 2])
})
