import { expect, test } from 'vitest'
import { clusterExport, serverExport } from '#contract/csv/list-exports.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { startBackend } from '../testing/backend.ts'
import { buildCluster, buildServer } from '../domains/servers/testing.ts'
import { parseCsv } from './csv.ts'

const backend = await startBackend()
const { call } = await backend.signIn({ role: 'viewer', lasts: true })
/** The cells of the file, row by row. */
const rows = (text: string) => parseCsv(text).records.map(({ cells }) => cells)
const servers = async (query: object = {}) => {
  const { answer, status } = await call(serverExport, { query })
  expect(status).toBe(200)
  return rows(answer!)
}

const hardware = JSON.stringify({
  processors: [{ id: '0', cpu_cores: 24 }],
  memory: [{ id: '0', size: 64 * 1024 ** 3 }],
  disks: [],
  interfaces: [],
  addresses: ['10.9.0.1'],
  links: [],
  routes: [],
})
const [first, second] = [
  await buildServer(backend, {
    name: 'alpha',
    manufacturer: 'Dell Inc.',
    product: 'PowerEdge R650',
    serial: '=1+1',
    hardware,
    labels: JSON.stringify({ rack: '3', note: 'a,b' }),
  }),
  await buildServer(backend, { name: 'beta', serial: '+49', reachable: true }),
]

test('an export has the rows of every page in the order and with the columns that are asked for', async () => {
  expect(await servers({ columns: 'name,cores,memory,hardware,labels', sort: '-name' })).toEqual([
    ['id', 'name', 'cores', 'memory', 'hardware', 'labels'],
    [second, 'beta', '', '', '', ''],
    [
      first,
      'alpha',
      '24',
      String(64 * 1024 ** 3),
      'Dell Inc. PowerEdge R650, 24 cores',
      'note=a,b, rack=3',
    ],
  ])
  const [head, ...all] = await servers({ label: 'rack=3' })
  expect(head).toEqual([
    'id',
    'name',
    'status',
    'cluster',
    'hardware',
    'datacenter',
    'cc',
    'contact',
  ])
  expect(all.map(([, name]) => name)).toEqual(['alpha'])
  expect((await servers({ q: 'beta', columns: 'id,name,name' })).slice(1)).toEqual([
    [second, 'beta'],
  ])
})

test('a cell that a spreadsheet would take for a formula begins with an apostrophe', async () => {
  const { answer } = await call(serverExport, { query: { columns: 'serial' } })
  expect(answer).toBe(`id,serial\r\n${first},'=1+1\r\n${second},'+49\r\n`)
})

test('an unknown column is refused with those that exist, and an unknown order too', async () => {
  const { status, problem } = await call(serverExport, { query: { columns: 'name,colour' } })
  expect(status).toBe(400)
  expect(JSON.stringify(problem)).toContain('The columns of servers are name, status, ')
  expect((await call(serverExport, { query: { sort: 'labels' as never } })).status).toBe(400)
})

test('more servers than a page has are all in the file, as the list counts them', async () => {
  for (let i = 0; i < 1_050; i++) await buildServer(backend, { name: `many-${i}`, reachable: true })
  const { answer } = await call(serverRows, { query: { fields: 'list', reachable: 'true' } })
  const exported = await servers({ reachable: 'true', columns: 'name' })
  expect(exported).toHaveLength(answer!.total + 1)
  expect(new Set(exported.map(([id]) => id)).size).toBe(exported.length)
})

test('clusters are exported with their finding or their status', async () => {
  const id = '0198c0de-0000-7000-8000-000000000001'
  await buildCluster(backend, id, 'web')
  const { answer } = await call(clusterExport, { query: { columns: 'name,servers,status' } })
  expect(rows(answer!)).toEqual([
    ['id', 'name', 'servers', 'status'],
    [id, 'web', '0 + 0', expect.any(String)],
  ])
})
