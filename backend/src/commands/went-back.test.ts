/** A database that goes back in time, under a running program and between two starts. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import type { Restoration } from '#contract/restoration.ts'
import { connect, inTransaction } from '../db/db.ts'
import { insert } from '../domains/clusters/store.ts'
import { buildCluster } from '../domains/clusters/testing/rows.ts'
import { freshDatabase } from '../testing/databases.ts'
import { whenOver } from '../testing/ending.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { testMachine, urlOf } from '../testing/postgres.ts'
import { serve } from './serve.ts'

const admin = { email: 'admin@example.com', password: 'a long password' }
const connection = await freshDatabase()
const folder = path.join(temporaryFolder('went-back'), 'data')
const positionFile = path.join(folder, 'database-position')
const positionOf = () => JSON.parse(readFileSync(positionFile, 'utf8')) as { event: number }

/** Starts the program in this process. */
function start() {
  const stop = Promise.withResolvers<string>()
  const said = { out: '', err: '' }
  const ended = serve({
    machine: testMachine,
    environment: {
      DATABASE_URL: urlOf(connection),
      STEELYARD_DATA: folder,
      STEELYARD_ADMIN_EMAIL: admin.email,
      STEELYARD_ADMIN_PASSWORD: admin.password,
      PORT: '0',
    },
    cwd: folder,
    home: path.join(import.meta.dirname, '../../../'),
    version: 'test',
    ownCommand: 'steelyard',
    out: (text) => (said.out += text),
    err: (text) => (said.err += text),
    readable: false,
    kill: () => {
      throw new Error('The program ends itself')
    },
    stopAsked: stop.promise,
    interactive: false,
    askSecret: () => Promise.reject(new Error('Nothing is asked')),
  })
  whenOver(async () => {
    stop.resolve('SIGTERM')
    await ended
  })
  const urls = () =>
    said.out
      .matchAll(/ready at (\S+)/g)
      .toArray()
      .map((found) => found[1]!)
  return {
    said,
    urls,
    /** The URL of the n-th start of the program in this process. */
    async ready(n = 1): Promise<string> {
      await expect.poll(() => urls().length, { timeout: 120_000 }).toBeGreaterThanOrEqual(n)
      return urls()[n - 1]!
    },
    async stop(): Promise<number> {
      stop.resolve('SIGTERM')
      return ended
    },
  }
}
interface Answers {
  readonly 'GET /v1/restoration': Pick<Restoration, 'restored' | 'clusters'>
  readonly 'GET /v1/datacenters': { readonly items: readonly { readonly city_name: string }[] }
  readonly 'POST /v1/datacenters': { readonly id: string }
  readonly 'GET /v1/audit': { readonly items: readonly { readonly action: string }[] }
  readonly 'POST /v1/authorize': { readonly accessToken: string }
}
/** Sends a request to the program. @throws Error with the status unless it is 2xx */
const callAt =
  (url: string, token?: string) =>
  async <K extends keyof Answers>(what: K, body?: object): Promise<Answers[K]> => {
    const [method, at] = what.split(' ') as [string, string]
    const answer = await fetch(`${url}${at}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${what}: ${answer.status}`)
    return (await answer.json()) as Answers[K]
  }
type Call = ReturnType<typeof callAt>
const signIn = async (url: string): Promise<{ call: Call; token: string }> => {
  const { accessToken: token } = await callAt(url)('POST /v1/authorize', admin)
  return { call: callAt(url, token), token }
}

const database = connect({ connection, poolSize: 2 })
whenOver(() => database.close())
// `goBack` ends the connections of the program, but not those of the test.
database.pool.options.application_name = 'test'
const positionNow = async () =>
  (await database.db.selectFrom('publication').selectAll().executeTakeFirstOrThrow()) as {
    last_event: number
    last_audit: number
    last_hash: string
  }

