import { expect, test } from 'vitest'
import type { EtcdMemberHealth } from '#contract/clusters/health.ts'
import type { Operation, Step } from '#contract/operations.ts'
import { isAtWork, missingDisks, observedOf } from './observed.ts'

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
const misses = (now: ReturnType<typeof observedOf>) => [
  now.etcd[0]!.misses,
  now.api_servers[0]!.misses,
]

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
