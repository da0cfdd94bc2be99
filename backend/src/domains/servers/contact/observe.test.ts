import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { serverConfirm, serverGet, serverList } from '#contract/servers/servers.ts'
import type { Observation } from '../../../talos-fleet/contact.ts'
import { shardCount } from '../../../talos-fleet/leases.ts'
import type { PackedReading, Reading } from '../../../talos-fleet/reading.ts'
import { inTransaction } from '../../../db/db.ts'
import { startBackend } from '../../../testing/backend.ts'
import { statementsDuring } from '../../../testing/sent.ts'
import { buildServer } from '../testing.ts'
import { pack } from './observe.ts'

const backend = await startBackend()
const { db } = backend.platform
const { servers } = backend.domains
const viewer = await backend.signIn({ role: 'viewer' })

/** The default hardware of the servers in these tests. */
const hardwareOf = new Map<string, { uuid: string; serial: string }>()
const build = async (columns: { name?: string; address?: string } = {}) => {
  const hardware = { uuid: randomUUID(), serial: 'S1' }
  const id = await buildServer(backend, { address: '10.0.0.1', ...columns, ...hardware })
  hardwareOf.set(id, hardware)
  return id
}
const asked = (serverId: string) => ({
  serverId,
  ...hardwareOf.get(serverId)!,
  address: '10.0.0.1',
  clusterId: null,
  askedAt: backend.clock.now(),
  at: backend.clock.now(),
})
const seen = (serverId: string, stage = 'maintenance'): Observation => ({
  ...asked(serverId),
  kind: 'seen',
  status: { stage, ready: true, unmet: [] } as never,
  fingerprint: 'f',
  reading: null,
  usage: null,
})
const missed = (serverId: string, unreachable: boolean): Observation => ({
  ...asked(serverId),
  kind: 'missed',
  reason: 'connection refused',
  unreachable,
})
const other = (serverId: string): Extract<Observation, { kind: 'other' }> => ({
  ...asked(serverId),
  kind: 'other',
  found: { uuid: randomUUID(), serial: 'S2', manufacturer: '', product: 'Box' },
  fingerprint: 'g',
  unreachable: true,
})
/** A server whose next contact changes nothing. */
const settled = async () => {
  const id = await build()
  await servers.contact.observe([seen(id)])
  await get(id)
  return id
}
/**
 * Also reads the roster, as the contact loop does every second: observations are compared with the
 * servers as of the last roster.
 */
const get = async (id: string) => {
  await servers.contact.roster(new Set())
  return (await viewer.call(serverGet, { params: { id } })).answer!
}
const events = async () => {
  await backend.publish()
  return (await db.selectFrom('event').selectAll().orderBy('id').execute()).map((e) => ({
    name: e.name,
    data: e.data as { object: { id: string }; contacts?: Record<string, string> },
  }))
}

test("contacts do not change a server's version, and all contacts within ten seconds are written and published together", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => build()))
  // Publishes the contacts of earlier tests first.
  backend.clock.advance(10_000)
  await servers.contact.observe(ids.map((id) => seen(id)))
  const versions = await Promise.all(ids.map(async (id) => (await get(id)).version))
  const before = (await events()).length
  const later = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      backend.clock.advance(1000)
      await servers.contact.observe(ids.map((id) => seen(id)))
    }
  }
  await later(10)
  const at = new Date(backend.clock.now()).toISOString()
  await later(5)
  expect(await Promise.all(ids.map(async (id) => (await get(id)).version))).toEqual(versions)
  expect((await get(ids[0]!)).talos.last_contact_at).toBe(at)
  const told = (await events()).slice(before)
  expect(told.map((e) => e.name)).toEqual(['server.contacted'])
  expect(told[0]!.data.contacts).toEqual(Object.fromEntries(ids.map((id) => [id, at])))
})

