import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { allOperations } from './all.ts'
import { computeUnits } from './capacity.ts'
import { canHaveControlPlanes, NewCluster } from './clusters.ts'
import { errors } from './errors.ts'
import { nameOf } from './names.ts'
import { permits, scopesOf } from './permissions.ts'
import { canBecome, canRenameServer, Resources, serverList, serverStatuses } from './servers.ts'
import { authorize } from './sessions.ts'

const messageOf = (schema: z.core.$ZodType, value: unknown) => z.safeParse(schema, value).error?.issues[0]?.message

test.each([
  ['', 'Server name must be at least 1 character'],
  ['a'.repeat(26), 'Server name must be no more than 25 characters'],
  ['-a', 'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen'],
  ['a-', 'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen'],
  ['a--b', 'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen'],
  ['A', 'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen'],
  ['żółw', 'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen'],
])('the name %j is refused with the specified sentence', (name, sentence) => expect(messageOf(nameOf('Server'), name)).toBe(sentence))

test('a name is trimmed, then taken', () => expect(z.parse(nameOf('Server'), ' calm-heron-204 ')).toBe('calm-heron-204'))

test('a server keeps its name while it is in a cluster', () => {
  expect(canRenameServer({ status: 'ready', cluster: { id: 'x', name: 'c' } })).toEqual({
    ok: false,
    reason: 'The name is fixed while the server is in a cluster',
  })
  expect(canRenameServer({ status: 'maintenance', cluster: null }).ok).toBe(true)
})

test('status moves are exactly the four allowed ones', () => {
  const allowed = serverStatuses.flatMap((from) => serverStatuses.filter((to) => canBecome(from, to).ok).map((to) => `${from} → ${to}`))
  expect(allowed.toSorted()).toEqual(['maintenance → deleted', 'maintenance → ready', 'ready → deleted', 'ready → maintenance'])
})

test.each([
  [0, false],
  [1, true],
  [2, false],
  [3, true],
  [4, false],
  [7, true],
  [9, false],
])('%i control planes: %s', (count, ok) => expect(canHaveControlPlanes(count).ok).toBe(ok))

test('unknown hardware has unknown compute units, not 0', () => {
  const gib = 1024 ** 3
  expect(computeUnits({ processors: [], memory: [], disks: [] })).toBeNull()
  expect(computeUnits({ processors: [{ cpu_cores: 32 }], memory: [{ size: undefined }], disks: [] })).toBeNull()
  expect(computeUnits({ processors: [{ cpu_cores: 32 }, { cpu_cores: 32 }], memory: [{ size: 127 * gib }], disks: [] })).toBe(31)
})

test('a viewer reads everything but secrets, and writes nothing', () => {
  expect(scopesOf.viewer.filter((s) => !s.endsWith(':read') || s === 'secrets:read')).toEqual([])
  expect(permits(scopesOf.viewer, 'servers:write')).toEqual({ ok: false, reason: 'Your role does not include servers:write' })
  expect(scopesOf.operator).not.toContain('users:manage')
})

test('every operation has a name, a place and errors of its own', () => {
  const names = allOperations.map((o) => o.name)
  const places = allOperations.map((o) => `${o.method} ${o.path.replaceAll(/\{\w+\}/g, '{}')}`)
  expect(new Set(names).size).toBe(names.length)
  expect(new Set(places).size).toBe(places.length)
  for (const o of allOperations) for (const code of o.errors) expect(errors).toHaveProperty(code)
})

test('the server list is page 1 of 1000 unless asked otherwise, and refuses unknown filters', () => {
  expect(z.parse(serverList.query, {})).toEqual({ page: 1, per_page: 1000 })
  expect(z.safeParse(serverList.query, { colour: 'red' }).success).toBe(false)
  expect(z.safeParse(serverList.query, { status: 'broken' }).success).toBe(false)
})

test('resources default to empty lists', () => {
  expect(z.parse(Resources, {})).toEqual({ node_addresses: [], processors: [], memory: [], disks: [], interfaces: [] })
})

test('a password is taken as it is, an email is trimmed and folded', () => {
  expect(z.parse(authorize.body, { email: ' Ada@Example.org ', password: '  two spaces  ' })).toEqual({ email: 'ada@example.org', password: '  two spaces  ' })
})

test('a cluster needs network addresses with host bits zero and an address or name as endpoint', () => {
  const cluster = { name: 'c', datacenter_id: crypto.randomUUID(), servers: [{ node_id: crypto.randomUUID(), role: 'control_plane' }] }
  expect(z.safeParse(NewCluster, cluster).success).toBe(true)
  expect(messageOf(NewCluster, { ...cluster, pod_cidr: '10.244.0.1/16' })).toContain('Pod CIDR')
  for (const endpoint of ['10.0.0.10', 'https://10.0.0.10:6443', 'api.example.org', '2001:db8::1', 'https://[2001:db8::1]:6443'])
    expect(messageOf(NewCluster, { ...cluster, endpoint })).toBeUndefined()
  for (const endpoint of ['', 'a b', 'http://x', 'x_y', '10.0.0.10:70'])
    expect(messageOf(NewCluster, { ...cluster, endpoint })).toBe('Enter an IP address or a DNS name')
})
