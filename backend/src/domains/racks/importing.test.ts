/** The places of servers in racks as a CSV file. */
import { beforeAll, expect, test } from 'vitest'
import { datacenterCreate } from '#contract/datacenters.ts'
import { rackExport, rackImport } from '#contract/racks/files.ts'
import { rackCreate, rackList, serverPlace } from '#contract/racks/racks.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

let backend: Backend
let operator: SignedIn
const datacenters: Record<string, string> = {}

beforeAll(async () => {
  backend = await startBackend()
  const admin = await backend.signIn()
  operator = await backend.signIn({ role: 'operator' })
  for (const city of ['POZ', 'WAW'])
    datacenters[city] = (
      await admin.call(datacenterCreate, {
        body: { country_code: 'PL', city_code: city, city_name: city },
      })
    ).answer!.id
})

let numbers = 0
const server = (name: string, city: string | null = 'POZ') =>
  buildServer(backend, {
    name,
    address: `10.9.0.${++numbers}`,
    datacenter_id: city === null ? null : datacenters[city]!,
  })
async function rack(name: string, units = 42): Promise<string> {
  const body = { datacenter_id: datacenters['POZ']!, name, units }
  return (await operator.call(rackCreate, { body })).answer!.id
}
const place = (id: string, rackId: string, unit: number) =>
  operator.call(serverPlace, { params: { id }, body: { rack_id: rackId, unit } })
const placeOf = async (id: string) => {
  const placement = (await operator.call(serverGet, { params: { id } })).answer!.placement
  return (
    placement && [
      placement.rack.name,
      placement.unit,
      placement.height,
      placement.face,
      ...(placement.bay === null ? [] : [placement.bay]),
    ]
  )
}
const lines = (...rows: string[]) => `${rows.join('\r\n')}\r\n`
const bring = async (csv: string, dry_run = false) =>
  (await operator.call(rackImport, { body: { csv, dry_run } })).answer!
const problems = async (csv: string) => {
  const answer = await bring(csv)
  expect(answer.written).toBe(false)
  return answer.problems.map((p) => `${p.line} ${p.column ?? '-'}: ${p.message}`)
}

test('servers are placed from a file, and missing racks are added', async () => {
  const [a, b] = [await server('file-a'), await server('file-b')]
  const csv = lines(
    'server,rack,rack_units,unit,height,face,datacenter',
    'file-a,F-1,48,10,2,front,',
    // Excel leaves out empty cells at the end of lines.
    'file-b,f-1,,12',
    ',F-2,,,,,PL-POZ-1',
  )
  const plan = await bring(csv, true)
  expect(plan).toEqual({
    written: false,
    problems: [],
    rows: [
      {
        line: 2,
        name: 'file-a',
        place: 'F-1, units 10 to 11, front',
        adds_rack: true,
        does: 'update',
      },
      { line: 3, name: 'file-b', place: 'F-1, unit 12', adds_rack: false, does: 'update' },
      { line: 4, name: 'F-2', place: '42 units', adds_rack: true, does: 'create' },
    ],
  })
  expect(await placeOf(a)).toBeNull()
  expect(await bring(csv)).toEqual({ ...plan, written: true })
  expect([await placeOf(a), await placeOf(b)]).toEqual([
    ['F-1', 10, 2, 'front'],
    ['F-1', 12, 1, 'both'],
  ])
  const racks = (await operator.call(rackList, { query: { q: 'f-' } })).answer!.items
  expect(racks.map(({ name, units, servers }) => [name, units, servers])).toEqual([
    ['F-1', 48, 2],
    ['F-2', 42, 0],
  ])
  expect((await bring(csv)).rows.map(({ does }) => does)).toEqual(['nothing', 'nothing', 'nothing'])
})