test('a contact is written after ten seconds without another contact, and before the process stops', async () => {
  const id = await settled()
  const written = async () => (await get(id)).talos.last_contact_at
  const contact = async () => {
    await servers.contact.observe([seen(id)])
    return new Date(backend.clock.now()).toISOString()
  }
  backend.clock.advance(10_000)
  const first = await contact()
  backend.clock.advance(1000)
  const second = await contact()
  expect(await written()).toBe(first)
  // The interval doesn't depend on the wall clock.
  backend.clock.jump(-3_600_000)
  backend.clock.advance(9000)
  await servers.contact.observe([])
  backend.clock.jump(3_600_000)
  expect(await written()).toBe(second)
  backend.clock.advance(1000)
  const third = await contact()
  expect(await written()).toBe(second)
  await servers.contact.observe([], true)
  expect(await written()).toBe(third)
})

test('the last contact of a server is written when the server becomes reachable or unreachable', async () => {
  const [id, other] = [await settled(), await settled()]
  backend.clock.advance(10_000)
  await servers.contact.observe([seen(other), missed(id, true)])
  expect((await get(id)).talos.reachable).toBe(false)
  backend.clock.advance(1000)
  await servers.contact.observe([seen(other), seen(id)])
  const at = new Date(backend.clock.now()).toISOString()
  expect((await get(id)).talos).toMatchObject({ reachable: true, last_contact_at: at })
  expect((await get(other)).talos.last_contact_at).not.toBe(at)
  backend.clock.advance(1000)
  await servers.contact.observe([seen(id)])
  const last = new Date(backend.clock.now()).toISOString()
  backend.clock.advance(1000)
  await servers.contact.observe([missed(id, true)])
  expect((await get(id)).talos).toMatchObject({ reachable: false, last_contact_at: last })
})

test('two contacts without an answer change nothing, a third makes the server unreachable, and one answer makes it reachable', async () => {
  const id = await build()
  await servers.contact.observe([seen(id)])
  await servers.contact.observe([missed(id, false)])
  expect((await get(id)).talos.reachable).toBe(true)
  backend.clock.advance(60_000)
  await servers.contact.observe([missed(id, true)])
  const since = new Date(backend.clock.now()).toISOString()
  expect((await get(id)).talos).toMatchObject({
    reachable: false,
    unreachable_since: since,
    reason: 'connection refused',
  })
  backend.clock.advance(120_000)
  await servers.contact.observe([missed(id, true)])
  expect((await get(id)).talos.unreachable_since).toBe(since)
  await servers.contact.observe([seen(id, 'running')])
  expect((await get(id)).talos).toMatchObject({
    reachable: true,
    unreachable_since: null,
    reason: null,
    stage: 'running',
  })
  expect(
    (await events()).filter((e) => e.name === 'server.updated' && e.data.object.id === id),
  ).toHaveLength(3)
})

test('if other hardware answers repeatedly, one alarm is raised, and it remains after the known hardware answers again', async () => {
  const id = await build()
  const alarming = other(id)
  await servers.contact.observe([alarming])
  const alarmed = await get(id)
  expect(alarmed.identity).toMatchObject({
    state: 'changed',
    note: expect.stringContaining('Box, UUID'),
  })
  expect(alarmed.eligibility.find((e) => e.check === 'identity')!.ok).toBe(false)
  await servers.contact.observe([alarming])
  expect((await get(id)).version).toBe(alarmed.version)
  await expect(servers.connection(id)).rejects.toMatchObject({ code: 'identity_changed' })
  await servers.contact.observe([seen(id)])
  expect((await get(id)).identity.state).toBe('changed')
})

test('an alarm about a machine that only claims to be a server leaves it in use, and ends when a user says so', async () => {
  const id = await settled()
  const { uuid, serial } = hardwareOf.get(id)!
  await sql`update server set seen_uuid = ${uuid}, seen_serial = ${serial}, identity_note = 'Claimed' where id = ${id}`.execute(
    db,
  )
  expect(await get(id)).toMatchObject({
    identity: { state: 'confirmed', seen: { uuid, serial }, note: 'Claimed' },
  })
  await expect(servers.connection(id)).resolves.toBeDefined()
  const operator = await backend.signIn({ role: 'operator' })
  const ended = await operator.call(serverConfirm, { params: { id }, body: { uuid, serial } })
  expect(ended.answer!.identity).toMatchObject({ state: 'confirmed', seen: null, note: null })
})

