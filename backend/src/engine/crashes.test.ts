import { expect, test } from 'vitest'
import type { Job } from './engine.ts'
import { freshDatabase } from '../testing/databases.ts'
import { type EngineProcess, engineProcess } from '../testing/engine.ts'

const owner = 'the same installation'
const waitFor = (condition: () => boolean | Promise<boolean>) =>
  expect.poll(condition, { interval: 20 }).toBe(true)

/** A process whose runs never end by themselves. `begun`: the crashes that each run was told of. */
async function lives(act: (job: Job, life: number) => Promise<void>, { isCarried = true } = {}) {
  const connection = await freshDatabase()
  const begun: number[] = []
  let life = 0
  const start = async (): Promise<EngineProcess> => {
    const own = life++
    const one = engineProcess(
      connection,
      async (job) => {
        begun.push(job.crashes)
        await act(job, own)
      },
      { owner, isCarried, concurrency: 1 },
    )
    await one.start()
    return one
  }
  const row = (one: EngineProcess) =>
    one.db.selectFrom('wake_up').selectAll().where('key', '=', 'a').executeTakeFirstOrThrow()
  return { connection, begun, start, row }
}
/** Until the process ends. */
const forever = (job: Job): Promise<void> =>
  new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)))

/** Lets each of so many processes run the object, and ends it. */
async function dieTimes(
  { start, begun }: Pick<Awaited<ReturnType<typeof lives>>, 'start' | 'begun'>,
  times: number,
): Promise<void> {
  for (let life = 0; life < times; life++) {
    const one = await start()
    const before = begun.length
    if (life === 0) await one.wake('a')
    await waitFor(() => begun.length > before)
    await one.die()
  }
}

test('an object whose run ends the process three times alone is halted, whatever wakes it, until it is resumed', async () => {
  const { begun, start, row } = await lives((job, life) =>
    life < 3 ? forever(job) : Promise.resolve(),
  )
  await dieTimes({ start, begun }, 3)
  const last = await start()
  await waitFor(async () => (await row(last)).halted_at !== null)
  await last.wake('a')
  await last.wake('b')
  await waitFor(() => begun.length === 4)
  const halted = await row(last)
  expect(halted).toMatchObject({
    owner: null,
    crashes: 3,
    last_error: expect.stringContaining('three times in a row') as string,
  })
  const minutes = (halted.retry_at!.getTime() - halted.halted_at!.getTime()) / 60_000
  expect(Math.round(minutes)).toBe(10)
  expect(begun).toEqual([0, 1, 2, 0])
  expect(await last.resume('a')).toBe(true)
  await waitFor(() => begun.length === 5)
  await waitFor(async () => (await row(last)).owner === null)
  expect(await row(last)).toMatchObject({
    halted_at: null,
    retry_at: null,
    crashes: 0,
    failures: 0,
    last_error: null,
  })
  expect(await last.resume('a')).toBe(false)
  await last.stop()
})

test('a halted object is tried again by itself, then once an hour, and goes on after a run that ends', async () => {
  const { begun, start, row } = await lives((job, life) =>
    life < 4 ? forever(job) : Promise.resolve(),
  )
  await dieTimes({ start, begun }, 3)
  const due = (one: EngineProcess) =>
    one.db
      .updateTable('wake_up')
      .set({ retry_at: new Date(0) })
      .where('key', '=', 'a')
      .execute()
  const fourth = await start()
  await waitFor(async () => (await row(fourth)).halted_at !== null)
  await due(fourth)
  await waitFor(() => begun.length === 4)
  expect(await row(fourth)).toMatchObject({ trying: true, halted_at: null })
  await fourth.die()
  const fifth = await start()
  await waitFor(async () => (await row(fifth)).halted_at !== null)
  const { halted_at, retry_at } = await row(fifth)
  expect(Math.round((retry_at!.getTime() - halted_at!.getTime()) / 60_000)).toBe(60)
  await due(fifth)
  await waitFor(() => begun.length === 5)
  await waitFor(async () => (await row(fifth)).owner === null)
  expect(await row(fifth)).toMatchObject({ halted_at: null, retry_at: null, crashes: 0 })
  await fifth.stop()
})

