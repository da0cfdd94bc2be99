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

test('an object whose run ends the process twice is halted, whatever wakes it, until it is resumed', async () => {
  const { begun, start, row } = await lives((job, life) =>
    life < 2 ? forever(job) : Promise.resolve(),
  )
  const first = await start()
  await first.wake('a')
  await waitFor(() => begun.length === 1)
  await first.die()
  const second = await start()
  await waitFor(() => begun.length === 2)
  await second.die()

  const third = await start()
  await waitFor(async () => (await row(third)).halted_at !== null)
  await third.wake('a')
  await third.wake('b')
  await waitFor(() => begun.length === 3)
  expect(await row(third)).toMatchObject({
    owner: null,
    crashes: 2,
    last_error: expect.stringContaining('twice in a row') as string,
  })
  expect(begun).toEqual([0, 1, 0])
  expect(await third.resume('a')).toBe(true)
  await waitFor(() => begun.length === 4)
  await waitFor(async () => (await row(third)).owner === null)
  expect(await row(third)).toMatchObject({
    halted_at: null,
    crashes: 0,
    failures: 0,
    last_error: null,
  })
  expect(await third.resume('a')).toBe(false)
  await third.stop()
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
  for (let life = 0; life < 2; life++) {
    const one = await start()
    if (life === 0) await one.wake('a')
    await waitFor(() => begun.length === life + 1)
    await one.die()
  }
  const third = await start()
  await waitFor(async () => (await row(third)).crashes === 2)
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
