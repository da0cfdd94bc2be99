import { QueryClient } from '@tanstack/react-query'
import { expect, test } from 'vitest'
import { applyContacts, changes } from './live-cache.ts'

const happened = (
  kind: Parameters<typeof changes>[1] extends ReadonlyMap<infer K, unknown> ? K : never,
  ...ids: string[]
) => new Map([[kind, new Set(ids)]])

test('a change of a server invalidates the lists, that server and the overview, but no other server', () => {
  const server = happened('server', 'a')
  expect(changes(['servers', {}], server)).toBe(true)
  expect(changes(['serverGet', { params: { id: 'a' } }], server)).toBe(true)
  expect(changes(['serverGet', { params: { id: 'b' } }], server)).toBe(false)
  expect(changes(['overviewGet', {}], server)).toBe(true)
  expect(changes(['preferencesGet', {}], server)).toBe(false)
})

test('a change of a patch invalidates its server', () => {
  expect(changes(['patchList', { params: { id: 'server' } }], happened('patch', 'p1'))).toBe(true)
  expect(changes(['clusterList', {}], happened('patch', 'p1'))).toBe(false)
  expect(changes(['patchSchema', {}], happened('patch', 'p1'))).toBe(false)
  expect(
    changes(['patchGet', { params: { id: 's', patchId: 'p2' } }], happened('patch', 'p1')),
  ).toBe(false)
})

test('a change of a commitment invalidates the marketplace, and a change of a server the commitments that show it', () => {
  for (const name of ['ccList', 'ccCounts'])
    expect(changes([name, {}], happened('cc', 'c1'))).toBe(true)
  expect(changes(['ccGet', { params: { id: 'c1' } }], happened('cc', 'c1'))).toBe(true)
  expect(changes(['ccEvents', { params: { id: 'c2' } }], happened('cc', 'c1'))).toBe(false)
  expect(changes(['clusterList', {}], happened('cc', 'c1'))).toBe(false)
  expect(changes(['ccGet', { params: { id: 'c1' } }], happened('server', 'a'))).toBe(true)
})

test('contact times are written into the cache, and an older time never replaces a newer one', () => {
  const client = new QueryClient()
  const server = (id: string) => ({
    id,
    talos: { last_contact_at: '2026-01-01T00:00:05Z', reason: null },
  })
  client.setQueryData(['servers', {}], { items: [server('a'), server('b')], total: 2 })
  client.setQueryData(['serverGet', { params: { id: 'a' } }], server('a'))
  applyContacts(client, { contacts: { a: '2026-01-01T00:00:09Z', b: '2026-01-01T00:00:01Z' } })
  expect(client.getQueryData(['servers', {}])).toMatchObject({
    items: [
      { talos: { last_contact_at: '2026-01-01T00:00:09Z' } },
      { talos: { last_contact_at: '2026-01-01T00:00:05Z' } },
    ],
    total: 2,
  })
  expect(client.getQueryData(['serverGet', { params: { id: 'a' } }])).toMatchObject({
    talos: { last_contact_at: '2026-01-01T00:00:09Z', reason: null },
  })
})
