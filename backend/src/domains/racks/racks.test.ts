import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { datacenterCreate, datacenterRemove } from '#contract/datacenters.ts'
import { historyList } from '#contract/history/history.ts'
import {
  rackCreate,
  rackGet,
  rackList,
  rackRemove,
  rackUpdate,
  serverPlace,
  serverUnplace,
} from '#contract/racks/racks.ts'
import { serverGet, serverRemove, serverRows, serverUpdate } from '#contract/servers/servers.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'

let backend: Backend
let operator: SignedIn
let admin: SignedIn
const datacenters: Record<string, string> = {}

async function addDatacenter(city: string): Promise<string> {
  const { answer, text } = await admin.call(datacenterCreate, {
    body: { country_code: 'PL', city_code: city, city_name: city },
  })
  if (!answer) throw new Error(text)
  return answer.id
}
beforeAll(async () => {
  backend = await startBackend()
  admin = await backend.signIn()
  operator = await backend.signIn({ role: 'operator' })
  for (const city of ['POZ', 'WAW']) datacenters[city] = await addDatacenter(city)
})

let numbers = 0
const server = (name: string, city = 'POZ') =>
  buildServer(backend, {
    name,
    address: `10.7.${Math.floor(++numbers / 250)}.${numbers % 250}`,
    datacenter_id: datacenters[city] ?? null,
  })
async function rack(name: string, more: { units?: number; city?: string } = {}): Promise<string> {
  const { city = 'POZ', ...body } = more
  const { answer, text } = await operator.call(rackCreate, {
    body: { datacenter_id: datacenters[city]!, name, ...body },
  })
  if (!answer) throw new Error(text)
  return answer.id
}
const place = (id: string, rack_id: string, unit: number, more: object = {}) =>
  operator.call(serverPlace, { params: { id }, body: { rack_id, unit, ...more } })
const placementOf = async (id: string) =>
  (await operator.call(serverGet, { params: { id } })).answer!.placement

test('a rack is added, found, renamed, made higher and removed', async () => {
  const id = await rack(' A-2 ')
  await rack('A-10')
  const { items } = (await operator.call(rackList, { query: { q: 'a-' } })).answer!
  expect(items).toMatchObject([
    { name: 'A-2', units: 42, free_units: 42, servers: 0, datacenter: { code: 'PL-POZ-1' } },
    { name: 'A-10' },
  ])
  const params = { id }
  const { answer } = await operator.call(rackUpdate, {
    params,
    body: { name: 'A-02', units: 48 },
  })
  expect(answer).toMatchObject({ name: 'A-02', units: 48, version: 2 })
  const stale = await operator.call(rackUpdate, { params, body: { units: 40 } }, { ifMatch: 1 })
  expect(stale.problem!.code).toBe('stale')
  expect((await operator.call(rackRemove, { params })).status).toBe(204)
  expect((await operator.call(rackGet, { params })).status).toBe(404)
})

test.each([
  ['', 42, 'name', 'Enter the name of the rack'],
  ['x'.repeat(41), 42, 'name', 'The name of a rack has at most 40 characters'],
  ['A\u200b1', 42, 'name', 'The text contains an invisible character'],
  ['A\n1', 42, 'name', 'The name of a rack is one line'],
  ['A-1', 0, 'units', 'A rack has 1 to 60 units'],
  ['A-1', 61, 'units', 'A rack has 1 to 60 units'],
  ['A-1', 1.5, 'units', 'A rack has 1 to 60 units'],
])('a rack named %j with %d units is refused', async (name, units, field, sentence) => {
  const body = { datacenter_id: datacenters['POZ']!, name, units }
  const { problem } = await operator.call(rackCreate, { body })
  expect(problem).toMatchObject({ code: 'invalid', fields: { [field]: sentence } })
})

test('a name is unique in its datacenter, whatever its case', async () => {
  await rack('Row 3 / 7')
  await rack('Row 3 / 7', { city: 'WAW' })
  const body = { datacenter_id: datacenters['POZ']!, name: 'ROW 3 / 7' }
  expect((await operator.call(rackCreate, { body })).problem).toMatchObject({
    code: 'name_taken',
    fields: { name: 'This datacenter has a rack of this name already' },
  })
})