test('an export that is imported unchanged changes nothing', async () => {
  const id = await rack('E-10')
  await rack('E-9')
  const [low, high] = [await server('out-low'), await server('out-high')]
  await server('out-free')
  await place(low, id, 1)
  await place(high, id, 40)
  const query = { datacenter: 'PL-POZ-1' }
  const csv = (await operator.call(rackExport, { query })).answer!
  const own = csv.split('\r\n').filter((line) => /E-9|E-10|out-free|^id/.test(line))
  expect(own.map((line) => line.replace(/^[0-9a-f-]{36}/, 'ID'))).toEqual([
    'id,server,serial,datacenter,rack,rack_units,unit,height,face,bay',
    ',,,PL-POZ-1,E-9,42,,,,',
    expect.stringMatching(/^ID,out-high,.*,PL-POZ-1,E-10,42,40,1,both,$/),
    expect.stringMatching(/^ID,out-low,.*,PL-POZ-1,E-10,42,1,1,both,$/),
    expect.stringMatching(/^ID,out-free,.*,PL-POZ-1,,,,,,$/),
  ])
  const again = await bring(csv)
  expect(again.problems).toEqual([])
  expect(new Set(again.rows.map(({ does }) => does))).toEqual(new Set(['nothing']))
  const elsewhere = (await operator.call(rackExport, { query: { datacenter: 'PL-WAW-1' } })).answer!
  expect(elsewhere).not.toContain('E-9')
  const found = (await operator.call(rackExport, { query: { q: 'e-10' } })).answer!
  expect(found.match(/E-9|E-10|out-\w+/g)).toEqual(['out-high', 'E-10', 'out-low', 'E-10'])
})

test('servers exchange their places, and one is taken out', async () => {
  const id = await rack('S-1')
  const [a, b, c] = [await server('swap-a'), await server('swap-b'), await server('swap-c')]
  await place(a, id, 1)
  await place(b, id, 2)
  await place(c, id, 3)
  const answer = await bring(lines('server,rack,unit', 'swap-a,S-1,2', 'swap-b,S-1,1', 'swap-c,,'))
  expect(answer).toMatchObject({ written: true, problems: [] })
  expect([await placeOf(a), await placeOf(b), await placeOf(c)]).toEqual([
    ['S-1', 2, 1, 'both'],
    ['S-1', 1, 1, 'both'],
    null,
  ])
})

test('servers are put into bays of one chassis, and a file without the column keeps them', async () => {
  await rack('B-1')
  const ids = [await server('bay-a'), await server('bay-b'), await server('bay-c')]
  await server('bay-d')
  const placed = () => Promise.all(ids.map(placeOf))
  const file = (...rows: string[]) => lines('server,rack,unit,height,bay', ...rows)
  expect(
    await problems(file('bay-a,B-1,3,2,1', 'bay-b,B-1,3,2,1', 'bay-c,B-1,3,1,2', 'bay-d,,,,7')),
  ).toEqual([
    '3 bay: Line 2 puts bay-a into the same chassis: give each another bay',
    '4 unit: Line 2 puts bay-a at a place that overlaps',
    '5 bay: A server in no rack has no bay. Name its rack, or leave the cell empty',
  ])
  expect(await problems(file('bay-a,B-1,3,2,~'))).toEqual([
    expect.stringMatching(/^2 bay: A bay has 1 to 16 letters/),
  ])
  const chassis = file('bay-a,B-1,3,2,1', 'bay-b,B-1,3,2,2', 'bay-c,B-1,3,2,10')
  expect((await bring(chassis)).rows.map(({ place: at }) => at)).toEqual([
    'B-1, units 3 to 4, bay 1',
    'B-1, units 3 to 4, bay 2',
    'B-1, units 3 to 4, bay 10',
  ])
  const csv = (await operator.call(rackExport, { query: {} })).answer!
  expect(csv.split('\r\n').flatMap((line) => /bay-\w.*both,(.*)$/.exec(line)?.[1] ?? [])).toEqual([
    '1',
    '2',
    '10',
  ])
  expect(new Set((await bring(csv)).rows.map(({ does }) => does))).toEqual(new Set(['nothing']))
  await bring(lines('server,rack,unit', 'bay-a,B-1,5', 'bay-b,B-1,5', 'bay-c,B-1,5'))
  expect(await placed()).toEqual(['1', '2', '10'].map((bay) => ['B-1', 5, 2, 'both', bay]))
  const apart = await bring(file('bay-a,B-1,5,2,2', 'bay-b,B-1,5,2,1', 'bay-c,B-1,7,2,'))
  expect(apart.problems).toEqual([])
  expect(await placed()).toEqual([
    ['B-1', 5, 2, 'both', '2'],
    ['B-1', 5, 2, 'both', '1'],
    ['B-1', 7, 2, 'both'],
  ])
})

