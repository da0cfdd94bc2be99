import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import {
  capacityMeasurements,
  dayMs,
  minuteMs,
  namesOf,
  quarterMs,
  serverMeasurements,
  serverSeries,
} from '#contract/measurements/measurements.ts'
import { inTransaction } from '../../db/db.ts'
import { startBackend } from '../../testing/backend.ts'
import { statementsDuring } from '../../testing/sent.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import { measurements } from './measurements.ts'
import { packDay, unpackDay } from './packing.ts'
import { figuresBetween } from './rates.ts'
import { allServers } from './series.ts'
import * as store from './store.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform
const domain = backend.domains.all.find(({ name }) => name === 'measurements')!

const usage = {
  bootedAt: 1_000,
  cpuSeconds: 1_000,
  cpuIdleSeconds: 900,
  memoryTotalBytes: 64_000,
  memoryUsedBytes: 16_000,
  readBytes: 0,
  writtenBytes: 0,
  receivedBytes: 1_000,
  sentBytes: 0,
}
/** The counters a minute later: a quarter of the processors busy, 100 bytes per second received. */
const later = {
  ...usage,
  cpuSeconds: 1_080,
  cpuIdleSeconds: 960,
  receivedBytes: 7_000,
  writtenBytes: 600,
}
const read = async (id: string, query: { from?: string; to?: string } = {}) =>
  viewer.call(serverMeasurements, { params: { id }, query })

test('values are differences of counters; a restart, a gap and a counter that went back give none', () => {
  const before = { at: 0, usage }
  const all = { cpu: 0.25, memory: 0.25, disk_read: 0, disk_written: 10, received: 100, sent: 0 }
  expect(figuresBetween(before, { at: minuteMs, usage: later })).toEqual(all)
  const none = {
    cpu: null,
    memory: 0.25,
    disk_read: null,
    disk_written: null,
    received: null,
    sent: null,
  }
  expect(figuresBetween(undefined, { at: minuteMs, usage: later })).toEqual(none)
  expect(figuresBetween(before, { at: minuteMs, usage: { ...later, bootedAt: 2_000 } })).toEqual(
    none,
  )
  expect(figuresBetween(before, { at: 6 * minuteMs, usage: later })).toEqual(none)
  expect(figuresBetween(before, { at: 0, usage: later })).toEqual(none)
  expect(figuresBetween(before, { at: minuteMs, usage: { ...later, receivedBytes: 10 } })).toEqual({
    ...all,
    received: null,
  })
})

test('a packed day keeps gaps, and a day with fewer series is still read', () => {
  const quarters = [
    { quarter: 0, mean: [0.5, null], max: [1, null] },
    { quarter: 95, mean: [null, 3], max: [null, 4] },
  ]
  const packed = packDay(quarters, 2)
  expect(packed).toHaveLength(96 * 2 * 8)
  expect(unpackDay(packed, 2)).toEqual(quarters)
  expect(unpackDay(packed, 3)).toEqual(
    quarters.map(({ quarter, mean, max }) => ({
      quarter,
      mean: [...mean, null],
      max: [...max, null],
    })),
  )
})

test('what servers say is there by the minute, with gaps', async () => {
  const id = await buildServer(backend, { name: 'busy' })
  const own = measurements(backend.platform)
  const start = Math.ceil(backend.clock.now() / minuteMs) * minuteMs
  backend.clock.advance(start - backend.clock.now())
  own.note(id, start, { answered: true, usage })
  backend.clock.advance(minuteMs)
  own.note(id, start + minuteMs, { answered: true, usage: later })
  await own.flush(true)
  backend.clock.advance(2 * minuteMs)
  const from = new Date(start).toISOString()
  const { answer } = await read(id, { from })
  expect(answer).toMatchObject({ starts_at: from, step_seconds: 60 })
  const series = Object.fromEntries(answer!.series.map(({ name, mean }) => [name, mean]))
  expect(series).toEqual({
    cpu: [null, 0.25, null],
    memory: [0.25, 0.25, null],
    disk_read: [null, 0, null],
    disk_written: [null, 10, null],
    received: [null, 100, null],
    sent: [null, 0, null],
    answered: [1, 1, null],
  })
  expect((await read(randomUUID())).status).toBe(404)
  const to = new Date(start - 1).toISOString()
  expect((await read(id, { from, to })).problem).toMatchObject({
    code: 'invalid',
    fields: { from: 'The start lies after the end' },
  })
})

