import { describe, expect, test } from 'vitest'
import { isWaitedFor, nextOf, type Phase, type Sight, type Trial, undoneSentence } from './judge.ts'

const began = 1_000_000
const trial: Trial = {
  cluster_id: 'c',
  node_id: 'n',
  generation: 3,
  hash: 'new',
  former_hash: 'old',
  attempt: 'patches',
  address: '10.0.0.7',
  phase: 'trying',
  lasts_ms: 60_000,
  began_at: new Date(began),
  answered_at: new Date(began + 100),
  confirmed_at: null,
  reason: null,
}
const lost = { answered_at: null }
const sees = (active: 'trial' | 'former' | 'other', stored = 'former' as typeof active): Sight => ({
  active,
  stored,
})
const at = (phase: Phase, more: Partial<Trial> = {}): Trial => ({ ...trial, phase, ...more })
const next = (of: Trial, sight: Sight, afterMs: number) =>
  nextOf(of, 'web-1', sight, began + afterMs)
const confirmed = { confirmed_at: new Date(began + 1_000) }
const refused = { reason: 'refused' }

describe.each<[string, Trial, Sight, number, string]>([
  ['silent while it is tried', at('trying'), null, 1_000, 'wait'],
  ['silent after the end', at('trying'), null, 600_000, 'wait'],
  [
    'with the change, on which it may not have acted yet',
    at('trying'),
    sees('trial'),
    4_000,
    'wait',
  ],
  ['with the change after some seconds', at('trying'), sees('trial'), 5_200, 'confirm'],
  [
    'with the change in the middle of a short trial',
    at('trying', { lasts_ms: 5_000 }),
    sees('trial'),
    1_400,
    'confirm',
  ],
  [
    'with the change, and the clock was set back',
    at('trying', { answered_at: new Date(began + 9_000) }),
    sees('trial'),
    1_000,
    'confirm',
  ],
  [
    'with the change after the end: its timer was stopped',
    at('trying'),
    sees('trial'),
    70_000,
    'confirm',
  ],
  ['with the change stored', at('trying'), sees('trial', 'trial'), 1_000, 'settle'],
  ['back after the end', at('trying'), sees('former'), 62_100, 'end'],
  ['back at the end of its timer', at('trying'), sees('former'), 59_000, 'end'],
  ['restarted in between', at('trying'), sees('former'), 20_000, 'end'],
  ['with a third configuration', at('trying'), sees('other', 'other'), 1_000, 'wait'],
  ['with a third configuration at the end', at('trying'), sees('other', 'other'), 70_000, 'end'],
  [
    'without the change while the call may arrive',
    at('trying', lost),
    sees('former'),
    5_000,
    'wait',
  ],
  ['without the change after that', at('trying', lost), sees('former'), 18_000, 'drop'],
  [
    'back after the end though the answer was lost',
    at('trying', lost),
    sees('former'),
    61_000,
    'end',
  ],
  [
    'back after a time that is shorter than the call may take',
    at('trying', { ...lost, lasts_ms: 5_000 }),
    sees('former'),
    9_000,
    'wait',
  ],
  [
    'back after such a time when the call has surely ended',
    at('trying', { ...lost, lasts_ms: 5_000 }),
    sees('former'),
    18_000,
    'end',
  ],
  [
    'with the change though the answer was lost',
    at('trying', lost),
    sees('trial'),
    5_000,
    'confirm',
  ],
  ['silent, and the confirmation may have arrived', at('confirming'), null, 5_000, 'wait'],
  [
    'with a confirmation whose answer was lost',
    at('confirming'),
    sees('trial', 'trial'),
    5_000,
    'settle',
  ],
  ['without the confirmation', at('confirming'), sees('trial'), 5_000, 'confirm'],
  ['back before the confirmation arrived', at('confirming'), sees('former'), 65_000, 'end'],
  ['just confirmed', at('confirmed', confirmed), sees('trial', 'trial'), 2_000, 'wait'],
  ['confirmed and read back', at('confirmed', confirmed), sees('trial', 'trial'), 5_000, 'hold'],
  ['confirmed and silent', at('confirmed', confirmed), null, 5_000, 'wait'],
  ['confirmed and silent for long', at('confirmed', confirmed), null, 200_000, 'hold'],
  ['back after its power was cut', at('confirmed', confirmed), sees('former'), 5_000, 'drop'],
  ['with a confirmation that was refused', at('undoing', refused), sees('trial'), 5_000, 'undo'],
  ['with the former configuration again', at('undoing', refused), sees('former'), 5_000, 'end'],
  ['silent after a refusal', at('undoing', refused), null, 5_000, 'wait'],
])('a server %s', (_, of, sight, afterMs, act) => {
  test(`leads to ${act}`, () => {
    expect(next(of, sight, afterMs).act).toBe(act)
  })
})

test('other servers wait for a trial until its machine has undone the change', () => {
  const trial = { lasts_ms: 60_000 }
  expect([0, 60_000, 76_000, 78_000].map((ms) => isWaitedFor(trial, ms))).toEqual([
    true,
    true,
    true,
    false,
  ])
})

test('the sentence of an undone change names the time', () => {
  expect(undoneSentence(60_000)).toBe(
    'The server did not answer within 60 s with the change, so Talos has undone it',
  )
  expect(next(at('trying'), sees('former'), 63_000)).toEqual({
    act: 'end',
    reason: undoneSentence(60_000),
  })
  expect(next(at('trying'), sees('former'), 20_000)).toMatchObject({
    reason: expect.stringContaining('web-1 has restarted'),
  })
})
