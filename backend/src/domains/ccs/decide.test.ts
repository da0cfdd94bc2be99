import { expect, test } from 'vitest'
import { dueMove, nextMoveAt } from './decide.ts'

const at = (day: number) => new Date(Date.UTC(2026, 0, day))
const cc = {
  status: 'waiting_start' as const,
  starts_at: at(10),
  expires_at: at(20),
  delegated_at: at(8),
  started_at: null,
  server_removed_at: null,
}
const active = { ...cc, status: 'active' as const, started_at: at(10) }

test('a commitment starts and is completed at its own times, however late that is noticed', () => {
  expect(dueMove(cc, at(9))).toBeNull()
  expect(dueMove(cc, at(10))).toEqual({ to: 'active', at: at(10) })
  expect(dueMove(cc, at(25))).toEqual({ to: 'active', at: at(10) })
  expect(dueMove(active, at(19))).toBeNull()
  expect(dueMove(active, at(25))).toEqual({ to: 'completed', at: at(20) })
})

test('a commitment that was delegated after its agreed start starts with the delegation', () => {
  expect(dueMove({ ...cc, delegated_at: at(12) }, at(12))).toEqual({ to: 'active', at: at(12) })
})

test('an active commitment fails when its server was removed, but not if that was after the end', () => {
  expect(dueMove({ ...active, server_removed_at: at(15) }, at(16))).toEqual({
    to: 'failed',
    at: at(15),
    reason: 'The server was removed',
  })
  expect(dueMove({ ...active, server_removed_at: at(15) }, at(25))).toEqual({
    to: 'failed',
    at: at(15),
    reason: 'The server was removed',
  })
  expect(dueMove({ ...active, server_removed_at: at(21) }, at(25))).toEqual({
    to: 'completed',
    at: at(20),
  })
})

test('a commitment whose server was removed before the start starts at its time and fails at the same moment', () => {
  const gone = { ...cc, server_removed_at: at(5) }
  expect(dueMove(gone, at(6))).toBeNull()
  expect(dueMove(gone, at(10))).toEqual({ to: 'active', at: at(10) })
  expect(dueMove({ ...active, server_removed_at: at(5) }, at(10))).toMatchObject({
    to: 'failed',
    at: at(10),
  })
})

test('a commitment that waits for its delegation is removed with its server; drafts and ended commitments stay', () => {
  const gone = { ...cc, server_removed_at: at(5) }
  expect(dueMove({ ...gone, status: 'waiting_delegation' }, at(6))).toEqual({
    to: 'removed',
    at: at(6),
    reason: 'The server was removed',
  })
  for (const status of ['not_committed', 'completed', 'failed', 'removed'] as const)
    expect(dueMove({ ...gone, status }, at(30))).toBeNull()
})

test('only commitments that wait for their start or are active have a next time', () => {
  expect([nextMoveAt(cc), nextMoveAt(active)]).toEqual([at(10), at(20)])
  for (const status of [
    'not_committed',
    'waiting_delegation',
    'completed',
    'failed',
    'removed',
  ] as const)
    expect(nextMoveAt({ ...cc, status })).toBeNull()
})