test('a contact that began before a user confirmed the hardware raises no alarm, a later contact does', async () => {
  const id = await build()
  const operator = await backend.signIn({ role: 'operator' })
  await servers.contact.observe([other(id)])
  const late = other(id)
  backend.clock.advance(500)
  const confirmed = await operator.call(serverConfirm, {
    params: { id },
    body: hardwareOf.get(id)!,
  })
  expect(confirmed.answer!).toMatchObject({
    identity: { state: 'confirmed' },
    talos: { reachable: null, unreachable_since: null, reason: null },
  })
  await servers.contact.observe([{ ...late, at: backend.clock.now() + 200 }])
  expect(await get(id)).toMatchObject({
    version: confirmed.answer!.version,
    identity: { state: 'confirmed', note: null },
  })
  await servers.contact.observe([other(id)])
  expect((await get(id)).identity.state).toBe('changed')
})

test('if hardware is registered while a user accepts it as a replacement, the result is one server', async () => {
  const id = await build()
  const operator = await backend.signIn({ role: 'operator' })
  const alarming = other(id)
  await servers.contact.observe([alarming])
  const { uuid, serial } = alarming.found
  let confirming: ReturnType<typeof operator.call<typeof serverConfirm>> | undefined
  await db.transaction().execute(async (tx) => {
    await sql`insert into server (name, address, identity_state, identity_since, uuid, serial, created_at, updated_at)
      values ('swift-otter-001', '10.0.0.9', 'confirmed', now(), ${uuid}, ${serial}, now(), now())`.execute(
      tx,
    )
    confirming = operator.call(serverConfirm, { params: { id }, body: { uuid, serial } })
    await expect
      .poll(
        async () =>
          (
            await sql<{
              n: number
            }>`select count(*)::int as n from pg_locks where not granted`.execute(db)
          ).rows[0]!.n,
      )
      .toBeGreaterThan(0)
  })
  expect(await confirming).toMatchObject({
    status: 409,
    problem: { code: 'conflict', error: 'This hardware is already registered as swift-otter-001' },
  })
})

test('data read from a machine is not stored for the machine that replaced it', async () => {
  const id = await build()
  const operator = await backend.signIn({ role: 'operator' })
  const before = { ...seen(id, 'running'), fingerprint: 'of the old one' }
  const alarming = other(id)
  await servers.contact.observe([alarming])
  const { uuid, serial } = alarming.found
  const taken = await operator.call(serverConfirm, { params: { id }, body: { uuid, serial } })
  expect(taken.answer!.identity).toMatchObject({ state: 'confirmed', uuid, fingerprint: null })
  backend.clock.advance(500)
  // These contacts began before the user accepted the new hardware, so they are ignored.
  await servers.contact.observe([before, { ...other(id), found: alarming.found }, missed(id, true)])
  expect(await get(id)).toMatchObject({
    version: taken.answer!.version,
    identity: { state: 'confirmed', fingerprint: null },
    talos: { reachable: null },
  })
})

test("an answer from a server's former address is ignored", async () => {
  const id = await build({ address: '10.0.0.2' })
  await servers.contact.observe([missed(id, true)])
  expect((await get(id)).talos.reachable).toBeNull()
})

test('data read while a server was in a cluster is ignored after that server is released', async () => {
  const id = await build()
  await servers.contact.observe([seen(id)])
  await servers.contact.observe([{ ...seen(id, 'running'), clusterId: randomUUID() }])
  expect((await get(id)).talos.stage).toBe('maintenance')
})

test("two processes on one database see each other's changes at once", async () => {
  const other = await startBackend({ beside: backend, clock: backend.clock })
  const id = await build()
  const there = async () =>
    JSON.parse(
      (await other.domains.servers.listed.page({ page: 1, per_page: 1000 })).bytes.toString(),
    ).items.find((s: { id: string }) => s.id === id)
  expect(await there()).toMatchObject({ talos: { stage: 'unknown', last_contact_at: null } })
  await servers.contact.observe([seen(id)])
  expect(await there()).toMatchObject({
    talos: { stage: 'maintenance', last_contact_at: expect.any(String) },
  })
})

