import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseError } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { inTransaction } from '../db/db.ts'
import { startBackend } from '../testing/backend.ts'
import { FenceLost, type Job, type Outcome, retryDelayMs } from './engine.ts'
import { failpoint } from './failpoint.ts'

/** A backend with one reconciler of the queue `test`, given by the test. */
async function withReconciler(
  reconcile: (job: Job) => Promise<Outcome>,
  options: { deadlineMs?: number } = {},
) {
  const backend = await startBackend({
    prepare: ({ engine }) => engine.register({ queue: 'test', reconcile, ...options }),
  })
  const { db, engine } = backend.platform
  return {
    ...backend,
    wake: (key: string, afterMs = 0) =>
      inTransaction(db, (tx) => engine.wake(tx, 'test', key, { afterMs })),
    row: (key: string) =>
      db.selectFrom('wake_up').selectAll().where('key', '=', key).executeTakeFirstOrThrow(),
  }
}

test('many wake-ups of an object cause one run, at the earliest requested time', async () => {
  const runs: [string, number][] = []
  const backend = await withReconciler(async ({ key, now }) => void runs.push([key, now()]))
  const start = backend.clock.now()
  await backend.wake('a', 60_000)
  await backend.wake('a', 10_000)
  await backend.wake('a', 30_000)
  await backend.wake('b', 20_000)
  await backend.engine.run(9_999)
  expect(runs).toEqual([])
  await backend.engine.run(100_000)
  expect(runs).toEqual([
    ['a', start + 10_000],
    ['b', start + 20_000],
  ])
})