test('which part of the contacts a server answered is measured also in maintenance mode', async () => {
  const id = await buildServer(backend, { name: 'idle' })
  const start = Math.ceil(backend.clock.now() / minuteMs) * minuteMs
  backend.clock.advance(start - backend.clock.now())
  const [own, other] = [measurements(backend.platform), measurements(backend.platform)]
  const contact = (ms: number, answered: boolean) =>
    own.note(id, start + ms, { answered, usage: null })
  contact(0, true)
  contact(20_000, false)
  contact(40_000, false)
  await own.flush(false)
  const answered = async () => {
    const { series } = (await read(id, { from: new Date(start).toISOString() })).answer!
    return series.find(({ name }) => name === 'answered')!.mean
  }
  // A minute that isn't over is not stored yet.
  expect(await answered()).toEqual([])
  contact(50_000, false)
  backend.clock.advance(minuteMs)
  await own.flush(false)
  expect(await answered()).toEqual([0.25])
  // Another process that contacts the server in the same minute, and a clock that is set back.
  other.note(id, start, { answered: true, usage: null })
  contact(2 * minuteMs, true)
  backend.clock.jump(-minuteMs)
  contact(0, true)
  await Promise.all([own.flush(true), other.flush(true)])
  backend.clock.jump(minuteMs)
  backend.clock.advance(2 * minuteMs)
  expect(await answered()).toEqual([0.25, null, 1])
})

test('a day that is over for a day is folded to quarters once, and the chart stays the same', async () => {
  const id = await buildServer(backend, { name: 'folded' })
  const day = Math.floor(backend.clock.now() / dayMs) * dayMs
  const minutes = Array.from({ length: 45 }, (_, m) => ({
    objectId: id,
    at: new Date(day + m * minuteMs),
    figures: [m / 100, 0.5, null, 0, m === 20 ? 900 : 100, 0],
  }))
  await store.insertMinutes(db, minutes)
  // The same minute from another process: the first value stays.
  await store.insertMinutes(db, [{ ...minutes[0]!, figures: [1, 1, 1, 1, 1, 1] }])
  backend.clock.advance(day + dayMs + 60 * minuteMs - backend.clock.now())
  await domain.removeOld!()
  const query = {
    from: new Date(day).toISOString(),
    to: new Date(day + 4 * quarterMs).toISOString(),
  }
  const before = (await read(id, query)).answer!
  expect(before.step_seconds).toBe(900)
  expect(before.series[4]).toMatchObject({
    name: 'received',
    mean: [100, expect.closeTo(100 + 800 / 15, 3), 100, null],
    max: [100, 900, 100, null],
  })
  expect(before.series[0]!.max).toEqual([
    expect.closeTo(0.14),
    expect.closeTo(0.29),
    expect.closeTo(0.44),
    null,
  ])
  const count = async () =>
    Number(
      (
        await db
          .selectFrom('measurement_minute')
          .select(sql<string>`count(*)`.as('n'))
          .where('object_id', '=', id)
          .executeTakeFirstOrThrow()
      ).n,
    )
  expect(await count()).toBe(45)
  backend.clock.advance(dayMs)
  await Promise.all([domain.removeOld!(), domain.removeOld!()])
  expect(await count()).toBe(0)
  const after = (await read(id, query)).answer!
  const rounded = ({ series }: typeof before) =>
    series.map(({ mean }) => mean.map((value) => value?.toFixed(3)))
  expect(rounded(after)).toEqual(rounded(before))
  // A year is answered in few steps: each has the mean of its quarters and the highest minute.
  const yearAgo = new Date(day - 360 * dayMs).toISOString()
  const year = (await read(id, { from: yearAgo, to: query.to })).answer!
  expect(year.step_seconds).toBe(6 * 3600)
  expect(year.series[4]!.mean).toHaveLength(4 * 360 + 1)
  expect(year.series[4]).toMatchObject({
    mean: expect.arrayContaining([expect.closeTo((300 + 800 / 15) / 3, 3)]),
    max: expect.arrayContaining([900]),
  })
  backend.clock.advance(367 * dayMs)
  await domain.removeOld!()
  expect(await db.selectFrom('measurement_day').select('day').execute()).toEqual([])
})

