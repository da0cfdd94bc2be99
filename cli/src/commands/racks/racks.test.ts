import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { datacenterList } from '#contract/datacenters.ts'
import { Problem } from '#contract/errors.ts'
import { rackExport, rackImport } from '#contract/racks/files.ts'
import {
  type Rack,
  rackCreate,
  rackGet,
  rackList,
  rackRemove,
  rackUpdate,
  serverPlace,
  serverUnplace,
} from '#contract/racks/racks.ts'
import { serverList, serverRows } from '#contract/servers/servers.ts'
import { signedIn } from '../../testing/signed-in.ts'
import { aDatacenter, aServer, id, pageOf } from '../../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const aRack = (more: Partial<Rack> = {}): Rack => ({
  id: id(70),
  name: 'A-07',
  datacenter: { id: id(50), code: 'PL-POZ-1' },
  units: 6,
  servers: 2,
  free_units: 3,
  finding: null,
  shared_by: [],
  version: 3,
  created_at: at,
  updated_at: at,
  ...more,
})
const placed = (n: number, name: string, unit: number, height = 1, bay: string | null = null) => ({
  ...aServer({ id: id(n), name }),
  placement: { rack: { id: id(70), name: 'A-07' }, unit, height, face: 'both' as const, bay },
})

async function started() {
  const { api, cli } = await signedIn()
  api.on(rackList, () => pageOf([aRack()]))
  api.on(rackGet, () => aRack())
  api.on(datacenterList, () => pageOf([aDatacenter()]))
  api.on(serverList, () => pageOf([placed(1, 'brave-otter-042', 2)]))
  return { api, cli }
}

test('racks are listed with what is wrong in them', async () => {
  const { api, cli } = await started()
  api.on(rackList, () =>
    pageOf([
      aRack(),
      aRack({
        id: id(71),
        name: 'A-08',
        shared_by: [{ id: id(5), name: 'shop-01', control_planes: 2 }],
      }),
    ]),
  )
  const { out, exit } = await cli.run('rack list')
  expect(exit).toBe(0)
  expect(out).toContain('2 control planes of shop-01 are in this rack')
})

test('a rack is shown from above, with its free units joined', async () => {
  const { api, cli } = await started()
  api.on(serverRows, () =>
    pageOf([placed(1, 'low', 1), placed(2, 'tenth', 4, 2, '10'), placed(3, 'second', 4, 2, '2')]),
  )
  const { out } = await cli.run('rack show A-07')
  const rows = out
    .split('\n\n')[1]!
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).slice(0, 4))
  expect(rows).toEqual([
    ['UNITS', 'SERVER', 'FACE', 'BAY'],
    ['6', 'free', '-', '-'],
    ['4-5', 'second', '-', '2'],
    ['4-5', 'tenth', '-', '10'],
    ['2-3', 'free', '-', '-'],
    ['1', 'low', '-', '-'],
  ])
})

test('a rack is added, changed and removed', async () => {
  const { api, cli } = await started()
  api.on(rackCreate, () => aRack({ name: 'B-01', units: 48 }))
  api.on(rackUpdate, () => aRack({ name: 'B-07' }))
  api.on(rackRemove, () => undefined)
  expect((await cli.run('rack add B-01')).err).toContain('Give --datacenter')
  expect(await cli.run('rack add B-01 --datacenter PL-POZ-1 --units 48')).toMatchObject({
    exit: 0,
    out: 'B-01 is added with 48 units\n',
  })
  expect(api.callsOf(rackCreate)[0]!.body).toEqual({
    name: 'B-01',
    datacenter_id: id(50),
    units: 48,
  })
  expect((await cli.run('rack edit A-07')).err).toContain('Specify what to change')
  expect((await cli.run('rack edit A-07 --name B-07')).out).toBe('B-07 has 6 units\n')
  expect((await cli.run('rack remove A-07')).out).toBe('A-07 is removed\n')
  expect(api.callsOf(rackRemove)).toHaveLength(1)
})