test('changes of transactions that commit out of order are not missed', async () => {
  const id = await build()
  await viewer.call(serverList)
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const slow = db.transaction().execute(async (tx) => {
    await tx
      .updateTable('server')
      .set({ name: 'slow-one-001', version: 2 })
      .where('id', '=', id)
      .execute()
    begun.resolve()
    await mayEnd.promise
  })
  await begun.promise
  // This transaction starts after the slow one but commits before it. The list shows this
  // transaction's change first.
  const quick = await build({ name: 'quick-one-001' })
  const names = async () => (await viewer.call(serverList)).answer!.items.map((s) => s.name)
  expect(await names()).toContain('quick-one-001')
  mayEnd.resolve()
  await slow
  expect(await names()).toContain('slow-one-001')
  expect(quick).not.toBe(id)
})

/**
 * The statements about servers that are sent during `act`, with `begin` and `commit`, by their
 * first word.
 */
async function statementsOf(act: () => Promise<unknown>): Promise<string[]> {
  const texts = await statementsDuring(act)
  // Streams of events and notifications are read by timers of their own.
  return texts
    .filter((text) => !/"event"|"publication"|"outbox"|listen/.test(text))
    .map((text) => text.split(' ', 1)[0]!)
}

const reading = (disk: string): PackedReading => pack(readingOf(disk))
const readingOf = (disk: string): Reading => ({
  status: {
    stage: 'maintenance',
    ready: true,
    unmet: [],
    version: 'v1.13.9',
    schematic: undefined,
    hostname: '',
    systemDisk: undefined,
  },
  inventory: {
    node_addresses: ['10.0.0.1'],
    processors: [],
    memory: [],
    disks: [
      {
        id: disk,
        size: 1e12,
        io_size: 512,
        pretty_size: '1 TB',
        type: 'NVME',
        model: 'M',
        serial: '',
        wwid: '',
        transport: 'nvme',
        readonly: false,
        content: 'empty',
      },
    ],
    interfaces: [],
    ports: new Map(),
    linkAddresses: {},
    routes: [],
    truncated: [],
  },
  secureBoot: null,
})

test('all contacts of ten seconds are written with one insert, and contacts without an answer with none', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => build()))
  const all = () => servers.contact.observe(ids.map((id) => seen(id)))
  backend.clock.advance(10_000)
  await all()
  await viewer.call(serverList)
  expect(await statementsOf(all)).toEqual([])
  expect(
    await statementsOf(() => servers.contact.observe(ids.map((id) => missed(id, false)))),
  ).toEqual([])
  backend.clock.advance(10_000)
  expect(await statementsOf(() => servers.contact.observe([seen(ids[0]!), seen(ids[0]!)]))).toEqual(
    ['begin', 'insert', 'commit'],
  )
})

test('hardware that was read again without a change is compared with the database once, and then with its digest', async () => {
  const id = await build()
  const read = (disk: string) =>
    servers.contact.observe([{ ...seen(id), reading: reading(disk) } as Observation])
  await read('nvme0n1')
  await viewer.call(serverList)
  expect(await statementsOf(() => read('nvme0n1'))).toContain('begin')
  const { version } = await get(id)
  expect(await statementsOf(() => read('nvme0n1'))).toEqual([])
  await read('nvme1n1')
  expect(await get(id)).toMatchObject({
    version: version + 1,
    resources: { disks: [{ id: 'nvme1n1' }] },
  })
  // Back to the first hardware: the digest belonged to the row before the change.
  await read('nvme0n1')
  expect(await get(id)).toMatchObject({
    version: version + 2,
    resources: { disks: [{ id: 'nvme0n1' }] },
  })
})

