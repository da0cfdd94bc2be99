import { expect, test } from 'vitest'
import {
  breakMs,
  type EtcdOrder,
  type EtcdSeen,
  orderOf,
  progressOf,
  pullText,
  standingOf,
} from './etcd-order.ts'

const now = Date.UTC(2026, 10, 26, 12)
const waiting: EtcdSeen = {
  bootId: 'boot-1',
  state: 'Preparing',
  message: 'Running pre state',
  start: '2026-11-26T11:59:00.000Z',
  members: [],
  pull: null,
}
/** What the machine shows after the bootstrap: Talos has started etcd anew. */
const started: EtcdSeen = { ...waiting, start: '2026-11-26T12:00:01.000Z' }
const order = orderOf(waiting, new Date(now))
const hour = 3_600_000
const standing = (seen: EtcdSeen, afterMs: number, one: EtcdOrder = order) =>
  standingOf(one, seen, (since) => now + afterMs - since.getTime())

test('an order is sent once, and never again while the machine carries it out, however long that takes', () => {
  expect(standing(waiting, 0, { called_at: null, boot_id: null, etcd_start: null })).toEqual({
    isDue: true,
  })
  for (const state of ['Starting', 'Waiting', 'Preparing', 'Running'])
    expect(standing({ ...started, state }, hour)).toEqual({ isDue: false, why: null })
})

test('an order is sent again if the machine shows that it was lost: the machine has restarted since, or etcd runs on as before', () => {
  expect(standing({ ...started, bootId: 'boot-2' }, 1)).toEqual({ isDue: true })
  expect(standing(waiting, 1)).toEqual({ isDue: true })
  // An order of an earlier version of Steelyard has no evidence.
  expect(standing(waiting, 1, { ...order, boot_id: null })).toEqual({ isDue: true })
})

test('while Talos stops etcd for the order, nothing is sent; if etcd stays stopped, the order is sent again', () => {
  for (const state of ['Stopping', 'Finished']) {
    expect(standing({ ...waiting, state }, 1)).toEqual({ isDue: false, why: null })
    expect(standing({ ...waiting, state }, breakMs)).toEqual({ isDue: true })
  }
})

test('a failed etcd is started again after a break, and the reason is shown until then', () => {
  const failed = {
    ...started,
    state: 'Failed',
    message: 'Failed to run pre stage: failed to pull image',
  }
  const shown = standing(failed, 1)
  expect(shown).toEqual({ isDue: false, why: 'Failed to run pre stage: failed to pull image' })
  expect(progressOf('db-1', new Date(now), failed, { isDue: false, why: failed.message })).toBe(
    'etcd failed on db-1: Failed to run pre stage: failed to pull image. It is started again',
  )
  expect(standing(failed, breakMs)).toEqual({ isDue: true })
})

test('the sentence says what is pulled, and how far', () => {
  const image = 'registry.k8s.io/etcd:v3.6.12'
  expect(progressOf('db-1', new Date(now), started, { isDue: false, why: null })).toBe(
    'etcd was started on db-1 at 12:00 UTC; waiting for its first member',
  )
  expect(pullText('etcd', { image, progress: null }, 'db-1')).toBe(
    `etcd's image ${image} is being pulled on db-1`,
  )
  expect(pullText('etcd', { image, progress: '29 MiB of 50 MiB' }, 'db-1')).toBe(
    `etcd's image ${image} is being pulled on db-1 (29 MiB of 50 MiB)`,
  )
  expect(pullText('kubelet', { image, progress: 'unpacking' })).toBe(
    `kubelet's image ${image} is being unpacked`,
  )
})
