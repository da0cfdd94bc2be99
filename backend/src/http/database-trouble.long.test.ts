/**
 * Every call of the contract while the PostgreSQL of DATABASE_URL is in trouble. A call may be
 * anywhere in its work when the trouble begins, so several are made at once.
 */
import * as fc from 'fast-check'
import { Pool } from 'pg'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { allOperations } from '#contract/all.ts'
import { type Operation, takesBody } from '#contract/operation.ts'
import { connectMs } from '../db/connection.ts'
import { findServer } from '../db/find.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { readDatabaseUrl } from '../db/url.ts'
import { buildServer } from '../domains/servers/testing.ts'
import { type Fields, silent } from '../log.ts'
import { startBackend } from '../testing/backend.ts'
import { checkAnswer } from '../testing/contract-check.ts'
import { type Json, valuesOf } from '../testing/outage/call-inputs.ts'
import { externalPostgres } from '../testing/outage/external-postgres.ts'

const postgres = await externalPostgres()
const pool = new Pool(postgres.connection)
await migrate(pool, await readMigrations())
await pool.end()
const { host, port } = postgres.connection
const address = `postgresql://steelyard@${host}:${port}/postgres?sslmode=disable`
const url = readDatabaseUrl(address)
if (!url.ok) throw new Error(url.problem)
const failures: string[] = []
const backend = await startBackend({
  connection: { ...postgres.connection },
  find: () => findServer(url.url),
  // A server that is silent on open connections is noticed, so that they are cut.
  environment: { DATABASE_URL: address },
  log: {
    ...silent,
    error: (event: string, { error, path }: Fields = {}) =>
      void failures.push(`${event} ${String(path)} ${error instanceof Error ? error.stack : ''}`),
  },
})
// As in production: the tests' own limit is for a database that works.
backend.database.pool.options.connectionTimeoutMillis = connectMs
// Waits of the program end by its clock.
const ticking = setInterval(() => backend.clock.advance(100), 100)
afterAll(() => clearInterval(ticking))
const server = await buildServer(backend)
let token = ''
let round = 0
beforeEach(async () => {
  token = (await backend.signIn()).accessToken
  round++
})

const calls = 500
/** At most as many at once. */
const atOnce = 100
/** The endless stream has its own tests, and the sign-in is held back after wrong passwords. */
const operations = allOperations.filter((o) => o.media !== 'text/event-stream')
const turns = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const
const ofMethod = turns.map((method) => operations.filter((o) => o.method === method))
/** Every method in turn, each through all its calls. */
const operationOf = (n: number): Operation => {
  const all = ofMethod[n % turns.length]!
  return all[Math.floor(n / turns.length) % all.length]!
}
const sample = (schema: Operation['params'], seed: number): unknown =>
  fc.sample(valuesOf(schema, server), { seed, numRuns: 1 })[0]
const query = (values: unknown): string =>
  new URLSearchParams(
    Object.entries((values ?? {}) as Json)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value).toWellFormed()]),
  ).toString()

async function call(n: number): Promise<number> {
  const operation = operationOf(n)
  const params = sample(operation.params, n) as Json
  const answer = await backend.app.inject({
    method: operation.method,
    url: `${operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(name.endsWith('d') ? server : String(params[name]).toWellFormed()),
    )}?${query(sample(operation.query, n))}`,
    headers: {
      authorization: `Bearer ${token}`,
      ...(takesBody(operation) && { 'content-type': 'application/json' }),
      // Each second of them, because the key is stored in transactions of its own.
      ...(n % 2 === 0 && operation.method !== 'GET' && { 'idempotency-key': `call-${round}-${n}` }),
    },
    ...(takesBody(operation) && { payload: JSON.stringify(sample(operation.body, n)) }),
  })
  if (answer.statusCode >= 500 && answer.statusCode !== 503)
    throw new Error(`${operation.name}: ${answer.statusCode} ${answer.body}\n${failures.at(-1)}`)
  // Also that a 503 has its sentence and its Retry-After.
  checkAnswer(operation, answer)
  return answer.statusCode
}

/** How many calls had each status. `trouble` begins when some have been answered. */
async function during(trouble: () => Promise<unknown>): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  const wrong: unknown[] = []
  let next = 0
  let answered = 0
  const { promise: some, resolve } = Promise.withResolvers<void>()
  const caller = async () => {
    while (next < calls) {
      try {
        const status = await call(next++)
        statuses[status] = (statuses[status] ?? 0) + 1
      } catch (error) {
        wrong.push(error)
      }
      if (++answered === atOnce) resolve()
    }
  }
  const all = Promise.all(Array.from({ length: atOnce }, caller))
  await some
  await trouble()
  await all
  expect(wrong).toEqual([])
  process.stderr.write(`database trouble: ${JSON.stringify(statuses)}\n`)
  return statuses
}

/** Ends the trouble. The next one begins on a database that works. */
async function over(end: () => unknown): Promise<void> {
  await end()
  await expect.poll(async () => (await backend.app.inject({ url: '/readyz' })).statusCode).toBe(200)
}

test('a stopped database gives no answer of 500', async () => {
  try {
    expect((await during(() => postgres.stop()))[503]).toBeGreaterThan(150)
  } finally {
    await over(postgres.start)
  }
})

test('a database that hangs gives no answer of 500', async () => {
  try {
    expect((await during(() => Promise.resolve(postgres.hang())))[503]).toBeGreaterThan(150)
  } finally {
    await over(postgres.resume)
  }
})

test('a database without a free connection gives no answer of 500', async () => {
  let end = () => Promise.resolve()
  try {
    end = await postgres.fill()
    expect((await during(() => Promise.resolve()))[503]).toBeGreaterThan(150)
  } finally {
    await over(end)
  }
})

test('a database that restarts again and again gives no answer of 500', async () => {
  const restart = async () => {
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGINT', 'SIGQUIT'] as const) {
      await postgres.stop(signal)
      await postgres.start()
    }
  }
  expect((await during(restart))[503]).toBeGreaterThan(0)
  await over(() => undefined)
})
