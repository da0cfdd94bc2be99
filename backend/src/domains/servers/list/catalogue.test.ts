import { Client } from 'pg'
import * as z from 'zod/mini'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  ListedServer,
  serverGet,
  serverList,
  serverRows,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { startBackend } from '../../../testing/backend.ts'
import { byId, writeContacts } from '../store.ts'
import { present } from '../present.ts'
import { digested, listedOf, noteContact } from './kept.ts'
import { buildServer } from '../testing.ts'

const backend = await startBackend()
const { call, accessToken } = await backend.signIn({ role: 'operator' })
const ids: string[] = []
for (let i = 0; i < 5; i++) ids.push(await buildServer(backend, { name: `listed-${i}` }))
const list = (query = {}) => call(serverList, { query })
const rows = (query = {}) => call(serverRows, { query: { ...query, fields: 'list' } })
const names = async (query = {}) => (await list(query)).answer!.items.map((s) => s.name)

/**
 * The number of database queries during `act`: the minimum of at most a hundred tries, because
 * writes of other test files may cause more queries.
 */
async function queriesOf(act: () => Promise<unknown>): Promise<number> {
  const counts: number[] = []
  const query = vi.spyOn(Client.prototype, 'query')
  for (let tries = 0; tries < 100 && !counts.includes(1); tries++) {
    query.mockClear()
    await act()
    counts.push(query.mock.calls.length)
  }
  query.mockRestore()
  return Math.min(...counts)
}

/** The names of the servers that are serialised for lists during `act`. */
async function serialised(act: () => Promise<unknown>): Promise<string[]> {
  const stringify = vi.spyOn(JSON, 'stringify')
  try {
    await act()
    const values = stringify.mock.calls.map(
      ([value]: unknown[]) =>
        value as { name?: string; nodeAddresses?: unknown; eligibility?: unknown } | null,
    )
    return values.flatMap((value) =>
      value?.nodeAddresses && !value.eligibility ? [value.name!] : [],
    )
  } finally {
    stringify.mockRestore()
  }
}

/**
 * Holds the database's answers to queries whose text contains `part`, of all processes, until
 * `release` is called. `answered` resolves when the database has answered the first one.
 */
function heldQueries(part: string) {
  const send = Reflect.get(Client.prototype, 'query') as (
    this: Client,
    ...args: unknown[]
  ) => unknown
  const [answered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const query = vi.spyOn(Client.prototype, 'query').mockImplementation(function held(
    this: Client,
    ...args: unknown[]
  ): void {
    const result = send.apply(this, args)
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: string }).text
    const hold = async (): Promise<unknown> => {
      const answer = await result
      answered.resolve()
      await released.promise
      return answer
    }
    return (text?.includes(part) ? hold() : result) as void
  })
  const release = () => {
    query.mockRestore()
    released.resolve()
  }
  onTestFinished(release)
  return { answered: answered.promise, release }
}

test('a list of servers or one server takes one query if nothing has changed, and concurrent requests share it', async () => {
  await list()
  expect(await queriesOf(() => list())).toBe(1)
  expect(await queriesOf(() => list({ q: 'listed-3' }))).toBe(1)
  expect(await queriesOf(() => rows({ sort: '-contact', confirmed: 'true' }))).toBe(1)
  expect(await queriesOf(() => call(serverGet, { params: { id: ids[0]! } }))).toBe(1)
  expect(
    await queriesOf(() => Promise.all(Array.from({ length: 20 }, () => list()))),
  ).toBeLessThanOrEqual(2)
})