test('a placed server shows its place in lists, on its page, in its history and in the audit log', async () => {
  const [rackId, id] = [await rack('B-1'), await server('calm-otter-101')]
  const { answer } = await place(id, rackId, 12, { height: 2 })
  const placement = {
    rack: { id: rackId, name: 'B-1' },
    unit: 12,
    height: 2,
    face: 'both',
    bay: null,
  }
  expect(answer!.placement).toEqual(placement)
  const listed = await operator.call(serverRows, { query: { rack: rackId, fields: 'list' } })
  expect(listed.answer!.items).toMatchObject([{ name: 'calm-otter-101', placement }])
  const { version } = answer!
  expect((await place(id, rackId, 12, { height: 2 })).answer!.version).toBe(version)
  await place(id, rackId, 13, { height: 2 })
  await operator.call(rackUpdate, { params: { id: rackId }, body: { name: 'B-01' } })
  expect(await placementOf(id)).toMatchObject({ rack: { name: 'B-01' }, unit: 13 })
  await operator.call(serverUnplace, { params: { id } })
  expect(await placementOf(id)).toBeNull()
  const history = await operator.call(historyList, { query: { object: id, kind: 'server_rack' } })
  expect(history.answer!.items.map(({ message, by }) => [message, by.name])).toEqual([
    ['Taken out of its rack: it was at B-01, units 13 to 14', operator.email],
    [
      'Its place in the racks changed from B-1, units 13 to 14 to B-01, units 13 to 14',
      operator.email,
    ],
    [
      'Its place in the racks changed from B-1, units 12 to 13 to B-1, units 13 to 14',
      operator.email,
    ],
    ['Its place in the racks is B-1, units 12 to 13', operator.email],
  ])
  await backend.publish()
  const audit = await admin.call(auditList, { query: { target: id } })
  expect(audit.answer!.items.map(({ action, before, after }) => [action, before, after])).toEqual([
    ['server.unplaced', { placement: 'B-01, units 13 to 14' }, { placement: null }],
    ['server.placed', { placement: 'B-1, units 12 to 13' }, { placement: 'B-1, units 13 to 14' }],
    ['server.placed', { placement: null }, { placement: 'B-1, units 12 to 13' }],
  ])
})

test('a place that is taken, outside of the rack or elsewhere is refused and changes nothing', async () => {
  const rackId = await rack('C-1', { units: 20 })
  const [holder, id] = [await server('calm-otter-201'), await server('calm-otter-202')]
  await place(holder, rackId, 10, { height: 4 })
  const refused = async (unit: number, more: object = {}) =>
    (await place(id, rackId, unit, more)).problem
  const taken = 'calm-otter-201 stands in C-1 at units 10 to 13'
  expect(await refused(13)).toMatchObject({
    code: 'conflict',
    error: taken,
    fields: { unit: taken },
    related: { kind: 'server', id: holder, name: 'calm-otter-201' },
  })
  expect(await refused(9, { height: 2 })).toMatchObject({ error: taken })
  expect(await refused(8, { height: 10 })).toMatchObject({ error: taken })
  expect(await refused(10, { face: 'rear' })).toMatchObject({ error: taken })
  expect(await refused(21)).toMatchObject({
    error: 'C-1 has 20 units, so there is no unit 21',
  })
  expect(await refused(20, { height: 2 })).toMatchObject({
    error: 'C-1 has 20 units: units 20 to 21 would stand out of it',
  })
  expect(await refused(0)).toMatchObject({ code: 'invalid' })
  expect(await refused(61)).toMatchObject({ code: 'invalid' })
  const far = await rack('C-1', { city: 'WAW' })
  expect((await place(id, far, 1)).problem!.error).toBe(
    'calm-otter-202 is in PL-POZ-1, and C-1 is in PL-WAW-1: move the server to PL-WAW-1 first',
  )
  const lost = await server('calm-otter-203', 'nowhere')
  expect((await place(lost, rackId, 1)).problem!.error).toBe(
    'calm-otter-203 is in no datacenter, and C-1 is in PL-POZ-1: assign the server to PL-POZ-1 first',
  )
  expect(await placementOf(id)).toBeNull()
  expect((await place(id, rackId, 14)).status).toBe(200)
})

test('two servers of half the depth share a unit, one at each face', async () => {
  const rackId = await rack('D-1')
  const [front, rear, third] = [
    await server('calm-otter-301'),
    await server('calm-otter-302'),
    await server('calm-otter-303'),
  ]
  expect((await place(front, rackId, 5, { face: 'front' })).status).toBe(200)
  expect((await place(rear, rackId, 5, { face: 'rear' })).status).toBe(200)
  expect((await place(third, rackId, 5)).problem!.code).toBe('conflict')
  const { answer } = await operator.call(rackGet, { params: { id: rackId } })
  expect(answer).toMatchObject({ servers: 2, free_units: 41 })
})

