import { expect, test } from 'vitest'
import { contactStateOf, standingOf, standingRank, troubleOf } from './server-trouble.ts'

const at = '2026-11-20T12:00:00Z'
const minutesLater = (n: number) => Date.parse(at) + n * 60_000
const well = {
  status: 'ready' as const,
  operation_id: null,
  talos: { reachable: true, unreachable_since: null, reason: null },
  kubernetes: { ready: true, reason: null, since: at },
}
const silent = { reachable: false, unreachable_since: at, reason: 'connection refused' }
const dead = {
  ready: false,
  reason: 'NodeStatusUnknown: Kubelet stopped posting node status',
  since: at,
}

test('a server that answers and is Ready, or was never contacted, has no problem', () => {
  expect(troubleOf(well, minutesLater(1))).toBeNull()
  expect(
    troubleOf(
      {
        ...well,
        status: 'maintenance',
        talos: { ...well.talos, reachable: null },
        kubernetes: null,
      },
      minutesLater(1),
    ),
  ).toBeNull()
})

test('a server that does not answer is unreachable with time and reason, whatever its status', () => {
  const unreachable = {
    kind: 'unreachable',
    word: 'Unreachable',
    since: at,
    reason: 'connection refused',
  }
  expect(troubleOf({ ...well, talos: silent }, minutesLater(1))).toEqual(unreachable)
  expect(troubleOf({ ...well, talos: silent, kubernetes: dead }, minutesLater(1))).toEqual(
    unreachable,
  )
  expect(
    troubleOf({ ...well, status: 'maintenance', talos: silent, kubernetes: null }, minutesLater(1)),
  ).toEqual(unreachable)
  expect(troubleOf({ ...well, status: 'deleted', talos: silent }, minutesLater(1))).toBeNull()
})

test('a server that failed in its cluster has that problem, whether or not it answers', () => {
  const failure = { reason: 'came back in maintenance: input/output error', since: at }
  for (const ill of [{}, { talos: silent }, { talos: silent, operation_id: 'o' }])
    expect(
      troubleOf({ ...well, status: 'maintenance', kubernetes: null, ...ill, failure }, 0),
    ).toEqual({ kind: 'failed', word: 'Failed', ...failure })
  expect(troubleOf({ ...well, status: 'deleted', failure }, 0)).toBeNull()
})

test('servers are ordered by what is said of them first, the worst first', () => {
  const sound = { ...well, identity: { state: 'confirmed' as const } }
  const free = { ...sound, status: 'maintenance' as const, kubernetes: null }
  const worstFirst = [
    { ...free, failure: { reason: null, since: at } },
    { ...sound, talos: silent },
    { ...sound, kubernetes: dead },
    { ...free, identity: { state: 'changed' as const } },
    { ...sound, trial: { state: 'undone' as const }, drift: {} },
    { ...sound, pending: {}, drift: {} },
    { ...sound, drift: {} },
    { ...sound, trial: { state: 'running' as const } },
    { ...free, identity: { state: 'unconfirmed' as const } },
    free,
    sound,
    { ...sound, status: 'deleted' as const, talos: silent },
  ]
  const ranks = worstFirst.map((server) => standingRank(server, minutesLater(1)))
  expect(ranks).toEqual(ranks.map((_, i) => i))
  expect(standingOf({ ...sound, talos: silent, operation_id: 'o' }, minutesLater(1))).toBe('Ready')
})

test('a server that answers but is NotReady in Kubernetes has a problem', () => {
  expect(troubleOf({ ...well, kubernetes: dead }, minutesLater(1))).toEqual({
    kind: 'not_ready',
    word: 'Node NotReady',
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

test('a server that installs or restarts during an operation is away, not unreachable', () => {
  const dark = { ...well, talos: silent, operation_id: 'o' }
  expect(contactStateOf(dark, minutesLater(14))).toBe('away')
  expect(contactStateOf(dark, minutesLater(16))).toBe('unreachable')
  expect(contactStateOf({ ...dark, operation_id: null }, minutesLater(1))).toBe('unreachable')
  expect(contactStateOf(well, minutesLater(1))).toBe('answers')
  expect(
    contactStateOf({ ...well, talos: { ...well.talos, reachable: null } }, minutesLater(1)),
  ).toBe('unasked')
})