/** How often a text was searched for `needle` during `act`. */
async function readsFor(needle: string, act: () => Promise<unknown>): Promise<number> {
  const spies = [vi.spyOn(String.prototype, 'includes'), vi.spyOn(String.prototype, 'indexOf')]
  try {
    await act()
    return spies.flatMap((spy) => spy.mock.calls).filter(([wanted]) => wanted === needle).length
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

test('a server in memory has what lists show, before and after its first contact', async () => {
  const row = (await byId(backend.platform.db, ids[0]!))!
  const kept = { ...digested(row, null), slot: 0 }
  expect(listedOf(kept)).toEqual(z.parse(ListedServer, present(row, null)))
  const contact = new Date('2026-03-01T12:00:00Z')
  noteContact(kept, contact)
  expect(listedOf(kept)).toEqual(z.parse(ListedServer, present(row, contact)))
})

test('a search for up to three characters reads only the texts of the page that it returns', async () => {
  await list()
  for (const q of ['l', 'li', 'ist']) {
    expect(await readsFor(q, () => list({ q, per_page: 2 }))).toBe(2)
    expect((await list({ q, per_page: 2 })).answer).toMatchObject({
      total: 5,
      items: [{ name: 'listed-0' }, { name: 'listed-1' }],
    })
  }
})

test('concurrent searches over sockets each get their own page', async () => {
  const url = await backend.listen()
  const asked = (q: string) =>
    fetch(`${url}${serverList.path}?q=${q}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      ids.map(
        async (id) => (await (await asked(id.slice(0, 18))).json()) as { items: { id: string }[] },
      ),
    )
    expect(answers.map(({ items }) => items.map((s) => s.id))).toEqual(ids.map((id) => [id]))
  }
})

test('a search combines with filters, sort order and pages', async () => {
  const found = async (query: object) => (await list({ q: 'ted', per_page: 2, ...query })).answer!
  expect(await found({ page: 2, sort: '-name' })).toMatchObject({
    total: 5,
    items: [{ name: 'listed-2' }, { name: 'listed-1' }],
  })
  expect(await found({ page: 3 })).toMatchObject({ total: 5, items: [{ name: 'listed-4' }] })
  expect(await found({ page: 4 })).toMatchObject({ total: 5, items: [] })
  expect(await found({ confirmed: 'false' })).toMatchObject({ total: 0, items: [] })
  expect(await found({ confirmed: 'true', sort: '-name' })).toMatchObject({
    total: 5,
    items: [{ name: 'listed-4' }, { name: 'listed-3' }],
  })
  expect(await found({ status: 'deleted' })).toMatchObject({ total: 0, items: [] })
})

test('changing a server serialises only that server for lists', async () => {
  await rows()
  const rename = async () => {
    await call(serverUpdate, { params: { id: ids[4]! }, body: { name: 'renamed-4' } })
    await rows()
    await rows({ q: 'renamed' })
    await rows({ sort: '-name' })
  }
  expect(await serialised(rename)).toEqual(['renamed-4'])
})

test('a list of whole servers that is asked for while a server changes isn’t kept', async () => {
  const held = heldQueries('"server_contact"."at" as "contact"')
  const asked = list({ q: 'listed-', per_page: 4 })
  await held.answered
  await call(serverUpdate, { params: { id: ids[0]! }, body: { name: 'listed-00' } })
  const later = await rows({ q: 'listed-' })
  expect(later.answer!.items.map((s) => s.name)).toContain('listed-00')
  held.release()
  expect((await asked).answer!.items.map((s) => s.name)).toContain('listed-0')
  expect(await names({ q: 'listed-', per_page: 4 })).toContain('listed-00')
  await call(serverUpdate, { params: { id: ids[0]! }, body: { name: 'listed-0' } })
})

test('with fields=list, every list returns the same servers with only the fields that lists show', async () => {
  const hardware = {
    addresses: ['10.0.0.7'],
    processors: [{ id: '0', cpu_cores: 24 }],
    memory: [{ id: '0', size: 64 * 1024 ** 3 }],
    disks: [{ id: 'sda', size: 1000, wwid: 'naa.5000c500a1b2c3d4' }],
    interfaces: [{ id: 'eth0', hardware_addr: 'b8:ce:f6:aa:7a:46' }],
    links: [],
    routes: [],
  }
  const id = await buildServer(backend, {
    name: 'rows-a',
    hardware: JSON.stringify(hardware),
    // Text like the JSON around the fields that are left out.
    reason: 'ä","schematic":null},"identity":{"uuid":null,"fingerprint":"',
    fingerprint: 'abc',
    schematic: 'f'.repeat(64),
    system_disk: '/dev/sda',
    reachable: true,
  })
  await buildServer(backend, {
    name: 'rows-b',
    identity_state: 'changed',
    seen_uuid: 'u',
    seen_serial: 's',
    identity_note: 'Two machines',
  })
  const shown = async (query = {}) => {
    const { answer } = await rows(query)
    expect(answer!.items).toEqual(
      (await list(query)).answer!.items.map((s) => z.parse(ListedServer, s)),
    )
    return answer!.items
  }
  expect((await shown({ q: 'rows-' })).map((s) => s.name)).toEqual(['rows-a', 'rows-b'])
  expect((await shown({ q: 'b8cef6aa7a46' }))[0]).toMatchObject({
    id,
    matched: { what: 'mac', value: 'b8:ce:f6:aa:7a:46' },
    hardware: { cores: 24, memory_bytes: 64 * 1024 ** 3, disk_bytes: 1000 },
    ineligible: expect.any(String),
  })
  await shown({ per_page: 2, page: 2, sort: '-name' })
  // The first contact makes the JSON longer.
  await backend.platform.db
    .transaction()
    .execute((tx) => writeContacts(tx, [{ id, at: new Date('2026-05-01T09:00:00Z') }]))
  expect((await shown({ q: 'rows-a' }))[0]!.talos.last_contact_at).toBe('2026-05-01T09:00:00.000Z')
  await backend.platform.db
    .updateTable('server')
    .set({ status: 'deleted', removed_at: new Date() })
    .where('name', 'like', 'rows-%')
    .execute()
})

test('every new contact time is shown in the lists and on the server', async () => {
  for (const at of ['2026-05-02T10:00:00.000Z', '2026-05-02T11:11:11.111Z']) {
    await backend.platform.db
      .transaction()
      .execute((tx) => writeContacts(tx, [{ id: ids[1]!, at: new Date(at) }]))
    for (const query of [{}, { sort: '-contact', q: 'listed-1' }])
      for (const { answer } of [await list(query), await rows(query)])
        expect(answer!.items.find((s) => s.id === ids[1])!.talos.last_contact_at).toBe(at)
    expect((await call(serverGet, { params: { id: ids[1]! } })).answer!.talos.last_contact_at).toBe(
      at,
    )
  }
  expect((await list({ sort: '-contact' })).answer!.items[0]!.id).toBe(ids[1])
})

test('a list contains the committed changes of all processes, in whatever order the transactions end', async () => {
  const other = await startBackend({ beside: backend })
  onTestFinished(() => other.stop())
  const there = async () =>
    (
      await other.app.inject({
        url: `${serverList.path}?q=rack`,
        headers: { authorization: `Bearer ${accessToken}` },
      })
    )
      .json<{ items: { name: string }[] }>()
      .items.map((s) => s.name)
  expect(await there()).toEqual([])
  const write = (name: string, id: string) => (tx: typeof backend.platform.db) =>
    tx.updateTable('server').set({ name }).where('id', '=', id).execute()
  const early = await backend.platform.db.startTransaction().execute()
  await write('rack-early', ids[2]!)(early)
  await write('rack-late', ids[3]!)(backend.platform.db)
  expect([await names({ q: 'rack' }), await there()]).toEqual([['rack-late'], ['rack-late']])
  await early.commit().execute()
  expect([await names({ q: 'rack' }), await there()]).toEqual([
    ['rack-early', 'rack-late'],
    ['rack-early', 'rack-late'],
  ])
})

test('while a process is still reading the servers, lists wait for all of them and a single server does not', async () => {
  const held = heldQueries('server.id > ')
  const other = await startBackend({ beside: backend })
  onTestFinished(() => other.stop())
  const read = async (path: string) =>
    (await other.app.inject({ url: path, headers: { authorization: `Bearer ${accessToken}` } }))
      .body
  const asked = [`${serverList.path}?per_page=3`, `${serverList.path}?q=listed-`].map(read)
  await held.answered
  const one = await read(`${serverList.path}/${ids[2]!}`)
  expect(JSON.parse(one)).toEqual((await call(serverGet, { params: { id: ids[2]! } })).answer)
  held.release()
  const [page, found] = await Promise.all(asked)
  expect(JSON.parse(page!)).toEqual((await list({ per_page: 3 })).answer)
  expect(JSON.parse(found!)).toEqual((await list({ q: 'listed-' })).answer)
})

test('a server is kept in memory without its hardware, and with no other time than its creation', async () => {
  const { row } = digested((await byId(backend.platform.db, ids[0]!))!, new Date())
  expect(row).not.toHaveProperty('hardware')
  expect(
    Object.entries(row).flatMap(([column, value]) => (value instanceof Date ? [column] : [])),
  ).toEqual(['created_at'])
})
