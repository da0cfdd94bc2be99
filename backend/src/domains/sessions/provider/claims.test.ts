import { expect, test } from 'vitest'
import type { Role } from '#contract/permissions.ts'
import { emailOf, nameOf, roleOf } from './claims.ts'

const map = new Map<string, Role>([
  ['ops', 'operator'],
  ['platform admins', 'admin'],
  ['cn=readers,ou=it', 'viewer'],
])

test.each([
  [{ groups: ['ops'] }, 'groups', 'operator'],
  [{ groups: ['ops', 'platform admins', 'cn=readers,ou=it'] }, 'groups', 'admin'],
  [{ groups: 'cn=readers,ou=it' }, 'groups', 'viewer'],
  [{ realm_access: { roles: ['ops'] } }, 'realm_access.roles', 'operator'],
  [{ 'https://example.com/groups': ['ops'] }, 'https://example.com/groups', 'operator'],
  [{ groups: ['others'] }, 'groups', undefined],
  [{ groups: [] }, 'groups', undefined],
  [{ groups: { ops: true } }, 'groups', undefined],
  [{ groups: [['ops'], 5, null] }, 'groups', undefined],
  [{ groups: ['*'] }, 'groups', undefined],
  [{}, 'groups', undefined],
  [{}, 'constructor.name', undefined],
])('the role of %j at %s is %s', (claims, path, role) => {
  expect(roleOf(claims, path, map)).toBe(role)
})

test('a star in the map is the role of everybody without a higher one', () => {
  const open = new Map<string, Role>([...map, ['*', 'viewer']])
  expect([roleOf({}, 'groups', open), roleOf({ groups: ['ops'] }, 'groups', open)]).toEqual([
    'viewer',
    'operator',
  ])
})

test('an email is normalised like one that was typed, and anything else counts as missing', () => {
  expect(emailOf({ email: ' Grace@Example.com ' })).toBe('grace@example.com')
  for (const email of [undefined, null, 5, '', 'grace', 'a\u202eb@example.com', ['a@example.com']])
    expect(emailOf({ email })).toBeNull()
})

test('a name with invisible characters is replaced by the part of the email before the @', () => {
  expect(nameOf({ name: 'Grace' }, 'grace@example.com')).toBe('Grace')
  for (const name of [undefined, '', 'a\u202eb', 5])
    expect(nameOf({ name }, 'grace@example.com')).toBe('grace')
})