test('the links of pods, which come and go, are no change of the hardware', async () => {
  const id = await build()
  const made = readingOf('nvme0n1')
  const read = (linkAddresses: Record<string, string[]>) => {
    const packed = pack({ ...made, inventory: { ...made.inventory, linkAddresses } })
    return servers.contact.observe([{ ...seen(id), reading: packed } as Observation])
  }
  const bond = { bond0: ['10.0.0.1/24', 'fe80::2/64'] }
  await read(bond)
  const { version } = await get(id)
  await read({ ...bond, veth1: ['fe80::1/64'] })
  expect((await get(id)).version).toBe(version)
  await read({ ...bond, br0: ['10.1.0.1/24', 'fe80::3/64'] })
  expect((await get(id)).version).toBe(version + 1)
})

test('a reading that began before an upgrade was recorded does not bring the former version back, and the server is read again', async () => {
  const id = await build()
  const read = async (talos: string, askedAt: number, systemDisk?: string) => {
    const read = reading('nvme0n1')
    return servers.contact.observe([
      {
        ...seen(id),
        askedAt,
        reading: { ...read, status: { ...read.status, version: talos, systemDisk } },
      } as Observation,
    ])
  }
  const now = () => backend.clock.now()
  const upgrade = (schematic: string) =>
    inTransaction(db, (tx) => servers.noteTalos(tx, id, { talos_version: 'v1.13.9', schematic }))
  // No upgrade is recorded, so each reading counts: of the booted image, and the first one after the
  // installation of another version.
  expect(await read('v1.14.1', now())).toEqual([])
  expect(await read('v1.13.9', now(), 'nvme0n1')).toEqual([])
  expect((await get(id)).talos.version).toBe('v1.13.9')
  const before = now()
  backend.clock.advance(1000)
  await upgrade('a')
  expect(await read('v1.13.8', before, 'nvme0n1')).toEqual([id])
  await upgrade('a')
  expect(await read('v1.13.8', before, 'nvme0n1')).toEqual([id])
  expect((await get(id)).talos).toMatchObject({ version: 'v1.13.9', schematic: 'a' })
  // An upgrade to another image of the same version.
  const between = now()
  await upgrade('b')
  expect(await read('v1.13.9', between, 'nvme0n1')).toEqual([id])
  expect((await get(id)).talos).toMatchObject({ version: 'v1.13.9', schematic: 'b' })
  backend.clock.advance(1)
  expect(await read('v1.13.8', now(), 'nvme0n1')).toEqual([])
  expect((await get(id)).talos.version).toBe('v1.13.8')
})

test('an upgrade is recorded for good, even if its server was never read since its installation', async () => {
  const id = await build()
  const asked = backend.clock.now()
  await inTransaction(db, (tx) =>
    servers.noteTalos(tx, id, { talos_version: 'v1.13.9', schematic: 'a' }),
  )
  const before = reading('nvme0n1')
  const status = { ...before.status, version: 'v1.13.9', schematic: 'before' }
  const late = { ...seen(id), askedAt: asked, reading: { ...before, status } } as Observation
  expect(await servers.contact.observe([late])).toEqual([id])
  expect((await get(id)).talos).toMatchObject({ version: 'v1.13.9', schematic: 'a' })
})

test('contacts leave the roster as it is, and a change makes a new object only for the changed server', async () => {
  const shards = new Set(Array.from({ length: shardCount }, (_, i) => i))
  const [first, second] = [await build(), await build()]
  await servers.contact.observe([seen(first), seen(second)])
  const before = await servers.contact.roster(shards)
  backend.clock.advance(1000)
  await servers.contact.observe([seen(first), seen(second)])
  expect(await servers.contact.roster(shards)).toBe(before)
  await servers.contact.observe([seen(first, 'running')])
  const after = await servers.contact.roster(shards)
  const of = (roster: typeof after, id: string) => roster.find((one) => one.id === id)
  expect(of(after, first)).toMatchObject({ stage: 'running', lastContactAt: expect.any(Number) })
  expect(of(after, second)).toBe(of(before, second))
  expect(await servers.contact.roster(new Set())).toEqual([])
})
