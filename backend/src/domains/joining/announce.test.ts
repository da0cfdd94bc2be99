/**
 * Tests the response to a booting server's announcement and what is recorded, before Steelyard
 * connects to the server.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  joinTokenArrivals,
  joinTokenCreate,
  joinTokenGet,
  joinTokenRevoke,
} from '#contract/join-tokens.ts'
import { serverList } from '#contract/servers/servers.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { logger } from '../../log.ts'
import { type Backend, type Call, startBackend } from '../../testing/backend.ts'
import { harmless } from './announcement.ts'

const lines: string[] = []
const log = logger({
  level: 'debug',
  readable: false,
  now: () => Date.now(),
  write: (line) => void lines.push(line),
})
const simulated = { STEELYARD_SIMULATE: '1', STEELYARD_DIAL_NETWORKS: '127.20.0.0/16,fd12::/64' }
const backend = await startBackend({ environment: simulated, log })
const { db } = backend.platform
let signedIn = await backend.signIn()
/** Signs in again, because the tests move the clock past the life of access tokens. */
const call: Call = async (...asked) => {
  const answer = await signedIn.call(...asked)
  if (answer.problem?.code !== 'session_expired') return answer
  signedIn = await backend.signIn()
  return signedIn.call(...asked)
}
const make = async (name: string, more: object = {}) =>
  (await call(joinTokenCreate, { body: { name, ...more } })).answer!
const uuid = () => randomUUID()
const query = (id: string, more: Record<string, string> = {}) =>
  new URLSearchParams({ mac: '02:00:00:00:00:01', serial: 'S1', uuid: id, ...more }).toString()
const ask = async (
  url: string,
  from = '127.20.9.1',
  { app }: Pick<Backend, 'app'> = backend,
  more: object = {},
) => app.inject({ method: 'GET', url, remoteAddress: from, ...more })
const announce = (token: string, id: string, from?: string) =>
  ask(`/join/${token}?${query(id)}`, from)
const arrivals = async (id: string) =>
  (await call(joinTokenArrivals, { params: { id }, query: { sort: 'at' } })).answer!.items
const token = async (id: string) => (await call(joinTokenGet, { params: { id } })).answer!
const audited = async () => {
  await backend.publish()
  return (await call(auditList, { query: { per_page: 1000 } })).answer!.items.filter((e) =>
    e.action.startsWith('join.'),
  )
}
const hostNameOf = (document: string) => /^hostname: (sy-[0-9a-f]{20})$/m.exec(document)?.[1]
/** Ends the minute in which refusals are grouped. */
const nextMinute = () => backend.clock.advance(60_000)
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

