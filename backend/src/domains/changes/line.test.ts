import { expect, test } from 'vitest'
import { answerWithinMs } from '#contract/operation.ts'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { mostPlans } from './changing.ts'
import { planLine, TooManyPlans } from './line.ts'
import { planLimits } from './planning.ts'

test('of many plans a few run at once, the others in their order, and one that nobody waits for not at all', async () => {
  const inLine = planLine(2, 60_000)
  const [running, begun]: [Set<number>, number[]] = [new Set(), []]
  let most = 0
  const gone = new AbortController()
  const plans = Array.from({ length: 8 }, (_, i) =>
    inLine(i === 5 ? gone.signal : new AbortController().signal, async () => {
      begun.push(i)
      running.add(i)
      most = Math.max(most, running.size)
      await new Promise((resolve) => setImmediate(resolve))
      running.delete(i)
      return i
    }),
  )
  gone.abort(new Error('nobody waits'))
  const ends = await Promise.allSettled(plans)
  expect(ends.map((one) => one.status === 'fulfilled' && one.value)).toEqual([
    0,
    1,
    2,
    3,
    4,
    false,
    6,
    7,
  ])
  expect([most, begun]).toEqual([2, [0, 1, 2, 3, 4, 6, 7]])
})

test('a plan that has waited too long is refused, and leaves the line', async () => {
  const inLine = planLine(1, 1)
  const { signal } = new AbortController()
  const held = Promise.withResolvers<string>()
  const first = inLine(signal, () => held.promise)
  await expect(inLine(signal, () => Promise.resolve('late'))).rejects.toThrow(TooManyPlans)
  held.resolve('first')
  expect(await first).toBe('first')
  expect(await inLine(signal, () => Promise.resolve('next'))).toBe('next')
})

test('a plan that nobody waits for any more makes room in the line at once', async () => {
  const inLine = planLine(1, 60_000)
  const held = Promise.withResolvers<string>()
  const first = inLine(new AbortController().signal, () => held.promise)
  const gone = new AbortController()
  const left = Promise.allSettled(
    Array.from({ length: 5 }, () => inLine(gone.signal, () => Promise.resolve('never'))),
  )
  await expect(inLine(new AbortController().signal, () => held.promise)).rejects.toThrow(
    TooManyPlans,
  )
  gone.abort(new Error('nobody waits'))
  const next = inLine(new AbortController().signal, () => Promise.resolve('next'))
  expect((await left).map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  held.resolve('first')
  expect(await Promise.all([first, next])).toEqual(['first', 'next'])
})

test('one user takes neither all places of plans nor the whole line', async () => {
  const inLine = planLine(6, 60_000)
  const held = Promise.withResolvers<string>()
  const { signal } = new AbortController()
  const greedy = Array.from({ length: 19 }, () => inLine(signal, () => held.promise, 'greedy'))
  await expect(inLine(signal, () => held.promise, 'greedy')).rejects.toThrow(TooManyPlans)
  expect(await inLine(signal, () => Promise.resolve('planned'), 'other')).toBe('planned')
  held.resolve('held')
  expect(await Promise.all(greedy)).toEqual(Array(19).fill('held'))
})

test('clients wait longer than a plan, and a change that is planned anew, can take', () => {
  const longestPlanMs = planLimits.turnMs + planLimits.deadlineMs
  expect(answerWithinMs(clusterPlan)).toBeGreaterThan(longestPlanMs)
  expect(answerWithinMs(clusterChange)).toBeGreaterThan(mostPlans * longestPlanMs)
})
