import { randomUUID } from 'node:crypto'
import { connect as dial } from 'node:net'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { datacenterCreate, datacenterList, datacenterUpdate } from '#contract/datacenters.ts'
import { silent } from '../log.ts'
import { startBackend } from '../testing/backend.ts'
import { defaultLimits } from './limits.ts'

test('too many writes of one user are slowed down; reads and other users are not', async () => {
  const own = await startBackend({
    limits: {
      ...defaultLimits,
      inFlight: 200,
      waitMs: 1000,
      delayMs: 60_000,
      writesPerSecond: 20,
      writeBurst: 60,
    },
  })
  const [one, two] = [await own.signIn(), await own.signIn()]
  const write = (user: typeof one) =>
    user.call(datacenterUpdate, { params: { id: randomUUID() }, body: {} })
  const all = await Promise.all(Array.from({ length: 61 }, () => write(one)))
  expect(all.filter((a) => a.status === 429)).toHaveLength(1)
  expect(all.find((a) => a.status === 429)!.headers['retry-after']).toBe('1')
  expect((await one.call(datacenterList)).status).toBe(200)
  expect((await write(two)).status).toBe(404)
  own.clock.advance(50)
  expect((await write(one)).status).toBe(404)
})

test('requests beyond the limit of concurrent requests get Retry-After', async () => {
  const own = await startBackend({
    limits: {
      ...defaultLimits,
      inFlight: 2,
      waitMs: 50,
      delayMs: 60_000,
      writesPerSecond: 1e6,
      writeBurst: 1e6,
    },
  })
  const user = await own.signIn()
  await own.platform.db.transaction().execute(async (tx) => {
    await tx.selectFrom('installation').select('id').forUpdate().execute()
    await tx.updateTable('person').set({ name: 'held' }).execute()
    // Only two concurrent requests are allowed, and two are waiting for a row lock.
    const held = [1, 2].map(() =>
      own.app.inject({
        method: 'POST',
        url: '/v1/users',
        headers: {
          authorization: `Bearer ${user.accessToken}`,
          'content-type': 'application/json',
        },
        payload: JSON.stringify({
          email: user.email,
          name: 'x',
          role: 'viewer',
          password: 'a long password',
        }),
      }),
    )
    await expect
      .poll(async () => (await own.app.inject({ url: '/v1/installation' })).statusCode, {
        interval: 10,
      })
      .toBe(503)
    const refused = await own.app.inject({ url: '/v1/installation' })
    expect(refused.json()).toMatchObject({ code: 'unavailable' })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect((await own.app.inject({ url: '/healthz' })).statusCode).toBe(200)
    void Promise.all(held)
  })
  await expect
    .poll(async () => (await own.app.inject({ url: '/v1/installation' })).statusCode)
    .toBe(200)
})

test('reads are refused while the event loop is late, and answered when it is idle again', async () => {
  // The limit is below the interval of the measurements, which isn't part of the delay.
  const own = await startBackend({ limits: { ...defaultLimits, delayMs: 50 } })
  const status = async () => (await own.app.inject({ url: '/v1/installation' })).statusCode
  const afterStall = () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    return status()
  }
  // A single stall doesn't count if it comes before the first measurement.
  await expect.poll(afterStall, { interval: 10, timeout: 30_000 }).toBe(503)
  await expect.poll(status).toBe(200)
})

test('during shutdown, a request on an open connection gets 503 with Retry-After', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  const { hostname, port } = new URL(await own.listen())
  const seen = await own.platform.db.transaction().execute(async (tx) => {
    // The first request waits for this row lock, so its connection is busy when the stop begins.
    await tx.selectFrom('installation').select('id').forUpdate().execute()
    await tx.updateTable('person').set({ name: 'held' }).execute()
    const body = JSON.stringify({ email: user.email, password: user.password })
    const socket = dial(Number(port), hostname)
    const ended = new Promise<string>((resolve, reject) => {
      let text = ''
      socket
        .on('data', (chunk: Buffer) => (text += chunk.toString()))
        .on('close', () => resolve(text))
        .on('error', reject)
    })
    socket.write(
      `POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    const waits = async () =>
      (
        await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
          own.platform.db,
        )
      ).rows.length > 0
    await expect.poll(waits).toBe(true)
    const stopped = own.app.close()
    await expect.poll(() => own.app.server.listening).toBe(false)
    socket.write('GET /v1/installation HTTP/1.1\r\nHost: x\r\n\r\n')
    return { ended, stopped }
  })
  const text = await seen.ended
  await seen.stopped
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
  const second = text.slice(text.indexOf('HTTP/1.1 503'))
  expect(second).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 5[\s\S]*"code":"unavailable"/)
  expect(second).toContain('x-content-type-options: nosniff')
})

test('bodies that arrive slowly do not block other clients', async () => {
  const own = await startBackend({
    limits: {
      ...defaultLimits,
      inFlight: 4,
      waitMs: 50,
      delayMs: 60_000,
      writesPerSecond: 1000,
      writeBurst: 1000,
    },
  })
  const port = Number(new URL(await own.listen()).port)
  const { call } = await own.signIn()
  const dripping = await Promise.all(
    Array.from(
      { length: 8 },
      () =>
        new Promise<ReturnType<typeof dial>>((resolve) => {
          const socket = dial(port, '127.0.0.1', () =>
            socket.write(
              'POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
              () => resolve(socket),
            ),
          )
        }),
    ),
  )
  // When a later connection is answered, the server has accepted all earlier ones.
  for (let asked = 0; asked < 3; asked++)
    expect((await fetch(`http://127.0.0.1:${port}/v1/installation`)).status).toBe(200)
  expect((await call(datacenterList)).status).toBe(200)
  expect(
    (
      await call(datacenterCreate, {
        body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań', tier: 3 },
      })
    ).status,
  ).toBe(201)
  for (const socket of dripping) socket.destroy()
})

test('requests without a session may have only small bodies', async () => {
  const { app } = await startBackend()
  const response = await app.inject({
    method: 'POST',
    url: '/v1/authorize',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({ email: 'a@example.com', password: 'x'.repeat(9000) }),
  })
  expect(response.statusCode).toBe(413)
})

test('a client that disconnects while it sends a body causes no error in the log', async () => {
  const failed: string[] = []
  const own = await startBackend({ log: { ...silent, error: (event) => void failed.push(event) } })
  const port = Number(new URL(await own.listen()).port)
  const closed = new Promise<void>((resolve) =>
    own.app.server.once('connection', (socket) => socket.once('close', () => resolve())),
  )
  const socket = dial(port, '127.0.0.1', () =>
    socket.write(
      'POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
      () => socket.resetAndDestroy(),
    ),
  )
  await closed
  expect((await own.app.inject({ url: '/healthz' })).statusCode).toBe(200)
  expect(failed).toEqual([])
})