test('a server is placed and taken out, and a refusal is shown', async () => {
  const { api, cli } = await started()
  api.on(serverPlace, () => placed(1, 'brave-otter-042', 2, 2))
  api.on(serverUnplace, () => undefined)
  expect((await cli.run('rack place brave-otter-042 A-07')).err).toContain('Give --unit')
  expect((await cli.run('rack place brave-otter-042 A-07 --unit 2 --height 2')).out).toBe(
    'brave-otter-042 stands in A-07 at units 2 to 3\n',
  )
  expect(api.callsOf(serverPlace)[0]!.body).toEqual({
    rack_id: id(70),
    unit: 2,
    height: 2,
  })
  api.on(serverPlace, () => placed(1, 'brave-otter-042', 2, 2, 'left'))
  expect(
    (await cli.run('rack place brave-otter-042 A-07 --unit 2 --height 2 --bay left')).out,
  ).toBe('brave-otter-042 stands in A-07 at units 2 to 3, bay left\n')
  expect(api.callsOf(serverPlace)[1]!.body).toMatchObject({ unit: 2, bay: 'left' })
  expect((await cli.run('rack take-out brave-otter-042')).out).toBe(
    'brave-otter-042 stands in no rack\n',
  )
  api.on(serverPlace, () => {
    throw new Problem('conflict', 'swift-lynx-007 stands in A-07 at unit 2')
  })
  const refused = await cli.run('rack place brave-otter-042 A-07 --unit 2')
  expect(refused.exit).not.toBe(0)
  expect(refused.err).toContain('swift-lynx-007 stands in A-07 at unit 2')
})

test('an import shows what it would do, what it did, or every problem', async () => {
  const { api, cli } = await started()
  const file = join(cli.folder, 'racks.csv')
  await writeFile(file, 'server,rack,unit\nbrave-otter-042,A-09,2\n')
  const rows = [
    {
      line: 2,
      name: 'brave-otter-042',
      place: 'A-09, unit 2',
      adds_rack: true,
      does: 'update' as const,
    },
    {
      line: 3,
      name: 'swift-lynx-007',
      place: 'no rack',
      adds_rack: false,
      does: 'update' as const,
    },
    { line: 4, name: 'A-10', place: '42 units', adds_rack: true, does: 'create' as const },
    {
      line: 5,
      name: 'calm-boar-011',
      place: 'A-07, unit 1',
      adds_rack: false,
      does: 'nothing' as const,
    },
  ]
  api.on(rackImport, ({ body }) => ({ written: !body.dry_run, rows, problems: [] }))
  const lines = (text: string) =>
    text.split('\n').map((line) => line.trim().replaceAll(/\s{2,}/g, ' | '))
  expect(lines((await cli.run(`rack import ${file} --dry-run`)).out)).toEqual([
    'LINE | NAME | DOES | PLACE',
    '2 | brave-otter-042 | Add rack, place | A-09, unit 2',
    '3 | swift-lynx-007 | Take out | no rack',
    '4 | A-10 | Add rack | 42 units',
    '',
    '1 to add, 2 to change, 1 unchanged',
    '',
  ])
  expect(await cli.run(`rack import ${file}`)).toMatchObject({
    exit: 0,
    out: '1 added, 2 changed, 1 unchanged\n',
  })
  api.on(rackImport, () => ({
    written: false,
    rows: [],
    problems: [{ line: 2, column: 'unit', message: 'taken' }],
  }))
  expect(await cli.run(`rack import ${file}`)).toMatchObject({
    exit: 1,
    out: 'LINE  COLUMN  PROBLEM\n   2  unit    taken\n',
  })
})

test('the export is printed as it comes', async () => {
  const { api, cli } = await started()
  api.on(rackExport, ({ query }) => `rack\r\n${query.datacenter} ${query.q}\r\n`)
  expect((await cli.run('rack export --datacenter PL-POZ-1 --search A-0')).out).toBe(
    'rack\r\nPL-POZ-1 A-0\r\n',
  )
})
