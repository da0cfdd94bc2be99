import { expect, test } from 'vitest'
import { shares, type Taken } from './shares.ts'

const of = (key: string, most: number) => [{ key, most }]
const give = (taken: Taken) => typeof taken === 'object' && taken.give()

test("a user gets no more than their share, and requests of other users are served before that user's waiting requests", async () => {
  const room = shares(4)
  const greedy = [await room.take(of('a', 2), 0), await room.take(of('a', 2), 0)]
  const waiting = [room.take(of('a', 2), 5_000), room.take(of('a', 2), 5_000)]
  expect(await room.take(of('a', 2), 5_000)).toBe('own')
  expect(await room.take(of('b', 2), 0)).toBeTypeOf('object')
  greedy.forEach(give)
  for (const taken of waiting) expect(await taken).toBeTypeOf('object')
})

test("the error of a refused request shows whether all places or only the user's share were in use", async () => {
  const room = shares(2)
  const taken = await room.take(of('a', 1), 0)
  expect(await room.take(of('a', 1), 1)).toBe('own')
  await room.take(of('b', 2), 0)
  expect(await room.take(of('c', 1), 1)).toBe('full')
  give(taken)
  give(taken)
  expect(await room.take(of('c', 1), 0)).toBeTypeOf('object')
  // Releasing twice counts once.
  expect(await room.take(of('d', 1), 1)).toBe('full')
})

test('a request needs a free place in both the user’s and the source’s share', async () => {
  const room = shares(10)
  const both = (person: string) => [
    { key: person, most: 5 },
    { key: 'source', most: 2 },
  ]
  await room.take(both('a'), 0)
  await room.take(both('b'), 0)
  expect(await room.take(both('c'), 1)).toBe('own')
})
