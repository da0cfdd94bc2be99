import { expect, test } from 'vitest'
import { PasswordsBusy, type Source, turns } from './turns.ts'

const roomy = { atOnce: 1, mostWaiting: 100, mostOfOne: 100, longestWaitMs: 60_000 }

/** A queue that serves one request at a time, and is busy until `open` is called. `order` lists the served sources. */
function held(limits: Partial<typeof roomy> = {}) {
  const queue = turns({ ...roomy, ...limits })
  const gate = Promise.withResolvers<void>()
  const order: string[] = []
  const first = queue.take({ source: 'first' }, () => gate.promise)
  const come = (who: Source, name = who.source) =>
    queue
      .take(who, async () => void order.push(name))
      .then(
        () => 'served' as const,
        (error: unknown) => {
          if (!(error instanceof PasswordsBusy)) throw error
          return 'busy' as const
        },
      )
  return {
    queue,
    order,
    come,
    open: async (all: readonly Promise<unknown>[]) => {
      gate.resolve()
      await first
      return Promise.all(all)
    },
  }
}

test('the first request of a source is served before further requests of a source that sent a hundred', async () => {
  const { come, open, order } = held()
  const all = [...Array.from({ length: 50 }, (_, n) => come({ source: 'a' }, `a${n}`)), come({ source: 'b' })]
  await open(all)
  expect(order.indexOf('b')).toBeLessThanOrEqual(1)
})

test('a known device is served first', async () => {
  const { come, open, order } = held()
  const all = [...Array.from({ length: 20 }, (_, n) => come({ source: `address ${n}` })), come({ source: 'device', isKnown: true })]
  await open(all)
  expect(order[0]).toBe('device')
})

test('of many new sources that wait, the oldest and the newest are served before the others', async () => {
  const { come, open, order } = held()
  await open(Array.from({ length: 10 }, (_, n) => come({ source: String(n) })))
  expect(order.slice(0, 4).toSorted()).toEqual(['0', '1', '8', '9'])
})

test('a new source is served before a source that has sent a request already', async () => {
  const { queue, come, open, order } = held()
  const all = [come({ source: 'guesser' }, 'guess 1')]
  await open(all)
  const gate = Promise.withResolvers<void>()
  const holding = queue.take({ source: 'other' }, () => gate.promise)
  const later = [come({ source: 'guesser' }, 'guess 2'), come({ source: 'new' })]
  gate.resolve()
  await Promise.all([holding, ...later])
  expect(order).toEqual(['guess 1', 'new', 'guess 2'])
})

test("one source can't fill the queue, and a full queue drops the request with the lowest priority", async () => {
  const { come, open } = held({ mostWaiting: 6, mostOfOne: 3 })
  const greedy = Array.from({ length: 5 }, () => come({ source: 'a' }))
  const others = ['b', 'c', 'd'].map((source) => come({ source }))
  const late = come({ source: 'e', isKnown: true })
  const [greedyAnswers, otherAnswers, lateAnswer] = await open([Promise.all(greedy), Promise.all(others), late])
  expect(lateAnswer).toBe('served')
  expect((greedyAnswers as string[]).slice(3)).toEqual(['busy', 'busy'])
  expect([...(greedyAnswers as string[]), ...(otherAnswers as string[])].filter((answer) => answer === 'busy')).toHaveLength(3)
})

test('a request that waits too long is refused, and a failed request frees its place', async () => {
  const queue = turns({ ...roomy, longestWaitMs: 20 })
  const gate = Promise.withResolvers<void>()
  const first = queue.take({ source: 'a' }, () => gate.promise)
  await expect(queue.take({ source: 'b' }, async () => 1)).rejects.toBeInstanceOf(PasswordsBusy)
  gate.resolve()
  await first
  await expect(queue.take({ source: 'a' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await queue.take({ source: 'a' }, async () => 'yes')).toBe('yes')
})
