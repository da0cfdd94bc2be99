import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { authorize } from '#contract/sessions.ts'
import { databaseAccount } from '../db/embedded/account.ts'
import { binaries } from '../db/embedded/binaries.ts'
import { embeddedPostgres } from '../db/embedded/supervisor.ts'
import { findServer } from '../db/find.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { silent } from '../log.ts'
import { startBackend } from '../testing/backend.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { testMachine } from '../testing/postgres.ts'

const folder = temporaryFolder('away')
const account = await databaseAccount(testMachine, silent)
const make = () =>
  embeddedPostgres({
    folder,
    account,
    binaries: binaries(folder, account, testMachine.platform, testMachine.arch),
    machine: testMachine,
    log: silent,
    forgetful: true,
  })
let server = make()
afterAll(() => server.stop())

test('without the database, reads and writes get 503 with Retry-After, and work again after it is back', async () => {
  await server.start()
  const pool = new Pool(server.connection)
  await migrate(pool, await readMigrations())
  await pool.end()
  // As with DATABASE_URL, where all hosts are asked again after a connection was lost.
  const { host, port = 5432, ...account } = server.connection
  const backend = await startBackend({
    connection: { ...server.connection },
    find: () =>
      findServer({
        hosts: [{ host: host!, port }],
        user: account.user,
        password: undefined,
        database: account.database,
        tls: 'disable',
        namesTls: true,
        rootCert: undefined,
        cert: undefined,
        key: undefined,
        options: undefined,
      }),
  })
  const admin = await backend.signIn()
  const body = {
    country_code: 'PL',
    city_code: 'POZ',
    city_name: 'Poznań',
    tier: null,
    certifications: [],
    latitude: null,
    longitude: null,
  }
  expect((await admin.call(datacenterCreate, { body })).status).toBe(201)
  const token = (await admin.call(joinTokenCreate, { body: { name: 'rack-12' } })).answer!.token
  // A booting server repeats its request only after an error. So without the database it gets a 503
  // with Retry-After, unless its token is malformed.
  const announce = async (text: string) => {
    const { statusCode, headers } = await backend.app.inject({
      url: `/join/${text}?uuid=4c4c4544-0042-4b10-8057-b9c04f4e4d32&serial=S1`,
    })
    return { statusCode, retryAfter: headers['retry-after'] !== undefined }
  }
  const ready = async () => (await backend.app.inject({ url: '/readyz' })).statusCode

  const reader = {
    kind: 'user',
    userId: '',
    email: '',
    sessionId: '',
    scopes: ['datacenters:read'],
    ip: '',
    requestId: '',
  } as const
  const listen = () =>
    backend.domains.events.stream(reader, undefined, new AbortController().signal)
  const stream = listen()
  await stream.next()

  await server.stop()
  const refused = [
    await admin.call(datacenterList),
    await admin.call(datacenterCreate, { body }, { idempotencyKey: 'away' }),
    await backend.call(authorize, { body: { email: admin.email, password: admin.password } }),
  ]
  expect(refused.map((r) => [r.status, r.problem?.code])).toEqual(
    Array.from({ length: 3 }, () => [503, 'unavailable']),
  )
  for (const { headers, text } of refused) {
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(5)
    expect(text).not.toMatch(/ENOENT|ECONNREFUSED|socket|steelyard-/)
  }
  for (const text of [token, `sy-join-${'A'.repeat(22)}`])
    expect(await announce(text)).toEqual({ statusCode: 503, retryAfter: true })
  expect(await announce('nonsense')).toEqual({ statusCode: 200, retryAfter: false })
  expect(await ready()).toBe(503)
  expect((await backend.app.inject({ url: '/healthz' })).statusCode).toBe(200)
  expect((await backend.app.inject({ url: '/metrics' })).body).toContain('steelyard_database_up 0')
  // A stream that can't deliver events must not look alive, so it ends and no new one starts.
  let isOver = false
  void (async () => {
    while (!isOver) isOver = (await stream.next()).done === true
  })()
  const later = () => {
    backend.clock.advance(5_000)
    return isOver
  }
  await expect.poll(later).toBe(true)
  await expect(listen().next()).rejects.toMatchObject({ code: 'unavailable' })

  server = make()
  await server.start()
  await expect.poll(ready).toBe(200)
  expect((await admin.call(datacenterList)).answer!.total).toBe(1)
  expect(await announce(token)).toEqual({ statusCode: 200, retryAfter: false })
  expect(
    (await admin.call(datacenterCreate, { body }, { idempotencyKey: 'away' })).answer!.code,
  ).toBe('PL-POZ-2')
  await expect
    .poll(
      () =>
        listen()
          .next()
          .then(
            ({ done }) => done === false,
            () => false,
          ),
      { timeout: 30_000 },
    )
    .toBe(true)
  // The listener's connection is back too, so events are published.
  await backend.publish()
  await backend.stop()
})
