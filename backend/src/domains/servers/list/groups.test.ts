import { expect, test } from 'vitest'
import type { FindingKind } from '#contract/findings/kinds.ts'
import { serverGroups } from '#contract/servers/groups.ts'
import { serverGroupings, serverList } from '#contract/servers/server.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildCluster, buildServer } from '../testing.ts'

const backend = await startBackend()
const { call } = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform
const at = new Date(backend.clock.now())

const groups = async (by: string, query: object = {}) => {
  const { answer } = await call(serverGroups, { query: { by, ...query } })
  return answer!.items.map(({ name, servers }) => `${name ?? '-'}: ${servers}`)
}
const web = '0198c0de-0000-7000-8000-000000000001'
await buildCluster(backend, web, 'web')
const place = await db.selectFrom('datacenter').select(['id', 'code']).executeTakeFirstOrThrow()
const rack = async (name: string) =>
  db
    .insertInto('rack')
    .values({ name, datacenter_id: place.id, units: 42, created_at: at, updated_at: at })
    .returning('id')
    .executeTakeFirstOrThrow()
const [nine, ten] = [await rack('A-9'), await rack('A-10')]
const add = (name: string, columns: object) =>
  buildServer(backend, { name, datacenter_id: place.id, ...columns })
const standing = (id: string, unit: number) => ({
  rack_id: id,
  rack_unit: unit,
  rack_height: 1,
  rack_face: 'both',
  rack_units: 42,
})
const found = (kind: string) =>
  JSON.stringify({
    id: web,
    kind,
    severity: 'attention',
    since: at.toISOString(),
    reason: 'It is so.',
  })
await add('a', { ...standing(ten.id, 1), labels: JSON.stringify({ gen: 'r650', empty: '' }) })
await add('b', { ...standing(nine.id, 1), labels: JSON.stringify({ gen: 'r640' }) })
await add('c', {
  ...standing(nine.id, 2),
  cluster_id: web,
  cluster_name: 'web',
  finding: found('server_drifted'),
})
await add('d', { datacenter_id: null, finding: found('server_unreachable') })
await add('e', { status: 'deleted', removed_at: at, labels: JSON.stringify({ gen: 'r640' }) })

test.each([
  ['cluster', ['web: 1', '-: 3']],
  ['rack', ['A-9, PL-TST-1: 2', 'A-10, PL-TST-1: 1', '-: 1']],
  ['datacenter', ['PL-TST-1: 3', '-: 1']],
  ['finding', ['Server unreachable: 1', 'Configuration changed outside: 1', '-: 2']],
  ['label:gen', ['r640: 1', 'r650: 1', '-: 2']],
  ['label:empty', [': 1', '-: 3']],
  ['label:constructor', ['-: 4']],
])('servers by %s are counted by name, and those in no group come last', async (by, expected) => {
  expect(await groups(by)).toEqual(expected)
})

test.each(serverGroupings)(
  'the filter %s finds the servers of each group, and none those in no group',
  async (by) => {
    const { answer } = await call(serverGroups, { query: { by } })
    for (const { value, servers } of answer!.items) {
      const { answer: page } = await call(serverList, { query: { [by]: value ?? 'none' } })
      expect([by, value, page!.total]).toEqual([by, value, servers])
    }
    expect(answer!.items.at(-1)!.value).toBeNull()
  },
)

test('filters for what servers lack are combined with others', async () => {
  const query = { cluster: 'none', rack: 'none', finding: 'server_unreachable', label: '!gen' }
  const { answer } = await call(serverList, { query: query as { finding: FindingKind } })
  expect(answer!.items.map(({ name }) => name)).toEqual(['d'])
})

test('each group has the worst finding of its servers', async () => {
  const { answer } = await call(serverGroups, { query: { by: 'label:gen' } })
  expect(answer!.items.map(({ name, finding }) => [name, finding?.kind])).toEqual([
    ['r640', undefined],
    ['r650', undefined],
    [null, 'server_unreachable'],
  ])
})

test('groups count only the servers that pass the filters and the search', async () => {
  expect(await groups('rack', { label: 'gen=r640' })).toEqual(['A-9, PL-TST-1: 1'])
  expect(await groups('label:gen', { status: 'deleted' })).toEqual(['r640: 1'])
  const { answer } = await call(serverGroups, { query: { by: 'cluster', datacenter: place.code } })
  expect(answer).toMatchObject({ total: 2, servers: 3 })
})

test('a thousand groups are listed, and all are counted', async () => {
  for (let i = 0; i < 1_005; i++)
    await add(`many-${i}`, { labels: JSON.stringify({ serial: `s-${i}` }) })
  const { answer } = await call(serverGroups, { query: { by: 'label:serial' } })
  expect(answer).toMatchObject({ total: 1_006, servers: 1_009 })
  expect(answer!.items).toHaveLength(1_000)
  expect(answer!.items[10]).toEqual({ value: 's-10', name: 's-10', servers: 1, finding: null })
})

test.each(['', 'colour', 'label:', 'label:a=b', 'label:!a', 'label:a,b'])(
  'a grouping by "%s" is refused with those that exist',
  async (by) => {
    const { status, problem } = await call(serverGroups, { query: { by } })
    expect(status).toBe(400)
    expect(JSON.stringify(problem)).toContain('Groups are by cluster, rack, datacenter, finding')
  },
)