/** Takes from the database what was published after the position, as a failover would. */
async function goBack(to: Awaited<ReturnType<typeof positionNow>>): Promise<void> {
  const client = new Client({ ...connection })
  await client.connect()
  await client.query('begin')
  await client.query('alter table audit_entry disable trigger all')
  await client.query('delete from audit_entry where seq > $1', [to.last_audit])
  await client.query('alter table audit_entry enable trigger all')
  await client.query('delete from event where id > $1', [to.last_event])
  await client.query('update publication set last_event = $1, last_audit = $2, last_hash = $3', [
    to.last_event,
    to.last_audit,
    to.last_hash,
  ])
  await client.query(`delete from datacenter where city_name like 'Lost%'`)
  await client.query('commit')
  // The connections to the former primary break.
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name like 'steelyard%'`,
  )
  await client.end()
}
const create = (call: Call, code: string, name: string) =>
  call('POST /v1/datacenters', { country_code: 'DE', city_code: code, city_name: name })

/** A cluster that the program only reads. */
async function insertCluster(datacenterId: string): Promise<void> {
  await inTransaction(database.db, (tx) =>
    insert(tx, {
      ...buildCluster({
        id: randomUUID(),
        name: 'prod',
        datacenter_id: datacenterId,
        endpoint: 'https://10.0.0.9:6443',
        pod_cidr: '10.244.0.0/16',
        service_cidr: '10.96.0.0/12',
        chain_address: `0x${'0'.repeat(40)}`,
        status: 'ready',
        ready_at: new Date(),
      }),
      certificates_ending: null,
      finding: null,
      observed: null,
      upgrade: null,
      maintenance_window: null,
      wanted_image: null,
      kept: '[]',
      labels: '{}',
      replaces: '{}',
    }),
  )
}

test('a database that goes back in time is noticed: everything is held before the first write, sessions end, and the answer names what is missing', async () => {
  const program = start()
  const first = await program.ready()
  const { call, token } = await signIn(first)
  await insertCluster((await create(call, 'FRA', 'Kept')).id)
  await expect.poll(async () => (await positionNow()).last_event).toBeGreaterThan(0)
  await expect.poll(async () => positionOf().event === (await positionNow()).last_event).toBe(true)
  const before = await positionNow()
  await create(call, 'BER', 'Lost')
  await expect.poll(() => positionOf().event).toBeGreaterThan(before.last_event)
  await goBack(before)

  const { call: again } = await signIn(await program.ready(2))
  const { restored, clusters } = await again('GET /v1/restoration')
  expect(restored?.missing).toMatch(/^events? \d+(?: to \d+)? and audit entr(?:y|ies) \d+/)
  expect(clusters.map((c) => c.name)).toEqual(['prod'])
  expect(program.said.err).toContain('"event":"database.went_back"')
  expect((await again('GET /v1/datacenters')).items.map((d) => d.city_name)).toEqual(['Kept'])
  await expect(callAt(program.urls()[1]!, token)('GET /v1/restoration')).rejects.toThrow('401')
  await expect
    .poll(async () => (await again('GET /v1/audit')).items.map((entry) => entry.action))
    .toContain('installation.went_back')
  expect(await program.stop()).toBe(0)
  expect(program.urls()).toHaveLength(2)
})

test('the last second of changes is missed too, although the file does not have its position yet', async () => {
  const program = start()
  const { call } = await signIn(await program.ready())
  await create(call, 'MUC', 'Kept too')
  await expect.poll(async () => positionOf().event === (await positionNow()).last_event).toBe(true)
  const [before, kept] = [await positionNow(), readFileSync(positionFile)]
  await create(call, 'CGN', 'Lost at once')
  await expect.poll(() => positionOf().event).toBeGreaterThan(before.last_event)
  const { event: seen } = positionOf()
  // The file is written up to a second later than an event is seen.
  writeFileSync(positionFile, kept)
  await goBack(before)

  const { call: again } = await signIn(await program.ready(2))
  const { restored } = await again('GET /v1/restoration')
  const last = /^events? (?:\d+ to )?(\d+) /.exec(restored?.missing ?? '')
  expect(Number(last?.[1])).toBeGreaterThanOrEqual(seen)
  expect(await program.stop()).toBe(0)
})

test('a database that went back while Steelyard was stopped is noticed at the start, and once', async () => {
  const one = start()
  const { call } = await signIn(await one.ready())
  const before = await positionNow()
  await create(call, 'HAM', 'Lost again')
  expect(await one.stop()).toBe(0)
  expect(one.said.err).not.toContain('database.went_back')
  await goBack(before)
  const two = start()
  const { restored } = await (await signIn(await two.ready())).call('GET /v1/restoration')
  expect(two.said.err).toContain('"event":"database.went_back"')
  expect(restored?.missing).toMatch(/audit entr/)
  expect(await two.stop()).toBe(0)
  const three = start()
  await three.ready()
  expect(await three.stop()).toBe(0)
  expect(three.said.err).not.toContain('database.went_back')
  expect(existsSync(positionFile)).toBe(true)
})

test.each([
  ['an earlier one', `update restoration set restored_at = restored_at - interval '1 hour'`],
  ['none', 'delete from restoration'],
])(
  'a database that went back behind the last hold, and has %s, is noticed too',
  async (_, undoing) => {
    const one = start()
    const { call } = await signIn(await one.ready())
    const before = await positionNow()
    expect((await call('GET /v1/restoration')).restored).not.toBeNull()
    await create(call, 'ZRH', 'Lost once more')
    expect(await one.stop()).toBe(0)
    await goBack(before)
    await database.pool.query(undoing)
    const two = start()
    const { restored } = await (await signIn(await two.ready())).call('GET /v1/restoration')
    expect(two.said.err).toContain('"event":"database.went_back"')
    expect(restored?.missing).toMatch(/audit entr/)
    expect(await two.stop()).toBe(0)
  },
)
