import { expect, test } from 'vitest'
import { troubleOf } from './trouble.ts'

const at = '2026-11-20T12:00:00Z'
const minutesLater = (n: number) => Date.parse(at) + n * 60_000
const well = {
  operation_id: null,
  talos: { reachable: true, unreachable_since: null, reason: null },
  kubernetes: { ready: true, reason: null, since: at },
  failure: null,
}
const silent = { reachable: false, unreachable_since: at, reason: 'connection refused' }
const dead = {
  ready: false,
  reason: 'NodeStatusUnknown: Kubelet stopped posting node status',
  since: at,
}

test('a server that answers and is Ready, or was never contacted, has no problem', () => {
  expect(troubleOf(well, minutesLater(1))).toBeNull()
  const never = { ...well.talos, reachable: null }
  expect(troubleOf({ ...well, talos: never, kubernetes: null }, minutesLater(1))).toBeNull()
})

test('a server that does not answer is unreachable with time and reason, whatever Kubernetes says', () => {
  const unreachable = { kind: 'unreachable', since: at, reason: 'connection refused' }
  for (const kubernetes of [well.kubernetes, dead, null])
    expect(troubleOf({ ...well, talos: silent, kubernetes }, minutesLater(1))).toEqual(unreachable)
})

test('a server that failed in its cluster has that problem, whether or not it answers', () => {
  const failure = { reason: 'came back in maintenance: input/output error', since: at }
  for (const ill of [{}, { talos: silent }, { talos: silent, operation_id: 'o' }])
    expect(troubleOf({ ...well, kubernetes: null, ...ill, failure }, 0)).toEqual({
      kind: 'failed',
      ...failure,
    })
})

test('a server that answers but is NotReady in Kubernetes has a problem', () => {
  expect(troubleOf({ ...well, kubernetes: dead }, minutesLater(1))).toEqual({
    kind: 'not_ready',
    since: at,
    reason: dead.reason,
  })
})

test('a silent server with a running operation counts as away for 15 minutes', () => {
  for (const ill of [{ talos: silent }, { kubernetes: dead }]) {
    expect(troubleOf({ ...well, ...ill, operation_id: 'o' }, minutesLater(14))).toBeNull()
    expect(troubleOf({ ...well, ...ill, operation_id: 'o' }, minutesLater(16))).not.toBeNull()
  }
})