describe('queries with odd values from firmware or users', () => {
  const refused: [string, string, string][] = [
    ['no query', '', 'The announcement has no UUID'],
    ['no UUID', 'serial=S1&mac=02:00:00:00:00:01', 'The announcement has no UUID'],
    ['a UUID that was never filled in', 'uuid=$%7Buuid%7D', 'The announcement has no UUID'],
    ['two UUIDs', `uuid=${uuid()}&uuid=${uuid()}`, 'A query parameter is given twice'],
    ['a list', `uuid[]=${uuid()}`, 'The announcement has no UUID'],
    ['a text of 10 kB', `uuid=${uuid()}&serial=${'x'.repeat(10_000)}`, 'The URL is too long'],
    ['a text of 3 kB', `uuid=${uuid()}&serial=${'x'.repeat(3000)}`, 'The announcement is too long'],
    ['a NUL', `uuid=${uuid()}&serial=%00`, 'The query contains a character that cannot be stored'],
    [
      'the UUID of boards that have none, all zeros',
      'uuid=00000000-0000-0000-0000-000000000000',
      'The firmware of the machine gives no unique UUID',
    ],
    [
      'the UUID of boards that have none, all ones',
      'uuid=FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
      'The firmware of the machine gives no unique UUID',
    ],
    [
      'a token in place of the serial number',
      `uuid=${uuid()}&serial=sy-join-${'C'.repeat(22)}`,
      'The announced serial number is a join token',
    ],
    [
      'an invalid MAC address',
      `uuid=${uuid()}&mac=hello`,
      'The announced MAC address cannot be read',
    ],
  ]
  test.each(refused)(
    'a query with %s gets no one-time host name, no arrival is stored, and the audit log has the reason',
    async (_what, text, reason) => {
      const { id, token: own } = await make(`weird-${randomUUID().slice(0, 8)}`)
      const answer = await ask(`/join/${own}?${text}`)
      expect([answer.statusCode, answer.body]).toEqual([200, harmless])
      await expect
        .poll(async () =>
          (await audited()).some((e) => String(e.after?.['reason']).startsWith(reason)),
        )
        .toBe(true)
      expect(await token(id)).toMatchObject({ uses: 0 })
      expect(await arrivals(id)).toEqual([])
      nextMinute()
    },
  )

  test('a serial number is stored as one line of visible characters', async () => {
    const { id, token: own } = await make('serials')
    const serials = [
      '',
      '${serial}',
      'Not Specified',
      'To Be Filled By O.E.M.',
      'a\nb\u202e',
      'ü'.repeat(300),
    ]
    for (const serial of serials)
      await ask(
        `/join/${own}?${new URLSearchParams({ uuid: uuid(), serial, mac: '${MAC}' }).toString()}`,
      )
    const shown = (await arrivals(id)).map((a) => a.serial)
    expect(new Set(shown)).toEqual(
      new Set(['', 'Not Specified', 'To Be Filled By O.E.M.', 'a b�', 'ü'.repeat(256)]),
    )
    expect((await arrivals(id)).every((a) => a.mac === null)).toBe(true)
  })

  test('UUIDs are case-insensitive, and only a GET request announces a machine', async () => {
    const { id, token: own } = await make('case', { max_uses: 1 })
    const machine = uuid()
    const head = await backend.app.inject({
      method: 'HEAD',
      url: `/join/${own}?${query(machine)}`,
      remoteAddress: '127.20.9.1',
    })
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect(await arrivals(id)).toEqual([])
    expect(hostNameOf((await announce(own, machine.toUpperCase())).body)).toBeDefined()
    expect(hostNameOf((await announce(own, machine)).body)).toBeDefined()
    expect(await arrivals(id)).toMatchObject([{ uuid: machine }])
    const post = await backend.app.inject({ method: 'POST', url: `/join/${own}` })
    expect([post.statusCode, post.headers['allow']]).toEqual([405, 'GET, HEAD'])
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

describe('the source address of an announcement', () => {
  test.each([
    [
      'not in a network that may be dialled',
      '10.0.0.5',
      '10.0.0.5 is not in STEELYARD_DIAL_NETWORKS',
    ],
    ['this machine itself', '127.0.0.1', '127.0.0.1 is this machine itself, and is never dialled'],
    ['a metadata service', '169.254.169.254', 'is link-local'],
    ['IPv6 link-local', 'fe80::1', 'is link-local'],
    ['this machine in IPv6', '::1', 'is in the reserved range ::/96'],
  ])(
    'if the source address is %s, it is not dialled, and the arrival shows the reason',
    async (_what, from, reason) => {
      const { id, token: own } = await make(`from-${randomUUID().slice(0, 8)}`)
      const answer = await announce(own, uuid(), from)
      expect([answer.statusCode, answer.body]).toEqual([200, harmless])
      const [arrival] = await arrivals(id)
      expect(arrival).toMatchObject({ result: 'failed', address: from })
      expect(arrival!.reason).toContain(reason)
      await expect
        .poll(async () => (await audited()).find((e) => e.target?.id === id))
        .toMatchObject({ action: 'join.failed', result: 'dial_refused' })
    },
  )

  test('an announcement from an address that may not be dialled does not count as a use of the token', async () => {
    const { id, token: own } = await make('no-use', { max_uses: 1 })
    const machine = uuid()
    await announce(own, machine, '10.0.0.5')
    await announce(own, uuid(), '10.0.0.6')
    expect(await token(id)).toMatchObject({ uses: 0 })
    await announce(own, machine, '127.20.9.40')
    expect(await token(id)).toMatchObject({ uses: 1 })
    // The same machine at another address doesn't count as another use.
    await announce(own, machine, '10.0.0.5')
    await announce(own, machine, '127.20.9.41')
    expect(await token(id)).toMatchObject({ uses: 1 })
  })

  test('an IPv6 address is stored in canonical form, and an IPv4-mapped address as IPv4', async () => {
    const { id, token: own } = await make('ipv6')
    await announce(own, uuid(), 'FD12:0:0::00a1')
    await announce(own, uuid(), '::ffff:127.20.9.4')
    expect((await arrivals(id)).map((a) => `${a.address} ${a.result}`).toSorted()).toEqual([
      '127.20.9.4 waiting',
      'fd12::a1 waiting',
    ])
  })

  test('X-Forwarded-For is accepted only from trusted proxies', async () => {
    const { id, token: own } = await make('proxied')
    const through = async (door: Backend, peer: string, forwarded: string) => {
      const machine = uuid()
      await ask(`/join/${own}?${query(machine)}`, peer, door, {
        headers: { 'x-forwarded-for': forwarded },
      })
      return (await arrivals(id)).find((a) => a.uuid === machine)?.address
    }
    expect(await through(backend, '127.20.9.5', '127.20.9.66')).toBe('127.20.9.5')
    const behind = await startBackend({
      beside: backend,
      environment: { ...simulated, STEELYARD_TRUSTED_PROXIES: '127.20.9.0/28' },
    })
    expect(await through(behind, '127.20.9.5', '127.20.9.66')).toBe('127.20.9.66')
    // The first address was sent by the machine itself, so only the one that the proxy has added
    // counts.
    expect(await through(behind, '127.20.9.5', '127.20.9.99, 127.20.9.66')).toBe('127.20.9.66')
    expect(await through(behind, '127.20.9.100', '127.20.9.66')).toBe('127.20.9.100')
    const known = (await token(id)).uses
    await through(behind, '127.20.9.5', 'unknown')
    expect((await token(id)).uses).toBe(known)
  })
})

describe('floods of announcements', () => {
  test('10,000 guessed tokens cause two audit entries, and a valid server gets its response meanwhile', async () => {
    const { token: own } = await make('in-between')
    await backend.publish()
    const before = (await audited()).length
    const guess = () =>
      ask(
        `/join/sy-join-${randomUUID().replaceAll('-', '').slice(0, 22)}?${query(uuid())}`,
        '127.20.6.1',
      )
    let slowest = 0
    for (let i = 0; i < 10; i++) {
      const guesses = Array.from({ length: 1000 }, guess)
      const began = performance.now()
      const good = await announce(own, uuid(), `127.20.6.${i + 10}`)
      slowest = Math.max(slowest, performance.now() - began)
      expect(hostNameOf(good.body)).toBeDefined()
      expect(
        (await Promise.all(guesses)).every((a) => a.body === harmless && a.statusCode === 200),
      ).toBe(true)
    }
    expect(slowest).toBeLessThan(10_000)
    nextMinute()
    const written = async () =>
      (await audited())
        .slice(0, (await audited()).length - before)
        .filter((e) => e.ip === '127.20.6.1')
    await expect.poll(async () => (await written()).length).toBe(2)
    expect(new Set((await written()).map((e) => e.after?.['count']))).toEqual(new Set([1, 9999]))
  }, 60_000)

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
        { timeout: 10_000 },
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
        { timeout: 10_000 },
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
