import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { sentChangeSentence } from '../network/sent-change.ts'
import {
  canLose,
  ConfirmedLoss,
  lossOfQuery,
  queryOfLoss,
  RollOutLoss,
  rollOutUndoRule,
  undoAfter,
  undoRule,
} from './losses.ts'

const sentences = (schema: typeof ConfirmedLoss, value: unknown) => {
  const parsed = z.safeParse(schema, value)
  return parsed.success ? [] : parsed.error.issues.map(({ message }) => message)
}
const after = (undo_after_seconds: unknown) => [{ name: 'cp-1', undo_after_seconds }]

test('a loss is confirmed by a name, or by a name with a time within the bounds', () => {
  for (const value of [['cp-1'], after(60), after(3_600), after(null)])
    expect(sentences(ConfirmedLoss, value)).toEqual([])
  for (const value of [59, 3_601, 60.5, 0, -300])
    expect(sentences(ConfirmedLoss, after(value)).length).toBeGreaterThan(0)
  expect(sentences(ConfirmedLoss, after(59))).toEqual([undoRule])
  expect(sentences(RollOutLoss, after(301))).toEqual([rollOutUndoRule])
  for (const value of [['cp-1'], after(300), after(null)])
    expect(sentences(RollOutLoss, value)).toEqual([])
  for (const value of [after('never'), [{ name: 'cp-1' }], [7]])
    expect(sentences(ConfirmedLoss, value)).toEqual([
      'Give the name of a server, or {name, undo_after_seconds}',
    ])
})

test('the old form means five minutes, and another name says nothing', () => {
  expect(undoAfter('cp-1', ['cp-1'])).toBe(300)
  expect(undoAfter('cp-1', [{ name: 'cp-1', undo_after_seconds: null }])).toBe(null)
  expect(undoAfter('cp-1', [{ name: 'cp-1', undo_after_seconds: 90 }])).toBe(90)
  expect(undoAfter('cp-1', ['cp-2'])).toBe(undefined)
  const loss = { name: 'cp-1', reason: 'Steelyard would lose cp-1: why' }
  expect(canLose([loss], [{ name: 'cp-1', undo_after_seconds: 90 }]).ok).toBe(true)
  expect(canLose([loss], ['cp-2']).ok).toBe(false)
})

test('a query carries what a body carries', () => {
  for (const consent of ['cp-1', ...after(90), ...after(null)]) {
    expect(lossOfQuery(queryOfLoss([consent as string]))).toEqual([consent])
  }
  expect(queryOfLoss([])).toEqual({})
})

const change = { name: 'cp-1', reach: { tried: true }, undoAfterSeconds: 300 } as const
const restarts = { tried: false, why: 'cp-1 restarts for it' } as const

test.each([
  [
    { ...change, undoAfterSeconds: 60 },
    'The change of the network of cp-1 is tried first: Talos undoes it after 60 s unless Steelyard reaches the server with it',
  ],
  [
    { ...change, loss: 'why', when: 'asked' },
    'Steelyard would lose cp-1: why. Once its loss is confirmed, the change is tried first: Talos undoes it after 5 min unless Steelyard reaches the server with it',
  ],
  [
    { ...change, undoAfterSeconds: null },
    'The change of the network of cp-1 is sent for good: nothing will undo it',
  ],
  [
    { ...change, when: 'running' },
    'The change is on trial: Talos undoes it after 5 min unless Steelyard reaches the server with it',
  ],
] as const)('%o is told', (told, sentence) => expect(sentChangeSentence(told)).toBe(sentence))

test('nobody promises a way back for what no trial reaches, and that comes first', () => {
  for (const when of ['asked', 'chosen', 'running'] as const)
    for (const undoAfterSeconds of [60, 300, 3_600, null]) {
      const said = sentChangeSentence({
        ...change,
        reach: restarts,
        undoAfterSeconds,
        loss: 'why',
        when,
      })
      expect(said).toBe(
        "The change of the network of cp-1 can't be tried, because cp-1 restarts for it: nothing will undo it. Steelyard would lose cp-1: why",
      )
    }
})
