import { expect, test } from 'vitest'
import { testClock } from '../testing/clock.ts'
import type { Caller } from './caller.ts'
import { streams } from './streams.ts'

const of = (userId: string, sessionId: string): Caller => ({
  kind: 'user',
  userId,
  email: '',
  sessionId,
  scopes: [],
  ip: '',
  requestId: '',
})
const nothing = () => undefined

test('a user can open at most fifty event streams over all sessions, and other users are not blocked', () => {
  const all = streams(testClock())
  const ends = Array.from({ length: 50 }, (_, i) =>
    all.add({
      caller: of('a', `session ${i % 5}`),
      source: undefined,
      endsAt: undefined,
      close: nothing,
    }),
  )
  expect(() =>
    all.add({ caller: of('a', 'another'), source: undefined, endsAt: undefined, close: nothing }),
  ).toThrow('too many live views')
  all.add({ caller: of('b', 'session'), source: undefined, endsAt: undefined, close: nothing })
  ends[0]!()
  all.add({ caller: of('a', 'another'), source: undefined, endsAt: undefined, close: nothing })
  expect(all.count()).toBe(51)
})

test('a session that ends between the token check and the start of the stream gets no stream', () => {
  const clock = testClock()
  const all = streams(clock)
  all.endSession('over')
  expect(() =>
    all.add({ caller: of('a', 'over'), source: undefined, endsAt: undefined, close: nothing }),
  ).toThrow('Session expired')
  all.add({ caller: of('a', 'stands'), source: undefined, endsAt: undefined, close: nothing })
  expect(all.count()).toBe(1)
})

test('one source can use only a part of all streams, regardless of who signs in there', () => {
  const all = streams(testClock())
  const add = (i: number, source: string | undefined) =>
    all.add({
      caller: of(`person ${i}`, `session ${i}`),
      source,
      endsAt: undefined,
      close: nothing,
    })
  for (let i = 0; i < 250; i++) add(i, '203.0.113.7')
  expect(() => add(250, '203.0.113.7')).toThrow('from this address')
  add(250, '203.0.113.8')
  for (let i = 0; i < 300; i++) add(i, undefined)
})
