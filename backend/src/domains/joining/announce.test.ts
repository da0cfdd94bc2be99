/**
 * Tests the response to a booting server's announcement and what is recorded, before Steelyard
 * connects to the server.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { joinTokenRevoke } from '#contract/join-tokens.ts'
import { serverList } from '#contract/servers/servers.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { longTests } from '../../../../tools/testing/length.ts'
import { logger } from '../../log.ts'
import { startBackend } from '../../testing/backend.ts'
import { announcing, query, simulated, uuid, hostNameOf } from './testing.ts'
import { harmless } from './announcement.ts'

const lines: string[] = []
const log = logger({
  level: 'debug',
  readable: false,
  now: () => Date.now(),
  write: (line) => void lines.push(line),
})
const { backend, call, ask, make, announce, arrivals, token, audited, nextMinute } =
  await announcing(log)
const { db } = backend.platform
afterEach(nextMinute)

test('a valid token gets a one-time host name in a document that Talos accepts, and is stored as a waiting arrival', async () => {
  const { id, token: text } = await make('good')
  const machine = uuid()
  const answer = await announce(text, machine)
  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-type']).toBe('application/yaml; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(hostNameOf(answer.body)).toBeDefined()
  // Talos enters maintenance because the document has no v1alpha1 configuration. The document must
  // have no other error.
  for (const talosVersion of ['1.12', '1.13'] as const) {
    const wrong = (yaml: string) => validateConfig(yaml, { talosVersion }).errors
    expect(wrong(answer.body)).toEqual(wrong(harmless))
    expect(wrong(answer.body)).toHaveLength(1)
  }
  expect(await arrivals(id)).toMatchObject([
    {
      uuid: machine,
      serial: 'S1',
      mac: '02:00:00:00:00:01',
      address: '127.20.9.1',
      result: 'waiting',
      reason: null,
      server: null,
    },
  ])
  expect(await token(id)).toMatchObject({
    uses: 1,
    status: 'usable',
    version: 1,
    last_used_at: new Date(backend.clock.now()).toISOString(),
  })
})

describe('an invalid token gets no one-time host name and is recorded', () => {
  const cases: [string, string, (() => Promise<string>) | string][] = [
    ['malformed', 'This is not a join token', 'abc'],
    ['empty', 'This is not a join token', ''],
    ['a path of several parts', 'This is not a join token', 'a/b/c'],
    ['endless', 'This is not a join token', 'x'.repeat(3000)],
    ['longer than any URL of ours', 'The URL is too long', 'x'.repeat(9000)],
    ['of SQL', 'This is not a join token', `sy-join-'%20or%20true--`],
    ['foreign', 'There is no such join token', `sy-join-${'A'.repeat(22)}`],
    [
      'revoked, that is stolen',
      'The join token was revoked',
      async () => {
        const { id, token: text } = await make('stolen')
        // This process has cached the token as valid before the revocation.
        await announce(text, uuid())
        await call(joinTokenRevoke, { params: { id } })
        return text
      },
    ],
    [
      'expired',
      'The join token has expired',
      async () => {
        const { id, token: text } = await make('expired')
        await db
          .updateTable('join_token')
          .set({ expires_at: new Date(backend.clock.now()) })
          .where('id', '=', id)
          .execute()
        return text
      },
    ],
    [
      'used up',
      'The join token is used up',
      async () => {
        const { token: text } = await make('spent', { max_uses: 1 })
        await announce(text, uuid())
        return text
      },
    ],
  ]
  test.each(cases)('%s', async (_what, reason, given) => {
    const text = typeof given === 'string' ? given : await given()
    const before = await db
      .selectFrom('join_arrival')
      .select('id')
      .where('result', '<>', 'refused')
      .execute()
    const answer = await announce(text, uuid(), '127.20.9.77')
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toBe(harmless)
    await expect
      .poll(async () => (await audited()).find((e) => e.after?.['reason'] === reason))
      .toMatchObject({
        action: 'join.refused',
        result: 'forbidden',
        actor: null,
        ip: '127.20.9.77',
        after: { address: '127.20.9.77', count: 1 },
      })
    expect(
      await db.selectFrom('join_arrival').select('id').where('result', '<>', 'refused').execute(),
    ).toHaveLength(before.length)
    nextMinute()
  })

  test('a refused announcement with an existing token is listed with that token and does not count as a use', async () => {
    const { id, token: text } = await make('listed')
    await call(joinTokenRevoke, { params: { id } })
    const machine = uuid()
    await announce(text, machine)
    await expect
      .poll(() => arrivals(id))
      .toMatchObject([
        { uuid: machine, result: 'refused', reason: 'The join token was revoked', server: null },
      ])
    expect(await token(id)).toMatchObject({ uses: 0, last_used_at: null })
  })
})

describe('uses of a token', () => {
  test('of a hundred concurrent machines, exactly the number that the token allows is admitted', async () => {
    const { id, token: own } = await make('ten', { max_uses: 10 })
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => announce(own, uuid(), `127.20.8.${i + 1}`)),
    )
    expect(answers.filter((a) => hostNameOf(a.body))).toHaveLength(10)
    expect(answers.filter((a) => a.body === harmless)).toHaveLength(90)
    expect(await token(id)).toMatchObject({ uses: 10, status: 'used_up' })
    expect((await arrivals(id)).filter((a) => a.result === 'waiting')).toHaveLength(10)
  })

  test('of machines that announce themselves to two processes, exactly the allowed number is admitted', async () => {
    const { id, token: own } = await make('two-doors', { max_uses: 5 })
    const other = await startBackend({ beside: backend, environment: simulated })
    const doors = [backend, other]
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        ask(`/join/${own}?${query(uuid())}`, `127.20.7.${i + 1}`, doors[i % 2]),
      ),
    )
    expect(answers.filter((a) => hostNameOf(a.body))).toHaveLength(5)
    expect(await token(id)).toMatchObject({ uses: 5 })
  })

  test('a machine that repeats its request uses the token only once and gets the same response, even from a used-up token', async () => {
    const { id, token: own } = await make('again', { max_uses: 1 })
    const machine = uuid()
    const [first, second] = await Promise.all([announce(own, machine), announce(own, machine)])
    expect(hostNameOf(second.body)).toBe(hostNameOf(first.body))
    backend.clock.advance(40_000)
    const third = await announce(own, machine)
    expect(hostNameOf(third.body)).toBeDefined()
    expect(hostNameOf(third.body)).not.toBe(hostNameOf(first.body))
    expect(await token(id)).toMatchObject({ uses: 1, status: 'used_up' })
    expect(await arrivals(id)).toHaveLength(1)
  })

  test('one UUID announced concurrently from two addresses counts as one use and two arrivals with different names', async () => {
    const { id, token: own } = await make('twins', { max_uses: 1 })
    const machine = uuid()
    const [one, two] = await Promise.all([
      announce(own, machine, '127.20.9.2'),
      announce(own, machine, '127.20.9.3'),
    ])
    expect(hostNameOf(one.body)).not.toBe(hostNameOf(two.body))
    expect((await arrivals(id)).map((a) => a.address).toSorted()).toEqual([
      '127.20.9.2',
      '127.20.9.3',
    ])
    expect(await token(id)).toMatchObject({ uses: 1 })
    // Announcements of one machine from many addresses don't add a row for each address.
    for (let i = 10; i < 30; i++) await announce(own, machine, `127.20.9.${i}`)
    expect((await arrivals(id)).length).toBeLessThanOrEqual(4)
  })
})

describe('floods of announcements', () => {
  test('thousands of guessed tokens cause two audit entries, and a valid server gets its response meanwhile', async () => {
    const { token: own } = await make('in-between')
    await backend.publish()
    const before = (await audited()).length
    const guess = () =>
      ask(
        `/join/sy-join-${randomUUID().replaceAll('-', '').slice(0, 22)}?${query(uuid())}`,
        '127.20.6.1',
      )
    const rounds = longTests ? 10 : 2
    for (let i = 0; i < rounds; i++) {
      const guesses = Array.from({ length: 1000 }, guess)
      const good = await announce(own, uuid(), `127.20.6.${i + 10}`)
      expect(hostNameOf(good.body)).toBeDefined()
      expect(
        (await Promise.all(guesses)).every((a) => a.body === harmless && a.statusCode === 200),
      ).toBe(true)
    }
    nextMinute()
    const written = async () =>
      (await audited())
        .slice(0, (await audited()).length - before)
        .filter((e) => e.ip === '127.20.6.1')
    await expect.poll(async () => (await written()).length).toBe(2)
    expect(new Set((await written()).map((e) => e.after?.['count']))).toEqual(
      new Set([1, rounds * 1000 - 1]),
    )
  })

  test('announcements with a valid token from addresses that may not be dialled leave a bounded number of rows', async () => {
    const { id, token: own } = await make('flooded')
    const answers = await Promise.all(
      Array.from({ length: 600 }, (_, i) => announce(own, uuid(), `10.7.${i >> 8}.${i & 255}`)),
    )
    expect(
      new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body === harmless}`)),
    ).toEqual(new Set(['200 true']))
    const stored = async () => {
      const rows = await backend.platform.db
        .selectFrom('join_arrival')
        .select('result')
        .where('token_id', '=', id)
        .execute()
      return {
        failed: rows.filter(({ result }) => result === 'failed').length,
        refused: rows.filter(({ result }) => result === 'refused').length,
      }
    }
    await expect.poll(stored).toMatchObject({ failed: 250 })
    expect((await stored()).refused).toBeLessThanOrEqual(250)
  })

  test('guessed tokens from a thousand addresses are counted together after the first few', async () => {
    const before = (await audited()).length
    await Promise.all(
      Array.from({ length: 1000 }, (_, i) => ask('/join/guess', `127.21.${i >> 8}.${i & 255}`)),
    )
    nextMinute()
    await expect
      .poll(
        async () => (await audited()).reduce((n, e) => n + Number(e.after?.['count'] ?? 0), 0),
        { timeout: 30_000 },
      )
      .toBeGreaterThan(1000)
    const entries = (await audited()).length - before
    expect(entries).toBeLessThanOrEqual(251)
  })

  test('1,000 announcements with a revoked token cause no database queries, and their list stays bounded', async () => {
    const { id, token: own } = await make('worn')
    await announce(own, uuid())
    await call(joinTokenRevoke, { params: { id } })
    await announce(own, uuid())
    await Promise.all(Array.from({ length: 1000 }, () => announce(own, uuid(), '127.20.5.1')))
    expect((await arrivals(id)).filter((a) => a.result === 'refused').length).toBeLessThanOrEqual(2)
  })

  test("one address can't fill the list of arrivals of a valid token", async () => {
    const { id, token: own } = await make('greedy')
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => announce(own, uuid(), '127.20.5.2')),
    )
    expect(answers.every((a) => a.statusCode === 200)).toBe(true)
    expect((await arrivals(id)).filter((a) => a.result === 'waiting').length).toBeLessThanOrEqual(
      30,
    )
    await expect
      .poll(
        async () =>
          (await audited()).some((e) =>
            String(e.after?.['reason']).includes('STEELYARD_TRUSTED_PROXIES'),
          ),
        { timeout: 30_000 },
      )
      .toBe(true)
  })
})

test('announcements alone register no server, and no token appears in a log, the audit log or an event', async () => {
  expect((await call(serverList)).answer!.total).toBe(0)
  const { token: own } = await make('canary')
  for (const url of [
    `/join/${own}?${query(uuid())}`,
    `/join/${own}?uuid=${own}&serial=${own}&mac=${own}`,
    `/join/${own}/x`,
    `/join/x${own}`,
    `/v1/join-tokens/${own}`,
  ])
    await ask(url)
  nextMinute()
  await expect.poll(async () => (await audited()).length).toBeGreaterThan(0)
  const texts = await Promise.all(
    (['audit_entry', 'outbox', 'event', 'join_token', 'wake_up'] as const).map(async (table) =>
      JSON.stringify(await db.selectFrom(table).selectAll().execute()),
    ),
  )
  const everything = [...texts, ...lines].join('\n')
  expect(lines.some((l) => l.includes('/join/…'))).toBe(true)
  expect(everything).not.toContain(own)
  expect(everything).not.toContain(own.slice('sy-join-'.length))
})