test('an end of the process with several runs counts against none, and they run one at a time after it', async () => {
  const connection = await freshDatabase()
  const ends = { a: 4, b: 4, c: 4 } as Record<string, number>
  let running = 0
  let most = 0
  const start = async (life: number) => {
    const one = engineProcess(
      connection,
      async (job) => {
        running++
        most = Math.max(most, running)
        try {
          if (life < 4) await forever(job)
          else ends[job.key] = 0
          await new Promise((resolve) => setImmediate(resolve))
        } finally {
          running--
        }
      },
      { owner, isCarried: true },
    )
    await one.start()
    return one
  }
  const rows = (one: EngineProcess) =>
    one.db.selectFrom('wake_up').selectAll().orderBy('key').execute()
  const first = await start(0)
  for (const key of Object.keys(ends)) await first.wake(key)
  await waitFor(() => running === 3)
  await first.die()
  running = most = 0
  for (let life = 1; life < 4; life++) {
    const one = await start(life)
    await waitFor(() => running >= 1)
    const now = await rows(one)
    expect(now.filter((row) => row.owner !== null)).toHaveLength(1)
    expect(now.map((row) => row.halted_at)).toEqual([null, null, null])
    await one.die()
    running = 0
  }
  expect(most).toBe(1)
  most = 0
  const last = await start(4)
  await waitFor(() => Object.values(ends).every((left) => left === 0))
  await waitFor(async () => (await rows(last)).every((row) => row.owner === null))
  expect(await rows(last)).toMatchObject(
    Array.from({ length: 3 }, () => ({ crashes: 0, suspicions: 0, halted_at: null })),
  )
  expect(most).toBe(1)
  await last.stop()
})

test('runs that several sweeps free are known to have run beside each other', async () => {
  const { begun, start, row } = await lives((job, life) =>
    life === 0 ? forever(job) : Promise.resolve(),
  )
  const first = await start()
  await first.wake('a')
  await waitFor(() => begun.length === 1)
  const { instance } = await row(first)
  // The other run of the same process was freed before, by another process.
  await first.db
    .insertInto('wake_up')
    .values({ queue: 'test', key: 'other', crashed_instance: instance })
    .execute()
  await first.die()
  const second = await start()
  await waitFor(() => begun.length === 2)
  expect(begun[1]).toBe(0)
  expect(await row(second)).toMatchObject({ crashed_alone: false })
  await second.stop()
})

test('a crash after further effects, a shutdown and an ended run count from the beginning', async () => {
  const { begun, start, row } = await lives(async (job, life) => {
    if (life === 1) await job.effect('further', () => Promise.resolve())
    if (life === 4) throw new Error('an ordinary failure')
    await forever(job)
  })
  const next = async (end: 'die' | 'stop'): Promise<void> => {
    const before = begun.length
    const one = await start()
    if (before === 0) await one.wake('a')
    await waitFor(() => begun.length === before + 1)
    if (before === 1)
      await waitFor(
        async () =>
          (
            await one.db
              .selectFrom('effect')
              .select('name')
              .where('done_at', 'is not', null)
              .execute()
          ).length === 1,
      )
    await one[end]()
  }
  await next('die')
  await next('die')
  await next('stop')
  await next('die')
  // The first life counted one crash, the effect of the second began the count again, and the
  // shutdown of the third cleared it.
  expect(begun).toEqual([0, 1, 1, 0])
  const last = await start()
  await waitFor(async () => (await row(last)).failures === 1)
  expect(await row(last)).toMatchObject({ crashes: 0, halted_at: null })
  await last.stop()
})

test('an object that no operation carries is not halted, but pauses after repeated crashes', async () => {
  const { begun, start, row } = await lives(forever, { isCarried: false })
  await dieTimes({ start, begun }, 3)
  const third = await start()
  await waitFor(async () => (await row(third)).crashes === 3)
  const { halted_at, due_at, owner: by } = await row(third)
  expect({ halted_at, by }).toEqual({ halted_at: null, by: null })
  expect(due_at!.getTime()).toBeGreaterThan(Date.now() + 20_000)
  await third.stop()
})

test('a process that lost its lease but still lives takes the counted crash back', async () => {
  const { connection, begun, start, row } = await lives(forever)
  const first = await start()
  await first.wake('a')
  await waitFor(() => begun.length === 1)
  let goOn = (): void => undefined
  const taken = new Promise<void>((resolve) => (goOn = resolve))
  const other = engineProcess(connection, () => taken, {
    owner: 'another process',
    isCarried: true,
  })
  await first.db
    .updateTable('wake_up')
    .set({ beat_at: new Date(Date.now() - 60_000) })
    .where('key', '=', 'a')
    .execute()
  await other.start()
  await waitFor(async () => (await row(other)).owner === 'another process')
  // The first process notices at its next heartbeat.
  await waitFor(async () => (await row(other)).crashed_fence === null)
  expect(await row(other)).toMatchObject({ crashes: 0 })
  goOn()
  await Promise.all([first.stop(), other.stop()])
})
