import { describe, expect, test } from 'vitest'
import { silenceReason, silentAfter } from './silence.ts'

const at = '2026-11-27T08:00:00.000Z'
const change = { at, title: 'Change patches of web', operation_id: null, take_back: null }
const silentAt = (unreachable_since: string) => ({
  reachable: false,
  unreachable_since,
  reason: 'connection refused.',
})

describe('a server that falls silent', () => {
  test.each([
    ['2026-11-27T08:00:00.000Z', '0 s'],
    ['2026-11-27T08:00:40.000Z', '40 s'],
    ['2026-11-27T08:05:00.000Z', '5 min'],
  ])('at %s, within five minutes after a change, names the change', (since, after) => {
    const server = silentAt(since)
    expect(silentAfter(server, change)).toBe(change)
    expect(silenceReason(server, change)).toBe(
      `connection refused. It fell silent ${after} after a change: Change patches of web`,
    )
    expect(silenceReason({ ...server, reason: null }, change)).toBe(
      `It fell silent ${after} after a change: Change patches of web`,
    )
  })

  test.each([
    ['before the change', silentAt('2026-11-27T07:59:59.999Z'), change],
    ['later than five minutes', silentAt('2026-11-27T08:05:00.001Z'), change],
    ['without a change', silentAt('2026-11-27T08:00:10.000Z'), null],
    ['not at all', { reachable: true, unreachable_since: null, reason: null }, change],
    ['and was never asked', { reachable: null, unreachable_since: null, reason: null }, change],
  ])('%s has its own reason only', (_, server, last) => {
    expect(silentAfter(server, last)).toBeNull()
    expect(silenceReason(server, last)).toBe(server.reason)
  })

  test.each([
    ['patches', 'It can be taken back'],
    ['talos', 'Talos can be rolled back on the server as soon as it answers'],
  ] as const)('is offered that a change of %s is taken back', (take_back, offer) => {
    expect(silenceReason(silentAt(at), { ...change, take_back })).toBe(
      `connection refused. It fell silent 0 s after a change: Change patches of web. ${offer}`,
    )
  })
})
