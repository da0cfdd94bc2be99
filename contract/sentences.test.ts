import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { NewCluster } from './clusters/clusters.ts'
import { datacenterCreate } from './datacenters.ts'
import { NewPatch } from './patches.ts'
import { isGeneral } from './sentences.ts'
import { serverAdd, serverList } from './servers/servers.ts'
import { preferencesPut } from './people/preferences.ts'
import { authorize } from './sessions.ts'
import { NewUser } from './users.ts'

const sentences = (schema: z.core.$ZodType, value: unknown): Record<string, string> =>
  Object.fromEntries(
    z.safeParse(schema, value).error!.issues.map((issue) => [issue.path.join('.'), issue.message]),
  )

test.each<[string, z.core.$ZodType, unknown, Record<string, string>]>([
  ['a missing field', authorize.body, {}, { email: 'Required', password: 'Required' }],
  [
    'another type',
    authorize.body,
    { email: 5, password: null },
    { email: 'Expected string, received number', password: 'Expected string, received null' },
  ],
  ['not an object', authorize.body, null, { '': 'Expected object, received null' }],
  [
    'an unknown choice',
    NewUser,
    { email: 'a@b', name: 'a', role: 'boss', password: 'x'.repeat(12) },
    { role: 'Expected one of viewer, operator, admin' },
  ],
  [
    'an unknown choice of numbers',
    datacenterCreate.body,
    { country_code: 'PL', city_code: 'POZ', city_name: 'P', tier: 5 },
    { tier: 'Expected one of 1, 2, 3, 4' },
  ],
  [
    'not a UUID',
    NewCluster,
    { name: 'a', datacenter_id: 'x', servers: [{ node_id: 'y', role: 'worker' }] },
    { datacenter_id: 'Expected a UUID', 'servers.0.node_id': 'Expected a UUID' },
  ],
  [
    'a number out of bounds',
    serverList.query,
    { page: '0', per_page: '1001' },
    { page: 'Expected at least 1', per_page: 'Expected at most 1000' },
  ],
  [
    'not a number',
    serverList.query,
    { page: 'x' },
    { page: 'Expected number, received no number' },
  ],
  [
    'a text that is too long',
    serverList.query,
    { q: 'x'.repeat(201) },
    { q: 'Expected at most 200 characters' },
  ],
  [
    'a list that is too long',
    preferencesPut.body,
    { columns: { a: Array.from({ length: 41 }, () => 'b') } },
    { 'columns.a': 'Expected at most 40 items' },
  ],
  [
    'a field with its own message',
    NewPatch,
    { name: 'a', body: '', weight: '5' },
    { body: 'Enter a patch', weight: 'Weight must be a whole number' },
  ],
  [
    'a list above the limit of its call',
    serverAdd.body,
    { addresses: Array.from({ length: 1001 }, () => '10.0.0.1') },
    { addresses: 'At most 1\u202f000 addresses at once' },
  ],
])('the message of an invalid value: %s', (_what, schema, value, expected) =>
  expect(sentences(schema, value)).toEqual(expected),
)

test('isGeneral recognises the default messages of the schemas', () => {
  expect(['Required', 'Expected string, received null', 'Unknown field'].every(isGeneral)).toBe(
    true,
  )
  expect(['Enter a name', 'Required fields are missing', 'At most 20 labels'].some(isGeneral)).toBe(
    false,
  )
})