test('places that are taken, named twice or outside are refused with their lines', async () => {
  const id = await rack('T-1', 20)
  const standing = await server('took')
  await place(standing, id, 5)
  for (const name of ['take-a', 'take-b', 'take-c']) await server(name)
  expect(
    await problems(
      lines(
        'server,rack,unit,height',
        'take-a,T-1,4,2',
        'take-b,T-1,8,1',
        'take-c,T-1,7,2',
        'take-b,T-1,12,1',
        'took,T-1,20,2',
      ),
    ),
  ).toEqual([
    '4 unit: Line 3 puts take-b at a place that overlaps',
    '5 -: Line 3 is about the same server',
    '6 unit: T-1 has 20 units: units 20 to 21 would stand out of it',
  ])
  expect(await problems(lines('server,rack,unit,height', 'take-a,T-1,4,2'))).toEqual([
    '2 unit: took stands in T-1 at unit 5',
  ])
  expect(await placeOf(standing)).toEqual(['T-1', 5, 1, 'both'])
})

test('every other problem is reported with its line and column', async () => {
  await server('lost', null)
  await server('found')
  await rack('P-1', 30)
  expect(
    await problems(
      lines(
        'server,serial,datacenter,rack,rack_units,unit,height,face',
        'nobody,,,P-1,,1,1,',
        'lost,,,P-1,,1,1,',
        'found,,PL-WAW-1,P-1,,1,1,',
        'found,,PL-NOWHERE-1,P-1,,1,1,',
        ',,,P-9,,,,',
        ',,,,,,,',
        'found,,,P-1,31,1,1,',
        'found,,,P-1,,0,1,',
        'found,,,P-1,,,1,',
        'found,,,P-1,,1,x,',
        'found,,,P-1,,1,1,side',
        'found,,,,,3,,',
        'found,no-such-serial,,P-1,,3,,',
        'found,,,P-1',
        'found,,PL-POZ-1',
        `found,,,${'x'.repeat(41)},,1,1,`,
        ',,PL-POZ-1,P-1,,4,,',
      ),
    ),
  ).toEqual([
    '2 server: There is no server with the name nobody',
    '3 rack: lost is in no datacenter: assign it to one first',
    '4 datacenter: found is in PL-POZ-1: an import moves no server to another datacenter',
    '5 datacenter: There is no datacenter PL-NOWHERE-1',
    '6 datacenter: A rack without a server needs its datacenter',
    '8 rack_units: P-1 has 30 units. Edit the rack to change that',
    '9 unit: Unit must be a whole number from 1 to 60',
    '10 unit: Enter the lowest unit that the server takes',
    '11 height: Height must be a whole number of units, 1 to 60',
    '12 face: Enter both, front, rear',
    '13 unit: A server in no rack has no unit. Name its rack, or leave the cell empty',
    expect.stringMatching(/^14 serial: The server with the name found has the serial number /),
    '15 unit: Enter the lowest unit that the server takes',
    '16 -: The header has 8 columns, this line has 3',
    '17 rack: The name of a rack has at most 40 characters',
    '18 unit: A row without a server has no unit',
  ])
  expect(await problems('server,place\nfound,1\n')).toEqual([
    '1 -: There is no column "place". Columns are id, server, serial, datacenter, rack, rack_units, unit, height, face, bay',
    '1 -: The column rack is missing',
  ])
})

test('of files for the same places that come at once, no overlap remains', async () => {
  await rack('C-1')
  const names = Array.from({ length: 6 }, (_, n) => `crowd-${n}`)
  for (const name of names) await server(name)
  const file = (shift: number) =>
    lines('server,rack,unit', ...names.map((name, n) => `${name},C-1,${((n + shift) % 6) + 1}`))
  const answers = await Promise.all(
    [0, 1, 2, 3].map((shift) => operator.call(rackImport, { body: { csv: file(shift) } })),
  )
  expect(answers.map(({ status }) => status).every((s) => s === 200 || s === 409)).toBe(true)
  expect(answers.some(({ answer }) => answer?.written)).toBe(true)
  const csv = (await operator.call(rackExport, { query: {} })).answer!
  const units = csv.split('\r\n').flatMap((line) => /,C-1,42,(\d+),1,both,$/.exec(line)?.[1] ?? [])
  expect(units.toSorted()).toEqual(['1', '2', '3', '4', '5', '6'])
})