test('a rolled-back transaction leaves no wake-up behind', async () => {
  const runs: string[] = []
  const backend = await withReconciler(async ({ key }) => void runs.push(key))
  await expect(
    inTransaction(backend.platform.db, async (tx) => {
      await backend.platform.engine.wake(tx, 'test', 'a')
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  await backend.engine.run(1000)
  expect(runs).toEqual([])
})

test('a wake-up during a run causes another run after it', async () => {
  let runs = 0
  const backend = await withReconciler(async (job) => {
    runs += 1
    if (runs < 3) await job.fence.write((tx) => backend.platform.engine.wake(tx, 'test', job.key))
  })
  await backend.wake('a')
  expect(await backend.engine.settle()).toBe(3)
})

test('a reconciler runs again at the time that its last run returned', async () => {
  const times: number[] = []
  const backend = await withReconciler(async ({ now }) => {
    times.push(now())
    return times.length < 4 ? { againMs: 5_000 } : undefined
  })
  const start = backend.clock.now()
  await backend.wake('a')
  await backend.engine.run(3600_000)
  expect(times.map((t) => t - start)).toEqual([0, 5_000, 10_000, 15_000])
})

test('a failed run is recorded with its reason and retried with growing delays', async () => {
  const times: number[] = []
  const backend = await withReconciler(async ({ now, failures }) => {
    times.push(now())
    expect(failures).toBe(times.length - 1)
    if (times.length <= 6) throw new Error(`no ${times.length}`)
  })
  await backend.wake('a')
  await backend.engine.settle()
  expect(await backend.row('a')).toMatchObject({
    failures: 1,
    last_error: 'An unexpected error; Steelyard tries again: no 1',
    owner: null,
  })
  await backend.engine.run(3600_000)
  expect(times).toHaveLength(7)
  const gaps = times.slice(1).map((t, i) => t - times[i]!)
  gaps.forEach((gap, i) => {
    expect(gap).toBeGreaterThanOrEqual(1_000 * 2 ** i)
    expect(gap).toBeLessThanOrEqual(2_000 * 2 ** i)
  })
  expect(await backend.row('a')).toMatchObject({ failures: 0, last_error: null, due_at: null })
})

test('the delay between retries grows to at most two minutes', () => {
  expect(retryDelayMs(50, () => 1)).toBe(120_000)
  expect(retryDelayMs(50, () => 0)).toBe(60_000)
})

test("a process that lost its claim on an object can't write for that object any more", async () => {
  const outcome: { error?: unknown } = {}
  const backend = await withReconciler(async (job) => {
    await job.fence.write((tx) =>
      tx
        .insertInto('waitlist_entry')
        .values({ email: 'first', name: '', company: '', created_at: new Date() })
        .execute(),
    )
    // Another process takes the object over in the middle of the run.
    await backend.platform.db
      .updateTable('wake_up')
      .set({ fence: job.fence.number + 1, owner: 'another' })
      .where('key', '=', job.key)
      .execute()
    try {
      await job.fence.write((tx) =>
        tx
          .insertInto('waitlist_entry')
          .values({ email: 'second', name: '', company: '', created_at: new Date() })
          .execute(),
      )
    } catch (error) {
      outcome.error = error
      throw error
    }
  })
  await backend.wake('a')
  await backend.engine.settle()
  expect(outcome.error).toBeInstanceOf(FenceLost)
  expect(await backend.platform.db.selectFrom('waitlist_entry').select('email').execute()).toEqual([
    { email: 'first' },
  ])
  // The overtaken run released nothing, because the object belongs to the other process.
  expect(await backend.row('a')).toMatchObject({ owner: 'another', failures: 0 })
})

test('a run that exceeds its deadline is aborted and retried', async () => {
  let runs = 0
  const backend = await withReconciler(
    ({ signal }) => {
      runs += 1
      return runs > 1
        ? Promise.resolve()
        : new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
    },
    { deadlineMs: 50 },
  )
  await backend.wake('a')
  await backend.engine.settle()
  expect((await backend.row('a')).last_error).toBe('Took longer than 0.05 s; Steelyard tries again')
  await backend.engine.run(10_000)
  expect(runs).toBe(2)
})

test('a run interrupted by the database does not count as a failure and is repeated at once', async () => {
  let runs = 0
  const backend = await withReconciler(async () => {
    runs += 1
    if (runs < 5)
      throw Object.assign(new DatabaseError('terminating connection', 0, 'error'), {
        code: '57P01',
      })
  })
  await backend.wake('a')
  await backend.engine.run(1_000)
  expect(runs).toBe(5)
  expect(await backend.row('a')).toMatchObject({ failures: 0, last_error: null })
})

test('a refused connection to a server counts as a failure; a refused connection to the database does not', async () => {
  let runs = 0
  const backend = await withReconciler(async () => {
    runs += 1
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.4.11:50000'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    })
  })
  await backend.wake('a')
  await backend.engine.run(900)
  expect(runs).toBe(1)
  expect(await backend.row('a')).toMatchObject({ failures: 1 })
})

test('if a process did not record whether an action succeeded, the next attempt sees the result as unknown', async () => {
  const seen: { attempt: number; unknown: boolean; done: boolean }[] = []
  const backend = await withReconciler(async (job) => {
    await job.effect('install/a', async (info) => {
      seen.push(info)
      // As after a crash: the effect is journalled neither as done nor as failed.
      if (seen.length === 1)
        await backend.platform.db
          .updateTable('wake_up')
          .set({ fence: 99 })
          .where('key', '=', job.key)
          .execute()
      if (seen.length === 2) throw new Error('refused')
    })
  })
  await backend.wake('a')
  await backend.engine.settle()
  await backend.platform.db
    .updateTable('wake_up')
    .set({ owner: null, due_at: new Date(backend.clock.now()) })
    .where('key', '=', 'a')
    .execute()
  await backend.engine.settle()
  await backend.engine.run(10_000)
  expect(seen).toEqual([
    { attempt: 1, unknown: false, done: false },
    { attempt: 2, unknown: true, done: false },
    { attempt: 3, unknown: false, done: false },
  ])
  const journal = await backend.platform.db
    .selectFrom('effect')
    .selectAll()
    .executeTakeFirstOrThrow()
  expect(journal).toMatchObject({ name: 'install/a', attempts: 3, error: null, failed_at: null })
  expect(journal.done_at).not.toBeNull()
  await backend.wake('a')
  await backend.engine.settle()
  expect(seen[3]).toEqual({ attempt: 4, unknown: false, done: true })
})

test('a failpoint is selected by the full name of an effect, by its name before the slash, or by its sequence number', () => {
  const met = (setting: string, effects: string[]) => {
    const seen: string[] = []
    const point = failpoint(setting, () => {
      throw new Error('killed')
    })
    for (const effect of effects) {
      for (const when of ['before', 'after'] as const) {
        try {
          point.reach(effect, when)
        } catch {
          seen.push(`${effect}:${when}`)
        }
      }
    }
    return seen
  }
  expect(met('apply:after', ['config', 'apply/1', 'apply/2'])).toEqual([
    'apply/1:after',
    'apply/2:after',
  ])
  expect(met('apply/2:before', ['apply/1', 'apply/2'])).toEqual(['apply/2:before'])
  expect(met('#2:after', ['a', 'b', 'c'])).toEqual(['b:after'])
  expect(() => failpoint('apply', () => process.exit())).toThrow(/FAILPOINT must look like/)
})

test('a file names the failpoint, and can be changed while the process runs', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'sy-failpoint-')), 'point')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  const point = failpoint(`@${file}`, () => {
    throw new Error('killed')
  })
  point.reach('apply/1', 'after')
  writeFileSync(file, 'apply:after')
  point.reach('apply/1', 'before')
  expect(() => point.reach('apply/1', 'after')).toThrow('killed')
  rmSync(file)
  point.reach('apply/2', 'after')
})
