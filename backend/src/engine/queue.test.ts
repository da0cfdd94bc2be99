import { sql } from 'kysely'
import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { freshDatabase } from '../testing/databases.ts'
import { type EngineProcess, engineProcess } from '../testing/engine.ts'

const waitFor = (condition: () => boolean | Promise<boolean>) =>
  expect.poll(condition, { interval: 20 }).toBe(true)

test('a wake-up runs after its commit, or at the later time that was requested', async () => {
  const runs: { key: string; at: number }[] = []
  const one = engineProcess(
    await freshDatabase(),
    async ({ key }) => void runs.push({ key, at: Date.now() }),
  )
  await one.start()
  const start = Date.now()
  await one.wake('later', 1_200)
  await one.wake('now')
  await waitFor(() => runs.length === 2)
  expect(runs.map((r) => r.key)).toEqual(['now', 'later'])
  expect(runs[1]!.at - start).toBeGreaterThanOrEqual(1_200)
  await one.stop()
})

test('an earlier wake-up replaces a later one', async () => {
  const runs: string[] = []
  const one = engineProcess(await freshDatabase(), async ({ key }) => void runs.push(key))
  await one.start()
  await one.wake('a', 3600_000)
  await one.wake('a')
  await waitFor(() => runs.length === 1)
  expect(runs).toEqual(['a'])
  await one.stop()
})

test('two processes share the work, and no object runs in both at once', async () => {
  const connection = await freshDatabase()
  const inHand = new Map<string, string>()
  const done = new Map<string, number>()
  const by = new Map<string, number>()
  let overlaps = 0
  const reconcile =
    (name: string) => async (job: { key: string; fence: { write: EngineProcessWrite } }) => {
      if (inHand.has(job.key)) overlaps += 1
      inHand.set(job.key, name)
      await sql`select pg_sleep(0.01)`.execute(one.db)
      await job.fence.write(async () => undefined)
      inHand.delete(job.key)
      done.set(job.key, (done.get(job.key) ?? 0) + 1)
      by.set(name, (by.get(name) ?? 0) + 1)
    }
  const one = engineProcess(connection, reconcile('one'))
  const two = engineProcess(connection, reconcile('two'))
  await Promise.all([one.start(), two.start()])
  const keys = Array.from({ length: 60 }, (_, i) => `object-${i}`)
  // Both processes wake the objects repeatedly while reconcilers run.
  for (let round = 0; round < 4; round++) {
    await Promise.all(keys.map((key, i) => (i % 2 === 0 ? one : two).wake(key)))
    await waitFor(() => inHand.size > 0)
  }
  await waitFor(async () => (await pending(one)) === 0)
  expect(overlaps).toBe(0)
  expect([...done.keys()].toSorted()).toEqual(keys.toSorted())
  expect([...by.values()].every((n) => n > 5)).toBe(true)
  await Promise.all([one.stop(), two.stop()])
})

type EngineProcessWrite = (change: () => Promise<undefined>) => Promise<undefined>
const pending = async ({ db }: EngineProcess): Promise<number> =>
  (
    await db
      .selectFrom('wake_up')
      .select('key')
      .where((e) => e.or([e('owner', 'is not', null), e('due_at', 'is not', null)]))
      .execute()
  ).length

test('one busy object does not delay the others', async () => {
  const runs: string[] = []
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const one = engineProcess(await freshDatabase(), async ({ key }) => {
    runs.push(key)
    if (key === 'busy' && runs.filter((r) => r === 'busy').length === 1) await held
  })
  await one.start()
  await one.wake('busy')
  await waitFor(() => runs.includes('busy'))
  await one.wake('busy')
  for (let i = 0; i < 20; i++) await one.wake(`other-${i}`)
  await waitFor(() => runs.length === 21)
  release()
  await waitFor(() => runs.filter((r) => r === 'busy').length === 2)
  expect(runs).toHaveLength(22)
  await one.stop()
})

test('failed runs are retried and never lost', async () => {
  let runs = 0
  const one = engineProcess(await freshDatabase(), async () => {
    runs += 1
    if (runs < 3) throw new Error('not yet')
  })
  await one.start()
  await one.wake('a')
  await waitFor(() => runs === 3)
  await waitFor(async () => (await pending(one)) === 0)
  expect(await one.db.selectFrom('wake_up').select(['failures', 'last_error']).execute()).toEqual([
    { failures: 0, last_error: null },
  ])
  await one.stop()
})