test('servers of one chassis share its units, each in a bay of its own', async () => {
  const rackId = await rack('J-1', { units: 20 })
  const [first, second, third] = [
    await server('calm-otter-901'),
    await server('calm-otter-902'),
    await server('calm-otter-903'),
  ]
  const put = (id: string, bay: string | null, more: object = {}, unit = 12) =>
    place(id, rackId, unit, { height: 2, bay, ...more })
  expect((await put(first, null)).status).toBe(200)
  const refused = async (...asked: Parameters<typeof put>) => (await put(...asked)).problem
  const there = 'calm-otter-901 stands in J-1 at units 12 to 13'
  expect((await refused(second, null))!.error).toBe(
    `${there}. If both are in one chassis, give each a bay`,
  )
  expect((await refused(second, '2'))!.error).toBe(
    `${there}. If both are in one chassis, give calm-otter-901 a bay, too`,
  )
  expect((await put(first, ' Left ')).answer!.placement).toMatchObject({ bay: 'Left' })
  const give = `${there}, bay Left. Give a bay to put several servers into one chassis`
  expect(await refused(second, null)).toMatchObject({ error: give, fields: { bay: give } })
  const another = `${there}, bay Left. Give another bay`
  expect(await refused(second, 'left')).toMatchObject({
    error: another,
    fields: { bay: another },
    related: { id: first },
  })
  const common = `${there}, bay Left. The servers of one chassis have the same lowest unit, height and depth`
  expect(await refused(second, 'right', { height: 1 })).toMatchObject({
    error: common,
    fields: { unit: common },
  })
  expect((await refused(second, 'right', { face: 'rear' }))!.error).toBe(common)
  expect((await refused(second, 'right', {}, 13))!.error).toBe(common)
  expect((await put(second, 'right')).status).toBe(200)
  expect((await put(third, null, {}, 11)).problem!.code).toBe('conflict')
  const { answer } = await operator.call(rackUpdate, {
    params: { id: rackId },
    body: { name: 'J-01', units: 13 },
  })
  expect(answer).toMatchObject({ servers: 2, free_units: 11 })
  const { answer: listed } = await operator.call(serverRows, {
    query: { rack: rackId, sort: 'rack', fields: 'list' },
  })
  expect(listed!.items.map(({ placement: p }) => [p!.rack.name, p!.unit, p!.bay])).toEqual([
    ['J-01', 12, 'Left'],
    ['J-01', 12, 'right'],
  ])
  for (const bay of ['', ' ', 'x'.repeat(17), '-1', 'a,b', 'a\nb', 'a\u200bb', '=1'])
    expect(await refused(third, bay)).toMatchObject({
      code: 'invalid',
      fields: { bay: expect.stringMatching(/^A bay has 1 to 16 letters, digits, spaces, /) },
    })
  expect(await placementOf(third)).toBeNull()
})

test('a rack with servers is not removed, and not made lower than they stand', async () => {
  const [rackId, id] = [await rack('E-1'), await server('calm-otter-401')]
  await place(id, rackId, 40, { height: 2 })
  const params = { id: rackId }
  expect((await operator.call(rackUpdate, { params, body: { units: 40 } })).problem).toMatchObject({
    code: 'conflict',
    error:
      'calm-otter-401 stands higher than that. E-1 has 40 units: units 40 to 41 would stand out of it',
    related: { kind: 'server', id },
  })
  expect((await operator.call(rackUpdate, { params, body: { units: 41 } })).status).toBe(200)
  expect((await operator.call(rackRemove, { params })).problem!.error).toBe(
    '1 server in this rack. Take them out of it first',
  )
  const higher = sql`update rack set units = 39 where id = ${rackId}`
  await expect(higher.execute(backend.platform.db)).rejects.toThrow('server_within_rack')
})

test('a server leaves its rack when it is removed or moves to another datacenter', async () => {
  const rackId = await rack('F-1')
  const [gone, moved, next] = [
    await server('calm-otter-501'),
    await server('calm-otter-502'),
    await server('calm-otter-503'),
  ]
  await place(gone, rackId, 1)
  await place(moved, rackId, 2)
  await operator.call(serverRemove, { params: { id: gone } })
  await operator.call(serverUpdate, {
    params: { id: moved },
    body: { datacenter_id: datacenters['WAW']! },
  })
  expect(await placementOf(moved)).toBeNull()
  expect((await place(next, rackId, 1, { height: 2 })).status).toBe(200)
  expect((await place(gone, rackId, 3)).status).toBe(404)
})

test('the empty racks of a datacenter are removed with it', async () => {
  datacenters['KRK'] = await addDatacenter('KRK')
  const id = await rack('A-1', { city: 'KRK' })
  const removed = await admin.call(datacenterRemove, { params: { id: datacenters['KRK'] } })
  expect(removed.status).toBe(204)
  expect((await operator.call(rackGet, { params: { id } })).status).toBe(404)
})

