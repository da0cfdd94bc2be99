import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { datacenterCreate, datacenterGet, datacenterList, datacenterRemove, datacenterUpdate } from '#contract/datacenters.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
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
const create = async (city: string, more: object = {}) => operator.call(datacenterCreate, { body: place(city, more) })

test('codes count up within a city, also when ten are added at once', async () => {
  const made = await Promise.all(Array.from({ length: 10 }, () => create('POZ')))
  expect(new Set(made.map((m) => m.answer?.code))).toEqual(new Set(Array.from({ length: 10 }, (_, i) => `PL-POZ-${i + 1}`)))
})

test('the code of a removed datacenter is not used again', async () => {
  const first = await create('WAW')
  expect((await operator.call(datacenterRemove, { params: { id: first.answer!.id } })).status).toBe(204)
  expect((await create('WAW')).answer!.code).toBe('PL-WAW-2')
  expect((await operator.call(datacenterGet, { params: { id: first.answer!.id } })).problem).toMatchObject({ code: 'not_found' })
})

test('an index may be given where nobody has it; counting goes on after it', async () => {
  expect((await create('KRK', { index: 7 })).answer!.code).toBe('PL-KRK-7')
  expect((await create('KRK')).answer!.code).toBe('PL-KRK-8')
  expect((await create('KRK', { index: 3 })).answer!.code).toBe('PL-KRK-3')
  expect(await create('KRK', { index: 7 })).toMatchObject({ status: 409, problem: { code: 'conflict', fields: { index: 'Another datacenter has this code' } } })
  expect((await create('KRK', { index: 0 })).status).toBe(422)
})

test.each([
  ['a country in words', { country_code: 'Poland' }],
  ['a city code with a zero', { city_code: 'P0Z' }],
  ['a latitude alone', { latitude: 52 }],
  ['a latitude beyond the pole', { latitude: 91, longitude: 0 }],
  ['a fifth tier', { tier: 5 }],
  ['an empty city', { city_name: '   ' }],
])('%s is refused', async (_name, wrong) => {
  const refused = await create('GDN', wrong)
  expect(refused.status).toBe(422)
  expect(Object.keys(refused.problem!.fields!)).toHaveLength(1)
})

test('a change is merged, checked as a whole, and moves to a new code with its city', async () => {
  const { answer } = await create('LOD', { latitude: 51.7, longitude: 19.4 })
  const params = { id: answer!.id }
  expect((await operator.call(datacenterUpdate, { params, body: { latitude: null } })).problem).toMatchObject({
    code: 'invalid',
    fields: { longitude: 'Enter both latitude and longitude, or neither' },
  })
  expect((await operator.call(datacenterUpdate, { params, body: { tier: 2, certifications: ['ISO 27001'] } })).answer).toMatchObject({
    tier: 2,
    certifications: ['ISO 27001'],
    latitude: 51.7,
    version: 2,
  })
  expect((await operator.call(datacenterUpdate, { params, body: { city_code: 'LDZ' } })).answer).toMatchObject({ code: 'PL-LDZ-1', version: 3 })
  expect((await operator.call(datacenterUpdate, { params: { id: randomUUID() }, body: {} })).status).toBe(404)
})

test('a datacenter with a server in it stays, and the refusal says what is in it', async () => {
  const { answer } = await create('SZZ')
  await sql`insert into server (name, datacenter_id, address, identity_state, identity_since, created_at, updated_at)
    values ('calm-otter-101', ${answer!.id}, '10.0.0.1', 'unconfirmed', now(), now(), now())`.execute(backend.platform.db)
  const refused = await operator.call(datacenterRemove, { params: { id: answer!.id } })
  expect(refused).toMatchObject({ status: 409, problem: { code: 'datacenter_in_use' } })
  expect(refused.problem!.error).toContain('Move')
  expect((await operator.call(datacenterUpdate, { params: { id: answer!.id }, body: { country_code: 'DE' } })).status).toBe(409)
  expect((await operator.call(datacenterUpdate, { params: { id: answer!.id }, body: { tier: 1 } })).status).toBe(200)
})

test('the list is searched literally, sorted by any column, codes by number', async () => {
  const own = await startBackend()
  const admin = await own.signIn()
  for (const city of ['BER', 'BER', 'BER', 'BER', 'BER', 'BER', 'BER', 'BER', 'BER', 'BER', 'AMS']) {
    await admin.call(datacenterCreate, { body: place(city, { city_name: city === 'AMS' ? '100% Amsterdam' : 'Berlin' }) })
  }
  const codes = async (query: object) => (await admin.call(datacenterList, { query })).answer!.items.map((d) => d.code)
  expect(await codes({ q: 'ber', per_page: 3, page: 4 })).toEqual(['PL-BER-10'])
  expect(await codes({ q: '%' })).toEqual(['PL-AMS-1'])
  expect(await codes({ q: "' OR 1=1 --" })).toEqual([])
  expect((await codes({ sort: '-code' }))[0]).toBe('PL-BER-10')
  expect((await codes({ sort: 'city_name' }))[0]).toBe('PL-AMS-1')
})