test('capacity is counted once a minute, however many processes count', async () => {
  const other = await startBackend({ beside: backend, clock: backend.clock })
  const size = {
    processors: [{ id: 'a', cpu_cores: 8 }],
    memory: [{ id: 'b', size: 64 * 1024 ** 3 }],
  }
  const hardware = JSON.stringify({
    ...size,
    disks: [],
    interfaces: [],
    addresses: [],
    links: [],
    routes: [],
  })
  await db
    .updateTable('server')
    .set({ status: 'deleted', removed_at: new Date(0) })
    .execute()
  const cluster_id = randomUUID()
  await buildCluster(backend, cluster_id, 'used')
  const member = { cluster_id, cluster_name: 'used', status: 'ready' as const, hardware }
  const finding = (severity: 'down' | 'attention') =>
    JSON.stringify({
      id: randomUUID(),
      kind: 'server_unreachable',
      severity,
      since: new Date().toISOString(),
      reason: 'Off',
    })
  await buildServer(backend, { ...member, address: '10.9.0.1' })
  await buildServer(backend, { ...member, address: '10.9.0.2', finding: finding('attention') })
  await buildServer(backend, { ...member, address: '10.9.0.3', finding: finding('down') })
  await buildServer(backend, { hardware, address: '10.9.0.4' })
  await buildServer(backend, { address: '10.9.0.5', finding: finding('down') })
  // A minute is shown once it has begun.
  backend.clock.advance(1_000)
  const domains = [domain, other.domains.all.find(({ name }) => name === 'measurements')!]
  await Promise.all(domains.map((one) => one.start!()))
  const counted = async () => {
    const from = new Date(backend.clock.now() - 3_600_000).toISOString()
    const { series } = (await viewer.call(capacityMeasurements, { query: { from } })).answer!
    return series.map(({ name, mean }) => [name, mean.filter((value) => value !== null)] as const)
  }
  const values = (n: number) =>
    Object.entries({
      in_clusters: 2,
      free: 1,
      not_well: 2,
      servers: 5,
      units_in_clusters: 24,
      units_free: 8,
    })
      .map(([name, value]) => [name, Array.from({ length: n }, () => value)])
      .concat([
        ['units_committed', []],
        ['units_uncommitted', []],
      ])
  await expect.poll(counted).toEqual(values(1))
  backend.clock.advance(minuteMs)
  await expect.poll(counted).toEqual(values(2))
  // A clock that is set back counts a minute again: the first numbers stay.
  backend.clock.jump(-minuteMs)
  await buildServer(backend, { address: '10.9.0.6' })
  backend.clock.advance(minuteMs)
  await Promise.all(domains.map((one) => one.stop!()))
  backend.clock.jump(minuteMs)
  expect(await counted()).toEqual(values(2))
})

test('the capacity of 30 days is answered by the hour, or by the day', async () => {
  const hourMs = 4 * quarterMs
  backend.clock.advance(hourMs - (backend.clock.now() % hourMs) + 1_000)
  const start = Math.floor(backend.clock.now() / dayMs) * dayMs - 40 * dayMs
  for (let day = 0; day < 38; day++) {
    const one = { mean: [4, day, 0, 4 + day], max: [4, day + 1, 0, 5 + day] }
    const quarters = Array.from({ length: 96 }, (_, quarter) => ({ quarter, ...one }))
    const name = new Date(start + day * dayMs).toISOString().slice(0, 10)
    await db.transaction().execute((tx) => store.putDay(tx, allServers, name, packDay(quarters, 4)))
  }
  const hours = (await viewer.call(capacityMeasurements, { query: {} })).answer!
  expect(hours).toMatchObject({ step_seconds: 3600, simulated_before: null })
  expect(hours.series[0]!.mean).toHaveLength(30 * 24 + 1)
  const days = (await viewer.call(capacityMeasurements, { query: { step: 'day' } })).answer!
  expect(days.step_seconds).toBe(24 * 3600)
  const free = days.series.find(({ name }) => name === 'free')!
  expect(free.mean.slice(0, 3)).toEqual([10, 11, 12])
  expect(free.max.slice(0, 3)).toEqual([11, 12, 13])
  expect(days.series.find(({ name }) => name === 'units_free')!.mean[0]).toBeNull()
})