test('the work of a killed process continues at once after its restart', async () => {
  const connection = await freshDatabase()
  let begun = 0
  const first = engineProcess(
    connection,
    () => {
      begun += 1
      return new Promise(() => undefined)
    },
    { owner: 'the same' },
  )
  await first.start()
  await first.wake('a')
  await waitFor(() => begun === 1)
  await first.die()
  const fences: number[] = []
  const again = engineProcess(connection, async (job) => void fences.push(job.fence.number), {
    owner: 'the same',
  })
  // The lease doesn't expire, so only the process that owned the object can free it.
  await sql`update wake_up set beat_at = now() + interval '1 hour'`.execute(again.db)
  await again.start()
  await waitFor(() => fences.length === 1)
  expect(fences).toEqual([2])
  await again.stop()
})

test("if a process is paused, another takes over within 30 s, and the paused process can't write when it continues", async () => {
  const connection = await freshDatabase()
  let goOn: () => void = () => undefined
  const paused = new Promise<void>((resolve) => (goOn = resolve))
  const outcome: string[] = []
  const first = engineProcess(
    connection,
    async (job) => {
      outcome.push('begun')
      await paused
      try {
        await job.fence.write(async () => undefined)
        outcome.push('wrote')
      } catch (error) {
        outcome.push((error as Error).name)
      }
    },
    { concurrency: 1 },
  )
  await first.start()
  await first.wake('a')
  await waitFor(() => outcome.length === 1)
  // As if the process had been stopped for a minute: its last heartbeat is old.
  const silence = setInterval(
    () =>
      void first.db
        .updateTable('wake_up')
        .set({ beat_at: new Date(Date.now() - 60_000) })
        .where('owner', '=', first.owner)
        .execute(),
    50,
  )
  const runs: number[] = []
  const second = engineProcess(connection, async (job) => void runs.push(job.fence.number))
  await second.start()
  await waitFor(() => runs.length === 1)
  clearInterval(silence)
  goOn()
  await waitFor(() => outcome.length === 2)
  expect(outcome).toEqual(['begun', 'FenceLost'])
  expect(runs).toEqual([2])
  await Promise.all([first.stop(), second.stop()])
})

test('the poll every 3 s finds a due object whose notification was lost', async () => {
  const runs: string[] = []
  const one = engineProcess(await freshDatabase(), async ({ key }) => void runs.push(key))
  await one.start()
  await one.wake('first')
  await waitFor(() => runs.length === 1)
  await sql`insert into wake_up (queue, key, due_at) values ('test', 'silent', now())`.execute(
    one.db,
  )
  await waitFor(() => runs.length === 2)
  expect(runs).toEqual(['first', 'silent'])
  await one.stop()
})

test('an object that is locked when it is due runs after the lock is released, even by a rollback', async () => {
  const connection = await freshDatabase()
  const runs: string[] = []
  const one = engineProcess(connection, async ({ key }) => void runs.push(key))
  await one.wake('a')
  const client = new Client(connection)
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from wake_up for update')
  await one.start()
  await one.wake('b')
  await waitFor(() => runs.length === 1)
  expect(runs).toEqual(['b'])
  await client.query('rollback')
  await client.end()
  await waitFor(() => runs.length === 2)
  expect(runs).toEqual(['b', 'a'])
  await one.stop()
})

test('objects that became due while the listener was disconnected run after it has reconnected', async () => {
  let runs = 0
  const one = engineProcess(await freshDatabase(), async () => void (runs += 1))
  await one.start()
  await one.wake('a')
  await waitFor(async () => runs === 1 && (await pending(one)) === 0)
  await sql`
    with ended as (select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'steelyard listener'),
    due as (update wake_up set due_at = now() returning key) select count(*) from ended, due`.execute(
    one.db,
  )
  await waitFor(() => runs >= 2)
  expect(runs).toBe(2)
  await one.stop()
})

test('1,000 wake-ups during a run cause exactly one further run', async () => {
  let runs = 0
  let release: () => void = () => undefined
  const busy = new Promise<void>((resolve) => (release = resolve))
  const connection = await freshDatabase()
  const reconcile = async () => {
    runs += 1
    if (runs === 1) await busy
  }
  const one = engineProcess(connection, reconcile)
  const two = engineProcess(connection, reconcile)
  await Promise.all([one.start(), two.start()])
  await one.wake('a')
  await waitFor(() => runs === 1)
  for (let i = 0; i < 100; i++)
    await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? one : two).wake('a')))
  expect(runs).toBe(1)
  release()
  await waitFor(async () => runs > 1 && (await pending(one)) === 0)
  // Nothing is due, so no further run can follow.
  expect(runs).toBe(2)
  expect(await one.db.selectFrom('wake_up').select('fence').execute()).toEqual([{ fence: 2 }])
  await Promise.all([one.stop(), two.stop()])
})

