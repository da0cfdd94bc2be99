import { expect, test } from 'vitest'
import { slowAnswers } from './slow-answers.ts'

const limits = { share: 1 / 4, burstMs: 0, longestMs: 600_000, most: 100 }

/** Holds refusals and notes in which order they are answered. */
function holding(more: Partial<typeof limits> = {}) {
  const slow = slowAnswers({ ...limits, ...more })
  const answered: string[] = []
  const hold = (name: string, costMs: number, account = name) =>
    slow.hold(account, costMs).then(() => void answered.push(name))
  return { slow, answered, hold }
}

test('a refusal is answered at once unless those before it used up the share', async () => {
  const { answered, hold } = holding()
  await hold('first', 60_000)
  void hold('second', 1)
  await new Promise(setImmediate)
  expect(answered).toEqual(['first'])
})

test('refusals within the burst are answered at once', async () => {
  const { answered, hold } = holding({ burstMs: 10_000 })
  for (const name of ['a', 'b', 'c']) await hold(name, 1)
  expect(answered).toEqual(['a', 'b', 'c'])
})

test('refusals are answered at the pace of their cost', async () => {
  const { answered, hold } = holding()
  const began = performance.now()
  await Promise.all(Array.from({ length: 11 }, (_, n) => hold(String(n), 5)))
  expect(answered).toHaveLength(11)
  // Ten waited for the cost of the one before: 5 ms at a quarter of the time.
  expect(performance.now() - began).toBeGreaterThanOrEqual(195)
})

test('of many refusals, the newest and one of the least attacked account are answered first', async () => {
  const { answered, hold } = holding()
  await hold('first', 5)
  const all = [
    ...Array.from({ length: 5 }, (_, n) => hold(`guess ${n}`, 5, 'attacked')),
    hold('mistake', 5, 'other'),
    hold('newest', 5, 'attacked'),
  ]
  await Promise.all(all)
  expect(answered.slice(1, 3).toSorted()).toEqual(['mistake', 'newest'])
})

test('no refusal is held back longer than the limit, and not more refusals than the limit', async () => {
  const late = holding({ longestMs: 20 })
  await late.hold('first', 60_000)
  await late.hold('second', 1)
  const full = holding({ most: 3 })
  await full.hold('first', 60_000)
  for (let n = 0; n < 5; n++) void full.hold(`guess ${n}`, 1, 'attacked')
  await new Promise(setImmediate)
  expect(full.answered).toHaveLength(3)
  full.slow.release()
  await new Promise(setImmediate)
  expect(full.answered).toHaveLength(6)
})

test('nobody waits for the refusal of a client that has disconnected', async () => {
  const { slow, answered, hold } = holding()
  await hold('first', 5)
  const gone = new AbortController()
  const leaving = Array.from({ length: 20 }, (_, n) => slow.hold(`gone ${n}`, 60_000, gone.signal))
  gone.abort()
  await Promise.all([...leaving, slow.hold('late', 60_000, gone.signal)])
  await hold('waiting', 5)
  expect(answered).toEqual(['first', 'waiting'])
})