test('of fifty placements at once, no two overlap outside of a chassis, and each refusal names the holder of the place', async () => {
  const rackId = await rack('G-1')
  const ids = await Promise.all(
    Array.from({ length: 50 }, (_, i) => server(`calm-otter-${600 + i}`)),
  )
  const answers = await Promise.all(
    ids.map((id, i) => {
      const bay = ['a', 'b', 'A', null, 'c'][Math.floor(i / 10)]
      const unit = (i % 10) * 4 + 1
      return bay === 'c'
        ? place(id, rackId, unit + 1, { bay })
        : place(id, rackId, unit, { height: 2, bay })
    }),
  )
  const placed = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status !== 200)
  expect(placed.length).toBeGreaterThan(10)
  for (const { problem } of refused)
    expect(problem).toMatchObject({
      code: 'conflict',
      error: expect.stringMatching(/^calm-otter-6\d\d stands in G-1 at unit/),
    })
  const { rows } = await sql`select a.name, b.name from server a join server b on a.id < b.id
    and a.rack_id = b.rack_id and int4range(a.rack_unit, a.rack_unit + a.rack_height) && int4range(b.rack_unit, b.rack_unit + b.rack_height)
    and ((a.rack_unit, a.rack_height) = (b.rack_unit, b.rack_height) and lower(a.rack_bay) <> lower(b.rack_bay)) is not true
    where a.rack_id = ${rackId}`.execute(backend.platform.db)
  expect(rows).toEqual([])
  const { answer } = await operator.call(rackGet, { params: { id: rackId } })
  expect(answer!.servers).toBe(placed.length)
})

test('the database refuses an overlap, a rack of another datacenter and a unit outside, whoever writes', async () => {
  const { db } = backend.platform
  const rackId = await rack('H-1', { units: 10 })
  const [one, other] = [await server('calm-otter-701'), await server('calm-otter-702')]
  await place(one, rackId, 5)
  const write = (id: string, unit: number, height: number, units: number, bay?: string) =>
    sql`update server set rack_id = ${rackId}, rack_unit = ${unit}, rack_height = ${height}, rack_face = 'both', rack_units = ${units}, rack_bay = ${bay ?? null} where id = ${id}`.execute(
      db,
    )
  await expect(write(other, 4, 2, 10)).rejects.toThrow('server_place')
  await expect(write(other, 10, 2, 10)).rejects.toThrow('server_within_rack')
  await expect(write(other, 11, 1, 42)).rejects.toThrow('server_rack_units')
  await expect(write(other, 5, 1, 10, '2')).rejects.toThrow('server_place')
  await write(one, 5, 1, 10, 'a')
  await expect(write(other, 5, 1, 10)).rejects.toThrow('server_place')
  await expect(write(other, 4, 2, 10, 'b')).rejects.toThrow('server_place')
  await expect(write(other, 5, 1, 10, 'A')).rejects.toThrow('server_place_bay')
  await write(other, 5, 1, 10, 'b')
  const nowhere = sql`update server set rack_id = null, rack_unit = null, rack_height = null, rack_face = null, rack_units = null where id = ${one}`
  await expect(nowhere.execute(db)).rejects.toThrow('server_bay')
  const far = await server('calm-otter-703', 'WAW')
  await expect(write(far, 1, 1, 10)).rejects.toThrow('server_rack_datacenter')
})

test('a rack says which clusters have several control planes in it', async () => {
  const [rackId, clusterId] = [await rack('I-1'), '0198c0de-0000-7000-8000-00000000000a']
  await buildCluster(backend, clusterId, 'poz-shop', datacenters['POZ'])
  const member = (name: string, type: 'control_plane' | 'worker') =>
    buildServer(backend, {
      name,
      type,
      status: 'ready',
      address: `10.8.0.${++numbers}`,
      datacenter_id: datacenters['POZ']!,
      cluster_id: clusterId,
      cluster_name: 'poz-shop',
    })
  const members = [
    await member('calm-otter-801', 'control_plane'),
    await member('calm-otter-802', 'worker'),
    await member('calm-otter-803', 'control_plane'),
  ]
  const shared = async () =>
    (await operator.call(rackGet, { params: { id: rackId } })).answer!.shared_by
  await place(members[0]!, rackId, 1)
  await place(members[1]!, rackId, 2)
  expect(await shared()).toEqual([])
  await place(members[2]!, rackId, 3)
  expect(await shared()).toEqual([{ id: clusterId, name: 'poz-shop', control_planes: 2 }])
})
