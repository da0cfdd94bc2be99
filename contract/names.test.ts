import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { datacenterCreate } from './datacenters.ts'
import { NewUser } from './users.ts'

const place = { country_code: 'PL', city_code: 'POZ', tier: 3, latitude: 52, longitude: 17 }
const city = (city_name: string) =>
  z.safeParse(datacenterCreate.body, { ...place, city_name }).success
const person = (name: string) =>
  z.safeParse(NewUser, { email: 'a@example.com', name, role: 'viewer', password: 'twelve letters' })
    .success

test('text for users may use any script but no invisible characters', () => {
  for (const name of ['Poznań', 'São Paulo', '東京', 'می‌خواهم', 'O’Brien <ops> =x', '👩‍💻'])
    expect([name, city(name), person(name)]).toEqual([name, true, true])
  for (const name of [
    'a\u202eb',
    'a\u200bb',
    'a\u2066b',
    'a\ufeffb',
    'a\u001b[31m',
    'a\u0000',
    'a\u2028b',
    'a\u{e0041}b',
  ])
    expect([name, city(name), person(name)]).toEqual([name, false, false])
})
