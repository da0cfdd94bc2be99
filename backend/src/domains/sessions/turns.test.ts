import { expect, test } from 'vitest'
import { type Lane, PasswordsBusy, type Source, turns, vouched } from './turns.ts'

const roomy = {
  atOnce: 1,
  atOnceOfStrangers: 1,
  mostWaiting: 100,
  mostOfSource: 100,
  mostOfPair: 100,
  longestWaitMs: 60_000,
}

const from = (lane: Lane, source: string, account = `account of ${source}`): Source => ({
  lane,
  source,
  account,
})
const stranger = (source: string, account?: string): Source => from('stranger', source, account)

/**
 * A queue that serves one request at a time, and is busy until `open` is called. `order` lists the
 * served sources.
 */
function held(limits: Partial<typeof roomy> = {}) {
  const queue = turns({ ...roomy, ...limits })
  const gate = Promise.withResolvers<void>()
  const order: string[] = []
  const first = queue.take(vouched('first'), () => gate.promise)
  const come = (
    who: Source,
    { name = who.source, signal }: { name?: string; signal?: AbortSignal } = {},
  ) =>
    queue
      .take(who, async () => void order.push(name), signal)
      .then(
        () => 'served' as const,
        (error: unknown) => {
          if (!(error instanceof PasswordsBusy)) throw error
          return error.byItself ? ('busy by itself' as const) : ('busy' as const)
        },
      )
  return {
    queue,
    order,
    come,
    open: async <T>(all: readonly Promise<T>[]) => {
      gate.resolve()
      await first
      return Promise.all(all)
    },
  }
}

test('a source that came back after a refusal is served before fresh sources, however many there are', async () => {
  const { come, open, order } = held()
  await open([
    ...Array.from({ length: 50 }, (_, n) => come(stranger(`fresh ${n}`))),
    come(from('returning', 'mistaken')),
  ])
  expect(order[0]).toBe('mistaken')
})

test('known devices are served first, then sources that came back, then strangers, then slowed sources', async () => {
  const { come, open, order } = held()
  await open(
    (['slowed', 'stranger', 'returning', 'known'] as const).map((lane) => come(from(lane, lane))),
  )
  expect(order).toEqual(['known', 'returning', 'stranger', 'slowed'])
})

test('no lane waits without end: of four turns, one goes to a lower lane', async () => {
  const { come, open, order } = held()
  const many = (['known', 'returning', 'stranger', 'slowed'] as const).flatMap((lane) =>
    Array.from({ length: 20 }, (_, n) => come(from(lane, `${lane} ${n}`), { name: lane })),
  )
  await open(many)
  for (const lane of ['returning', 'stranger', 'slowed'])
    expect(order.indexOf(lane)).toBeLessThan(8)
  expect(order.slice(0, 12).filter((lane) => lane === 'known').length).toBeGreaterThanOrEqual(4)
})

test('strangers never hold all places', async () => {
  const queue = turns({ ...roomy, atOnce: 2 })
  const gate = Promise.withResolvers<void>()
  const order: string[] = []
  const busy = ['a', 'b', 'c'].map((source) =>
    queue.take(stranger(source), () => {
      order.push(source)
      return gate.promise
    }),
  )
  await queue.take(from('returning', 'mistaken'), async () => void order.push('mistaken'))
  await queue.take(from('known', 'device'), async () => void order.push('device'))
  expect(order).toEqual(['a', 'mistaken', 'device'])
  gate.resolve()
  await Promise.all(busy)
  expect(order.toSorted()).toEqual(['a', 'b', 'c', 'device', 'mistaken'])
})

test('of many new sources that wait, the oldest and the newest are served before the others', async () => {
  const { come, open, order } = held()
  await open(Array.from({ length: 10 }, (_, n) => come(stranger(String(n)))))
  expect(order.slice(0, 4).toSorted()).toEqual(['0', '1', '8', '9'])
})

test('guesses at one account only delay that account', async () => {
  const { come, open, order } = held()
  const guess = (n: number) => come(stranger(`fresh ${n}`, 'attacked'))
  await open([
    ...Array.from({ length: 20 }, (_, n) => guess(n)),
    come(stranger('user', 'other')),
    ...Array.from({ length: 20 }, (_, n) => guess(20 + n)),
  ])
  expect(order.indexOf('user')).toBeLessThan(2)
})

test('users behind one address wait for each other no longer than for others', async () => {
  const { come, open, order } = held()
  const colleagues = Array.from({ length: 40 }, (_, n) => come(stranger('NAT', `colleague ${n}`)))
  await open([...colleagues, come(from('returning', 'NAT', 'mistaken'), { name: 'mistaken' })])
  expect(order[0]).toBe('mistaken')
})

test('neither one source nor one source at one account can fill the queue', async () => {
  const { come, open } = held({ mostOfSource: 4, mostOfPair: 2 })
  const all = await open([
    ...Array.from({ length: 4 }, () => come(stranger('a', 'one'))),
    ...['two', 'three', 'four'].map((account) => come(stranger('a', account))),
  ])
  expect(all).toEqual([
    'served',
    'served',
    'busy by itself',
    'busy by itself',
    'served',
    'served',
    'busy by itself',
  ])
})

test('a full lane refuses a request of the account that most requests name, and no request of another lane', async () => {
  const { come, open } = held({ mostWaiting: 6 })
  const known = come(from('known', 'device'))
  const guesses = Array.from({ length: 5 }, (_, n) => come(stranger(`fresh ${n}`, 'attacked')))
  const others = ['b', 'c', 'd'].map((source) => come(stranger(source)))
  expect(await open([known, ...others])).toEqual(['served', 'served', 'served', 'served'])
  expect((await Promise.all(guesses)).filter((answer) => answer === 'busy')).toHaveLength(2)
})

test('a request whose client disconnects leaves the queue', async () => {
  const { come, open, order } = held()
  const gone = new AbortController()
  const leaving = come(stranger('gone'), { signal: gone.signal })
  gone.abort()
  expect(
    await open([leaving, come(stranger('late'), { signal: gone.signal }), come(stranger('user'))]),
  ).toEqual(['busy', 'busy', 'served'])
  expect(order).toEqual(['user'])
})

test('a request that waits too long is refused, and a failed request frees its place', async () => {
  const queue = turns({ ...roomy, longestWaitMs: 20 })
  const gate = Promise.withResolvers<void>()
  const first = queue.take(stranger('a'), () => gate.promise)
  await expect(queue.take(stranger('b'), async () => 1)).rejects.toBeInstanceOf(PasswordsBusy)
  gate.resolve()
  await first
  await expect(queue.take(stranger('a'), () => Promise.reject(new Error('no')))).rejects.toThrow(
    'no',
  )
  expect(await queue.take(stranger('a'), async () => 'yes')).toBe('yes')
})