test('only an installation with simulated servers makes up a past, and only once', async () => {
  const past = {
    from: new Date(backend.clock.now() - 30 * dayMs),
    objects: [{ kind: 'capacity' as const, at: () => ({ free: 7 }) }],
  }
  const { measurements: real } = backend.domains
  await expect(inTransaction(db, (tx) => real.writePast(tx, past))).rejects.toThrow(
    'simulated servers',
  )
  expect(await store.simulatedBefore(db)).toBeUndefined()

  const demo = await startBackend({ environment: { STEELYARD_SIMULATE: '3' } })
  const reader = await demo.signIn({ role: 'viewer', lasts: true })
  const id = await buildServer(demo, { name: 'simulated' })
  const began = demo.clock.now()
  const write = (written: Parameters<typeof real.writePast>[1]) =>
    inTransaction(demo.platform.db, (tx) => demo.domains.measurements.writePast(tx, written))
  const objects = [
    ...past.objects,
    { kind: 'server' as const, id, at: (ms: number) => ({ cpu: (ms / minuteMs) % 2 }) },
  ]
  const from = new Date(began - 30 * dayMs)
  expect(await write({ from, objects })).toBe(true)
  expect(await write({ from, objects: [{ kind: 'capacity', at: () => ({ free: 9 }) }] })).toBe(
    false,
  )
  const capacity = (await reader.call(capacityMeasurements, { query: {} })).answer!
  expect(capacity.simulated_before).toBe(new Date(began).toISOString())
  const free = capacity.series.find(({ name }) => name === 'free')!.mean
  expect(new Set(free)).toEqual(new Set([7]))
  expect(free).toHaveLength(720)
  const day = (await reader.call(serverMeasurements, { params: { id } })).answer!
  expect(day.step_seconds).toBe(60)
  expect(day.series[0]!.mean.filter((value) => value !== null)).toHaveLength(1440)
  const month = { from: from.toISOString() }
  const { series } = (await reader.call(serverMeasurements, { params: { id }, query: month }))
    .answer!
  expect(series[0]!.max.slice(0, 600)).toEqual(Array.from({ length: 600 }, () => 1))
  expect(series[0]!.mean.every((value) => value !== null)).toBe(true)
  expect(series[1]!.mean.every((value) => value === null)).toBe(true)
  // What is measured later is not simulated.
  demo.clock.advance(2 * dayMs)
  expect(
    (await reader.call(serverMeasurements, { params: { id } })).answer!.simulated_before,
  ).toBeNull()
})

test('a chart reads only the minutes of its server, in two queries', async () => {
  const id = await buildServer(backend, { name: 'charted' })
  const day = new Date(Math.floor(backend.clock.now() / dayMs) * dayMs)
  await sql`insert into measurement_minute
    select (case when s = 1 then ${id} else '00000000-0000-4000-9000-' || lpad(s::text, 12, '0') end)::uuid,
      ${day}::timestamptz + m * interval '1 minute', array[0.5, 0.25, 1, 2, 3, 4, 1]::real[]
    from generate_series(1, 50) s, generate_series(0, 1439) m`.execute(db)
  await sql`analyze measurement_minute`.execute(db)
  const read = await db.transaction().execute(async (tx) => {
    const to = new Date(day.getTime() + dayMs)
    const values = await store.minutesAsJson(tx, id, { from: day, to, series: 7 })
    const { rows } = await sql<{ scanned: number; fetched: number }>`
      select seq_tup_read as scanned, idx_tup_fetch as fetched
      from pg_stat_xact_user_tables where relname = 'measurement_minute'`.execute(tx)
    return { minutes: (JSON.parse(values[0]!) as unknown[]).length, ...rows[0]! }
  })
  expect(read).toMatchObject({ minutes: 1440, scanned: 0 })
  // Of 72,000 rows. A page of the index that is read as a whole has some of other servers.
  expect(read.fetched).toBeLessThan(1600)
  const statements = await statementsDuring(() =>
    viewer.call(serverMeasurements, { params: { id } }),
  )
  // The values, and whether some are simulated. Work in the background may send others meanwhile.
  expect(statements.filter((statement) => statement.includes('measurement_'))).toHaveLength(2)
})

test('a year of 1,000 servers takes less than 10 GB', async () => {
  const servers = 200
  const series = namesOf(serverSeries).length
  const day = new Date(Math.floor(backend.clock.now() / dayMs) * dayMs)
  // Values that pack badly. A minute takes the same space whatever its values are.
  await sql`insert into measurement_minute
    select ('00000000-0000-4000-8000-' || lpad(s::text, 12, '0'))::uuid, ${day}::timestamptz + m * interval '1 minute',
      array[random(), random(), random() * 1e8, random() * 1e8, random() * 1e8, random() * 1e8, random()]::real[]
    from generate_series(1, ${servers}) s, generate_series(0, 119) m`.execute(db)
  for (let s = 0; s < servers; s++)
    await sql`insert into measurement_day values (gen_random_uuid(), '2026-01-01', ${packDay(
      Array.from({ length: 96 }, (_, quarter) => {
        const values = Array.from({ length: series }, () => Math.random() * 1e8)
        return { quarter, mean: values, max: values.map((value) => value * 1.1) }
      }),
      series,
    )})`.execute(db)
  const sizeOf = async (table: string) =>
    Number(
      (
        await sql<{
          size: string
        }>`select pg_total_relation_size(${table}::regclass) as size`.execute(db)
      ).rows[0]!.size,
    )
  // At most two whole days are kept by the minute; here are two hours.
  const minutes = ((await sizeOf('measurement_minute')) / servers) * 24 * 1_000
  const days = ((await sizeOf('measurement_day')) / servers) * 365 * 1_000
  expect(minutes + days).toBeLessThan(10e9)
  expect(minutes + days).toBeGreaterThan(1e9)
})
