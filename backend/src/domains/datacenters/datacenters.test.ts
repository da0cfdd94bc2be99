import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import {
  datacenterCreate,
  datacenterGet,
  datacenterList,
  datacenterRemove,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import { joinTokenCreate, joinTokenGet, joinTokenRevoke } from '#contract/join-tokens.ts'
import { imageCreate } from '#contract/images.ts'
import { serverAdd, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend({ environment: { STEELYARD_DIAL_NETWORKS: '10.9.0.0/16' } })
const operator = await backend.signIn({ role: 'operator' })
const place = (city_code: string, more: object = {}) => ({
  country_code: 'PL',
  city_code,
  city_name: 'Somewhere',
  tier: null,
  certifications: [],
  latitude: null,
  longitude: null,
  ...more,
})
const create = async (city: string, more: object = {}) =>
  operator.call(datacenterCreate, { body: place(city, more) })

test('codes are numbered consecutively within a city, even if ten datacenters are added concurrently', async () => {
  const made = await Promise.all(Array.from({ length: 10 }, () => create('POZ')))
  expect(new Set(made.map((m) => m.answer?.code))).toEqual(
    new Set(Array.from({ length: 10 }, (_, i) => `PL-POZ-${i + 1}`)),
  )
})

test('a stored country that is missing from the list of countries is still shown', async () => {
  const { id } = (await create('OLD')).answer!
  await sql`update datacenter set country_code = 'ZZ' where id = ${id}`.execute(backend.platform.db)
  expect((await operator.call(datacenterGet, { params: { id } })).answer).toMatchObject({
    country_code: 'ZZ',
  })
  expect(
    (await operator.call(datacenterUpdate, { params: { id }, body: { tier: 3 } })).status,
  ).toBe(200)
  expect(
    (await operator.call(datacenterUpdate, { params: { id }, body: { country_code: 'ZY' } }))
      .problem,
  ).toMatchObject({ code: 'invalid' })
  expect((await operator.call(datacenterRemove, { params: { id } })).status).toBe(204)
})

test('the code of a removed datacenter is not used again', async () => {
  const first = await create('WAW')
  expect((await operator.call(datacenterRemove, { params: { id: first.answer!.id } })).status).toBe(
    204,
  )
  expect((await create('WAW')).answer!.code).toBe('PL-WAW-2')
  expect(
    (await operator.call(datacenterGet, { params: { id: first.answer!.id } })).problem,
  ).toMatchObject({ code: 'not_found' })
})

test('an unused index can be set, and the numbering continues after that index', async () => {
  expect((await create('KRK', { index: 7 })).answer!.code).toBe('PL-KRK-7')
  expect((await create('KRK')).answer!.code).toBe('PL-KRK-8')
  expect((await create('KRK', { index: 3 })).answer!.code).toBe('PL-KRK-3')
  expect(await create('KRK', { index: 7 })).toMatchObject({
    status: 409,
    problem: {
      code: 'conflict',
      error: 'PL-KRK-7 already exists',
      fields: { index: 'PL-KRK-7 already exists' },
    },
  })
  expect((await create('KRK', { index: 0 })).status).toBe(422)
})

test.each([
  ['a country in words', { country_code: 'Poland' }],
  ['a city code with a zero', { city_code: 'P0Z' }],
  ['a latitude alone', { latitude: 52 }],
  ['a latitude beyond the pole', { latitude: 91, longitude: 0 }],
  ['a fifth tier', { tier: 5 }],
  ['an empty city', { city_name: '   ' }],
])('a datacenter with %s is refused', async (_name, wrong) => {
  const refused = await create('GDN', wrong)
  expect(refused.status).toBe(422)
  expect(Object.keys(refused.problem!.fields!)).toHaveLength(1)
})

test('a changed datacenter is validated with all its fields, and a changed city changes the code', async () => {
  const { answer } = await create('LOD', { latitude: 51.7, longitude: 19.4 })
  const params = { id: answer!.id }
  expect(
    (await operator.call(datacenterUpdate, { params, body: { latitude: null } })).problem,
  ).toMatchObject({
    code: 'invalid',
    fields: { longitude: 'Enter both latitude and longitude, or neither' },
  })
  expect(
    (
      await operator.call(datacenterUpdate, {
        params,
        body: { tier: 2, certifications: ['ISO 27001'] },
      })
    ).answer,
  ).toMatchObject({
    tier: 2,
    certifications: ['ISO 27001'],
    latitude: 51.7,
    version: 2,
  })
  expect(
    (await operator.call(datacenterUpdate, { params, body: { city_code: 'LDZ' } })).answer,
  ).toMatchObject({ code: 'PL-LDZ-1', version: 3 })
  expect(
    (await operator.call(datacenterUpdate, { params: { id: randomUUID() }, body: {} })).status,
  ).toBe(404)
})

test("a datacenter with a server can't be removed, and the error lists what is in it", async () => {
  const { answer } = await create('SZZ')
  await sql`insert into server (name, datacenter_id, address, identity_state, identity_since, created_at, updated_at)
    values ('calm-otter-101', ${answer!.id}, '10.0.0.1', 'unconfirmed', now(), now(), now())`.execute(
    backend.platform.db,
  )
  const refused = await operator.call(datacenterRemove, { params: { id: answer!.id } })
  expect(refused).toMatchObject({ status: 409, problem: { code: 'datacenter_in_use' } })
  expect(refused.problem!.error).toContain('Move')
  expect(
    (
      await operator.call(datacenterUpdate, {
        params: { id: answer!.id },
        body: { country_code: 'DE' },
      })
    ).status,
  ).toBe(409)
  expect(
    (await operator.call(datacenterUpdate, { params: { id: answer!.id }, body: { tier: 1 } }))
      .status,
  ).toBe(200)
})

test('details such as facility and address are stored, and a cleared detail becomes null', async () => {
  const facts = {
    facility: 'Hall 3',
    address: 'Garbary 1',
    power_capacity_kw: 120.5,
    rack_capacity: 40,
    notes: 'Gate code at the desk\nRing twice',
  }
  const { answer } = await create('BYD', facts)
  expect(answer).toMatchObject(facts)
  const params = { id: answer!.id }
  expect((await operator.call(datacenterGet, { params })).answer).toEqual(answer)
  const changed = await operator.call(datacenterUpdate, {
    params,
    body: { facility: ' ', address: null, notes: '', rack_capacity: 0 },
  })
  expect(changed.answer).toMatchObject({
    facility: null,
    address: null,
    notes: null,
    rack_capacity: 0,
    power_capacity_kw: 120.5,
  })
})

test.each([
  ['a country in words', { country_code: 'Poland' }, 'Country code must be two letters (ISO 3166)'],
  ['a country that there is not', { country_code: 'ZZ' }, 'No country has this code (ISO 3166)'],
  [
    'a name of a country that is no code',
    { country_code: 'UK' },
    'No country has this code (ISO 3166)',
  ],
  [
    'a city code with a zero',
    { city_code: 'P0Z' },
    'City code must be 3 characters: letters or 2-9 (UN/LOCODE)',
  ],
  ['an index of 1000', { index: 1000 }, 'Index must be a whole number from 1 to 999'],
  ['a longitude alone', { longitude: 17 }, 'Enter both latitude and longitude, or neither'],
  [
    'a longitude as text',
    { latitude: 52, longitude: '17' },
    'Longitude must be a number from -180 to 180',
  ],
  [
    'negative power',
    { power_capacity_kw: -1 },
    'Power capacity must be a number of kW from 0 to 1\u202f000\u202f000',
  ],
  [
    'half a rack',
    { rack_capacity: 1.5 },
    'Rack capacity must be a whole number from 0 to 100\u202f000',
  ],
  ['a long facility', { facility: 'x'.repeat(51) }, 'Facility must be no more than 50 characters'],
])(
  'a datacenter with %s is refused with a message about that field',
  async (_name, wrong, error) => {
    expect((await create('GDY', wrong)).problem).toMatchObject({ code: 'invalid', error })
  },
)

test('latitude and longitude can only be set together', async () => {
  const { answer } = await create('OLS')
  const params = { id: answer!.id }
  const both = { fields: { longitude: 'Enter both latitude and longitude, or neither' } }
  expect(
    (await operator.call(datacenterUpdate, { params, body: { latitude: 1 } })).problem,
  ).toMatchObject(both)
  expect(
    (await operator.call(datacenterUpdate, { params, body: { latitude: 0, longitude: 0 } })).answer,
  ).toMatchObject({ latitude: 0, longitude: 0 })
  expect(
    (await operator.call(datacenterUpdate, { params, body: { longitude: null } })).problem,
  ).toMatchObject(both)
  expect(
    (await operator.call(datacenterUpdate, { params, body: { latitude: null, longitude: null } }))
      .answer,
  ).toMatchObject({ latitude: null, version: 3 })
})

test('an empty datacenter can get another unused index, and the next datacenter gets the index after that one', async () => {
  const [one, two] = [(await create('RZE')).answer!, (await create('RZE')).answer!]
  const change = (id: string, body: object) =>
    operator.call(datacenterUpdate, { params: { id }, body })
  expect((await change(one.id, { index: 2 })).problem).toMatchObject({
    code: 'conflict',
    error: 'PL-RZE-2 already exists',
    fields: { index: 'PL-RZE-2 already exists' },
  })
  expect((await change(one.id, { index: 9 })).answer).toMatchObject({
    code: 'PL-RZE-9',
    version: 2,
  })
  expect((await create('RZE')).answer!.code).toBe('PL-RZE-10')
  expect((await change(two.id, { index: 2, tier: 3 })).answer).toMatchObject({
    code: 'PL-RZE-2',
    tier: 3,
  })
  expect((await change(two.id, { city_code: 'RZX', index: 5 })).answer!.code).toBe('PL-RZX-5')
  expect((await change(two.id, { city_code: 'RZE', index: 9 })).problem!.error).toBe(
    'PL-RZE-9 already exists',
  )
})

const insertServer = (
  datacenter: string | null,
  name: string,
  more: { status?: string; removed?: Date } = {},
) =>
  sql`insert into server (name, datacenter_id, address, identity_state, identity_since, created_at, updated_at, status, removed_at)
    values (${name}, ${datacenter}, '10.0.0.1', 'unconfirmed', now(), now(), now(), ${more.status ?? 'maintenance'}, ${more.removed ?? null})`

test("the index of a datacenter in use can't change; sending the current index is allowed", async () => {
  const { answer } = await create('TOR')
  const params = { id: answer!.id }
  await insertServer(answer!.id, 'calm-otter-201').execute(backend.platform.db)
  expect(
    (await operator.call(datacenterUpdate, { params, body: { index: 3 } })).problem,
  ).toMatchObject({
    code: 'datacenter_in_use',
    error: 'In this datacenter: 1 server. Move or remove them first',
  })
  expect(
    (
      await operator.call(datacenterUpdate, {
        params,
        body: { index: 1, city_code: 'TOR', tier: 4 },
      })
    ).answer,
  ).toMatchObject({ code: 'PL-TOR-1', tier: 4 })
})

test('while a datacenter changes, either a server is added to the datacenter or the datacenter is removed, never both', async () => {
  const { db } = backend.platform
  for (let round = 0; round < 10; round++) {
    const { answer } = await create('UML')
    const [changed, removed, added] = await Promise.all([
      operator.call(datacenterUpdate, { params: { id: answer!.id }, body: { index: 500 + round } }),
      operator.call(datacenterRemove, { params: { id: answer!.id } }),
      insertServer(answer!.id, `calm-otter-${300 + round}`)
        .execute(db)
        .then(
          () => true,
          () => false,
        ),
    ])
    // Either the datacenter is removed and the server isn't added, or the server is added and the
    // datacenter stays.
    expect({ round, removed: removed.status }).toEqual({ round, removed: added ? 409 : 204 })
    expect([200, 404, 409]).toContain(changed.status)
  }
})

test('changing a datacenter detects servers that were added while the change was running', async () => {
  const { db } = backend.platform
  const { answer } = await create('WRO')
  const params = { id: answer!.id }
  let change: ReturnType<typeof operator.call<typeof datacenterUpdate>> | undefined
  await db.transaction().execute(async (tx) => {
    await insertServer(answer!.id, 'calm-otter-401').execute(tx)
    change = operator.call(datacenterUpdate, { params, body: { index: 700 } })
    // The change waits for the lock on the datacenter's row. The transaction that adds the server
    // holds this lock.
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
  expect((await change!).problem!.code).toBe('datacenter_in_use')
})

test('adding a server, token or image to a datacenter that is being removed is refused', async () => {
  const { db } = backend.platform
  const { answer } = await create('TAR')
  const datacenter_id = answer!.id
  await insertServer(null, 'calm-otter-450').execute(db)
  const server = (
    await db
      .selectFrom('server')
      .select('id')
      .where('name', '=', 'calm-otter-450')
      .executeTakeFirstOrThrow()
  ).id
  let asked: Promise<{ status: number }>[] = []
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('datacenter').where('id', '=', datacenter_id).execute()
    asked = [
      operator.call(joinTokenCreate, { body: { name: 'tarnow', datacenter_id } }),
      operator.call(serverUpdate, { params: { id: server }, body: { datacenter_id } }),
      operator.call(serverAdd, { body: { addresses: ['10.9.0.1'], datacenter_id } }),
      operator.call(imageCreate, { body: { talos_version: 'v1.13.9', datacenter_id } }),
    ]
    await expect
      .poll(
        async () =>
          (
            await sql<{
              n: number
            }>`select count(*)::int as n from pg_locks where not granted and locktype = 'transactionid'`.execute(
              db,
            )
          ).rows[0]!.n,
      )
      .toBeGreaterThan(0)
  })
  expect((await Promise.all(asked)).map((a) => a.status)).toEqual([404, 404, 404, 404])
})

test('if the indexes of a city are exhausted, the error says so, and an unused index can still be set', async () => {
  expect((await create('END', { index: 999 })).status).toBe(201)
  expect((await create('END')).problem).toMatchObject({
    code: 'conflict',
    fields: {
      index:
        'PL-END-999 was used already, and there is no higher index: enter an index that is free',
    },
  })
  expect((await create('END', { index: 5 })).answer!.code).toBe('PL-END-5')
})

test('a removed server shows the current code of its datacenter', async () => {
  const { answer } = await create('OPO')
  await insertServer(answer!.id, 'calm-otter-460', {
    status: 'deleted',
    removed: new Date(),
  }).execute(backend.platform.db)
  const codes = async () =>
    (
      await operator.call(serverList, { query: { status: 'deleted', q: 'calm-otter-460' } })
    ).answer!.items.map((s) => s.datacenter?.code)
  expect(await codes()).toEqual(['PL-OPO-1'])
  await operator.call(datacenterUpdate, { params: { id: answer!.id }, body: { index: 5 } })
  expect(await codes()).toEqual(['PL-OPO-5'])
})

test('removed servers, deleted clusters, ended operations and ended tokens do not prevent the removal of a datacenter', async () => {
  const { db } = backend.platform
  const { answer } = await create('ZIE')
  const params = { id: answer!.id }
  await insertServer(answer!.id, 'calm-otter-501', {
    status: 'deleted',
    removed: new Date(),
  }).execute(db)
  await sql`insert into cluster (name, datacenter_id, talos_version, contract, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address, deleted_at, created_at, updated_at)
    values ('gone', ${answer!.id}, 'v1.13.9', '1.13', '1.36.3', 'https://10.0.0.1:6443', false, '10.244.0.0/16', '10.96.0.0/12', '0x', now(), now(), now())`.execute(
    db,
  )
  const operation = await sql<{
    id: string
  }>`insert into operation (kind, target_kind, target_id, target_name, status, created_by_name, created_at)
    values ('serverAdd', 'datacenter', ${answer!.id}, 'x', 'running', 'test', now()) returning id`.execute(
    db,
  )
  const { id } = operation.rows[0]!
  const token = (
    await operator.call(joinTokenCreate, { body: { name: 'zielona', datacenter_id: answer!.id } })
  ).answer!
  expect((await operator.call(datacenterRemove, { params })).problem!.error).toBe(
    'Servers are being added to this datacenter. Wait until the operation has ended, or cancel it',
  )
  await sql`update operation set status = 'done', ended_at = now() where id = ${id}`.execute(db)
  expect((await operator.call(datacenterRemove, { params })).problem!.error).toBe(
    '1 join token puts servers in this datacenter. Revoke it first',
  )
  await operator.call(joinTokenRevoke, { params: { id: token.id } })
  expect((await operator.call(datacenterRemove, { params })).status).toBe(204)
  expect(
    (await operator.call(joinTokenGet, { params: { id: token.id } })).answer!.datacenter,
  ).toBeNull()
})

test('the list of datacenters is searched for literal text and can be sorted by any column', async () => {
  const own = await startBackend()
  const admin = await own.signIn()
  for (const city of [
    'BER',
    'BER',
    'BER',
    'BER',
    'BER',
    'BER',
    'BER',
    'BER',
    'BER',
    'BER',
    'AMS',
  ]) {
    await admin.call(datacenterCreate, {
      body: place(city, { city_name: city === 'AMS' ? '100% Amsterdam' : 'Berlin' }),
    })
  }
  const codes = async (query: object) =>
    (await admin.call(datacenterList, { query })).answer!.items.map((d) => d.code)
  expect(await codes({ q: 'ber', per_page: 3, page: 4 })).toEqual(['PL-BER-10'])
  expect(await codes({ q: '%' })).toEqual(['PL-AMS-1'])
  expect(await codes({ q: "' OR 1=1 --" })).toEqual([])
  expect((await codes({ sort: '-code' }))[0]).toBe('PL-BER-10')
  expect((await codes({ sort: 'city_name' }))[0]).toBe('PL-AMS-1')
})
