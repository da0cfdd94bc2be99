import { sql } from 'kysely'
import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { findingList } from '#contract/findings/findings.ts'
import { startBackend } from '../../testing/backend.ts'
import { whenOver } from '../../testing/ending.ts'
import { buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform
const { findings, servers, all } = backend.domains
const domain = all.find((d) => d.name === 'findings')!

const of = async (object: string, ended: 'true' | 'false') =>
  (await viewer.call(findingList, { query: { object, ended } })).answer!.items.map((f) => f.kind)
/** Moves the clock until the background has judged. No request judges anything. */
const eventually = (object: string, ended: 'true' | 'false') =>
  expect.poll(() => {
    backend.clock.advance(15_000)
    return of(object, ended)
  })

test('a finding appears and ends in the background within fifteen seconds of its observation', async () => {
  const id = await buildServer(backend, { name: 'silent', reachable: true })
  await domain.start!()
  whenOver(() => domain.stop!())
  await db
    .updateTable('server')
    .set({ reachable: false, unreachable_since: new Date(backend.clock.now()) })
    .where('id', '=', id)
    .execute()
  await eventually(id, 'false').toEqual(['server_unreachable'])
  await db
    .updateTable('server')
    .set({ reachable: true, unreachable_since: null })
    .where('id', '=', id)
    .execute()
  await eventually(id, 'true').toEqual(['server_unreachable'])
  expect(await of(id, 'false')).toEqual([])
  await domain.stop!()
  // A stopped process judges nothing.
  await db
    .updateTable('server')
    .set({ reachable: false, unreachable_since: new Date(backend.clock.now()) })
    .where('id', '=', id)
    .execute()
  backend.clock.advance(60_000)
  expect(await of(id, 'false')).toEqual([])
  await domain.start!()
  await eventually(id, 'false').toEqual(['server_unreachable'])
  await domain.stop!()
})

test('judging 10,000 servers takes no more queries than judging one, and less time than reading them', async () => {
  const queries = vi.spyOn(Client.prototype, 'query')
  whenOver(() => queries.mockRestore())
  const pass = async () => {
    const [before, began] = [queries.mock.calls.length, process.cpuUsage()]
    await findings.judge()
    const { user } = process.cpuUsage(began)
    return { queries: queries.mock.calls.length - before, ms: user / 1000 }
  }
  const passes = async () => {
    const each = []
    for (let i = 0; i < 5; i++) each.push(await pass())
    // Work in the background may send others during a pass.
    return {
      queries: Math.min(...each.map((p) => p.queries)),
      ms: Math.min(...each.map((p) => p.ms)),
    }
  }
  await findings.judge()
  const few = await passes()
  await sql`insert into server (name, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable)
    select 'many-' || n, '10.1.' || n / 256 || '.' || n % 256, 'confirmed', now(), gen_random_uuid()::text, n::text, now(), now(), true
    from generate_series(1, 10000) as n`.execute(db)
  const began = process.cpuUsage()
  expect((await servers.summary()).servers.total).toBe(10_001)
  const readMs = process.cpuUsage(began).user / 1000
  const many = await passes()
  // A pass leaves out reading servers that haven't changed since the pass before.
  expect(many.queries).toBeLessThanOrEqual(few.queries)
  expect(many.ms).toBeLessThan(readMs)
})