test('an idle process sends three statements every 3 s, even while objects are due later', async () => {
  const one = engineProcess(await freshDatabase(), async () => undefined)
  await one.start()
  await one.wake('now')
  await one.wake('in an hour', 3600_000)
  await waitFor(async () => (await pending(one)) === 1)
  const statements = vi.spyOn(Client.prototype, 'query')
  const start = Date.now()
  // The first three statements may be sent at once. The process sends more only at the next check
  // of the queue, 3 s later.
  await waitFor(() => statements.mock.calls.length > 6)
  statements.mockRestore()
  expect(Date.now() - start).toBeGreaterThan(3_000)
  await one.stop()
})

test('the sweep finds a claim that the process has forgotten, and runs its reconciler', async () => {
  const runs: string[] = []
  const one = engineProcess(await freshDatabase(), async ({ key, signal }) => {
    runs.push(key)
    if (key === 'long') await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  await one.start()
  await one.wake('long')
  await waitFor(() => runs.includes('long'))
  await sql`insert into wake_up (queue, key, fence, owner, taken_at, beat_at) values ('test', 'lost', 1, ${one.owner}, now(), now() - interval '10 seconds')`.execute(
    one.db,
  )
  await waitFor(() => runs.includes('lost'))
  expect(runs).toEqual(['long', 'lost'])
  await one.stop()
})

test('if the response to a claim is lost, the object runs after the reconnection, without waiting for the lease to expire', async () => {
  const runs: string[] = []
  const one = engineProcess(await freshDatabase(), async ({ key }) => void runs.push(key))
  await one.start()
  await one.wake('first')
  await waitFor(() => runs.includes('first'))
  // Its lease doesn't end during the test.
  await sql`insert into wake_up (queue, key, fence, owner, taken_at, beat_at) values ('test', 'lost', 1, ${one.owner}, now(), now() + interval '1 day')`.execute(
    one.db,
  )
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'steelyard listener'`.execute(
    one.db,
  )
  await waitFor(() => runs.includes('lost'))
  expect(runs).toEqual(['first', 'lost'])
  await one.stop()
})

test('heartbeats never deadlock with transactions that wake several objects in any order', async () => {
  const connection = await freshDatabase()
  const told: string[] = []
  const note = (event: string) => void told.push(event)
  const log = { debug: note, info: note, warn: note, error: note }
  const one = engineProcess(
    connection,
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    { log },
  )
  await one.start()
  await one.wake('a')
  await one.wake('z')
  const beats = (key: string) => async () => {
    const { rows } = await sql<{
      beaten: boolean
    }>`select beat_at > taken_at as beaten from wake_up where key = ${key} and owner is not null`.execute(
      one.db,
    )
    return rows[0]?.beaten === true
  }
  await waitFor(
    async () =>
      (await one.db.selectFrom('wake_up').select('key').where('owner', 'is not', null).execute())
        .length === 2,
  )
  const client = new Client(connection)
  await client.connect()
  await client.query(`begin`)
  await client.query(`select 1 from wake_up where key = 'z' for update`)
  await waitFor(beats('a'))
  await client.query(`select 1 from wake_up where key = 'a' for update`)
  await client.query(`commit`)
  await client.end()
  await waitFor(beats('z'))
  await one.stop()
  expect(told).toEqual([])
})

test('stopping waits for running objects and releases all claims', async () => {
  const connection = await freshDatabase()
  let begun = 0
  let aborted = 0
  let ended = 0
  const rest = Promise.withResolvers<void>()
  const one = engineProcess(connection, async ({ signal }) => {
    begun += 1
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    aborted += 1
    await rest.promise
    ended += 1
  })
  await one.start()
  for (let i = 0; i < 5; i++) await one.wake(`a${i}`)
  await waitFor(() => begun === 5)
  const stopping = one.stop()
  await waitFor(() => aborted === 5)
  rest.resolve()
  await stopping
  expect(ended).toBe(5)
  const client = new Client(connection)
  await client.connect()
  const { rows } = await client.query(
    `select count(*)::int as n from wake_up where owner is not null`,
  )
  await client.end()
  expect(rows).toEqual([{ n: 0 }])
})
