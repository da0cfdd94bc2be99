import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { importLimits } from '#contract/csv/imports.ts'
import {
  csvColumns,
  subnetExport,
  subnetGet,
  subnetImport,
  subnetList,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { startBackend } from '../../testing/backend.ts'
import { addCluster, addDatacenter, addServer, addSubnet, assign, lines } from './testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const poznan = await addDatacenter(operator, 'POZ')
const warsaw = await addDatacenter(operator, 'WAW')
const cluster = await addCluster(backend, poznan.id, 'alpha', {
  pod: '172.16.0.0/16',
  service: '172.17.0.0/16',
})
const known = await addSubnet(operator, poznan.id, 'imported-a', '203.0.113.0/28')

const send = async (csv: string, more: { dry_run?: boolean } = {}, by = operator) => {
  const { answer, text } = await by.call(subnetImport, { body: { csv, ...more } })
  if (!answer) throw new Error(text)
  return answer
}
const exported = async (query: object = {}) => (await operator.call(subnetExport, { query })).text
const stored = async (by = operator) =>
  (await by.call(subnetList, { query: { per_page: 1000 } })).answer!.items
const problems = async (...rows: string[]) =>
  (await send(lines(...rows))).problems.map((p) => `${p.line} ${p.column ?? '-'}: ${p.message}`)

test('rows become subnets, with defaults for missing columns and values', async () => {
  const by = await (await startBackend()).signIn({ role: 'operator' })
  const [poznan, warsaw] = [await addDatacenter(by, 'POZ'), await addDatacenter(by, 'WAW')]
  const answer = await send(
    lines(
      ' Name ,CIDR,DATACENTER,gateway,vlan,exclude,first_and_last,purpose,cluster',
      `imported-a,203.0.113.0/28,${poznan.code},203.0.113.1,30,203.0.113.4;203.0.113.6 - 203.0.113.7,TRUE,,`,
      `imported-b, 2001:DB8:0::/64 ,${warsaw.code},,,,,management,`,
    ),
    {},
    by,
  )
  expect(answer).toEqual({
    written: true,
    problems: [],
    rows: [
      { line: 2, name: 'imported-a', cidr: '203.0.113.0/28', does: 'create' },
      { line: 3, name: 'imported-b', cidr: '2001:db8::/64', does: 'create' },
    ],
  })
  expect(await stored(by)).toMatchObject([
    {
      name: 'imported-a',
      gateway: '203.0.113.1',
      vlan_id: 30,
      exclude: ['203.0.113.4', '203.0.113.6-203.0.113.7'],
      first_and_last: true,
      total: 12,
      version: 1,
    },
    {
      name: 'imported-b',
      cidr: '2001:db8::/64',
      gateway: null,
      vlan_id: null,
      exclude: [],
      first_and_last: false,
      purpose: 'management',
    },
  ])
})

test('importing an export changes nothing', async () => {
  const subnet = await addSubnet(operator, poznan.id, 'exported', '10.1.0.0/24', {
    gateway: '10.1.0.1',
    exclude: ['10.1.0.64/26', '10.1.0.9'],
    vlan_id: 7,
  })
  await assign(backend, subnet, cluster)
  const shared = await addSubnet(operator, poznan.id, 'shared', '10.2.0.0/24', {
    purpose: 'management',
  })
  for (const id of [
    cluster,
    await addCluster(backend, poznan.id, 'beta', {
      pod: '172.18.0.0/16',
      service: '172.19.0.0/16',
    }),
  ])
    await assign(backend, shared, id)
  const { text, headers } = await operator.call(subnetExport)
  expect(headers['content-disposition']).toBe('attachment; filename="subnets.csv"')
  const [header, ...rows] = text.split('\r\n')
  expect(header).toBe(csvColumns.join())
  expect(rows).toContain(
    `${subnet.id},1,exported,10.1.0.0/24,10.1.0.1,7,10.1.0.9;10.1.0.64-10.1.0.127,false,workload,${poznan.code},alpha`,
  )
  expect(rows.find((r) => r.includes(shared.id))).toContain(`${poznan.code},alpha;beta`)
  for (const csv of [
    text,
    `\u{FEFF}${text}`,
    text.replaceAll('\r\n', '\n'),
    // Excel leaves out empty cells at the end of lines.
    text.replaceAll(/,+(?=\r\n)/g, ''),
    text
      .split('\r\n')
      .map((l) =>
        l
          .split(',')
          .map((c) => (l === '' ? '' : `"${c}"`))
          .join(),
      )
      .join('\r\n'),
  ]) {
    const answer = await send(csv)
    expect(answer.problems).toEqual([])
    expect(new Set(answer.rows.map((r) => r.does))).toEqual(new Set(['nothing']))
    expect(answer.rows).toHaveLength((await stored()).length)
  }
  expect(
    await Promise.all(
      [subnet, shared].map(
        async ({ id }) => (await operator.call(subnetGet, { params: { id } })).answer!.version,
      ),
    ),
  ).toEqual([1, 1])
  expect(await exported()).toBe(text)
  // The export follows the filters of the list.
  expect((await exported({ q: '10.1.0.9' })).split('\r\n').filter(Boolean)).toHaveLength(2)
  expect((await exported({ cluster: 'beta' })).split('\r\n').filter(Boolean)).toHaveLength(2)
})

test('every problem of every row is reported with its line, and nothing is written', async () => {
  const before = await stored()
  expect(
    await problems(
      csvColumns.join(),
      `,,Bad_Name,10.0.0.5/24,,4095,,maybe,both,XX-XXX-9,`,
      `,,good,10.3.0.0/24,,,,,,${poznan.code},`,
      `,,good,10.3.0.128/25,,,,,,${poznan.code},`,
      `,,imported-a,203.0.113.8/29,,,,,,${warsaw.code},`,
      `,,short,10.4.0.0/24`,
      `,,gateway,10.5.0.0/24,10.6.0.1,,10.5.0.9-10.5.0.3,,,${poznan.code},`,
      `,,"with ""quotes""",,,,,,,,`,
      `,2,versioned,10.7.0.0/24,,,,,,${poznan.code},alpha`,
      `${randomUUID()},1,unknown,10.8.0.0/24,,,,,,${poznan.code},`,
      `=cmd|' /C calc'!A1,1,formula,10.9.0.0/24,,,,,,${poznan.code},`,
      `${known.id},,without-version,203.0.113.0/28,,,,,,${poznan.code},`,
      `,,pods,172.16.4.0/24,,,,,,${poznan.code},`,
      `,,everything,10.10.0.0/24,,,10.10.0.0/25;10.10.0.128-10.10.0.255,,,${poznan.code},`,
      `,,lines,10.11.0.0/24,,,10.11.0.1;x;10.12.0.1,,,${poznan.code},`,
    ),
  ).toEqual([
    '2 name: Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    '2 datacenter: There is no datacenter XX-XXX-9',
    '2 vlan: VLAN ID must be a whole number from 1 to 4094',
    '2 first_and_last: Enter true or false',
    '2 purpose: Enter workload or management',
    '2 cidr: 10.0.0.5/24 is not a network address. Did you mean 10.0.0.0/24?',
    '4 name: Line 3 has the same name',
    '4 cidr: Overlaps with good (10.3.0.0/24) in line 3',
    '5 name: Subnet name already exists. Please choose a different name.',
    `5 cidr: Overlaps with subnet imported-a (203.0.113.0/28) in ${poznan.code}`,
    '6 -: The header has 11 columns, this line has 4',
    '7 gateway: Gateway must be inside 10.5.0.0/24',
    '7 exclude: range end is before its start',
    '8 name: Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    '8 datacenter: Datacenter is required',
    '8 cidr: CIDR is required',
    '9 version: Only a row with an id may have a version',
    '9 cluster: A new subnet has no cluster. Use Assign Subnets after it is added',
    expect.stringMatching(
      /^10 id: There is no subnet with the id [0-9a-f-]{36}\. Leave the id empty to add a subnet$/,
    ) as string,
    "11 id: There is no subnet with the id =cmd|' /c calc'!a1. Leave the id empty to add a subnet",
    '12 version: A row with an id needs the version that it was exported with',
    '13 cidr: Overlaps with the pod network 172.16.0.0/16 of cluster alpha',
    '14 exclude: No usable addresses remain after exclusions',
    '15 exclude: "x" is not an IP address, CIDR or range',
  ])
  expect(await stored()).toEqual(before)
})

test('all errors are reported, including overlaps with invalid rows; rows of only commas are skipped', async () => {
  expect(
    await problems(
      'name,cidr,vlan,datacenter',
      `first,10.30.0.0/24,5000,${poznan.code}`,
      `first,10.30.0.128/25,,${poznan.code}`,
      ',,,',
      `imported-a,10.30.0.0/25,no,${poznan.code}`,
      `Bad,10.31.0.0/24,,${poznan.code}`,
      `inner,10.31.0.0/25,,${poznan.code}`,
      ' , ,,',
    ),
  ).toEqual([
    '2 vlan: VLAN ID must be a whole number from 1 to 4094',
    '3 name: Line 2 has the same name',
    '3 cidr: Overlaps with first (10.30.0.0/24) in line 2',
    '5 vlan: VLAN ID must be a whole number from 1 to 4094',
    '5 name: Subnet name already exists. Please choose a different name.',
    '5 cidr: Overlaps with first (10.30.0.0/24) in line 2',
    '6 name: Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    '7 cidr: Overlaps with 10.31.0.0/24 in line 6',
  ])
})

test.each([
  ['name,cidr', ['1 -: The column datacenter is missing']],
  ['name;cidr;datacenter', ['1 -: Columns must be separated by commas, not semicolons']],
  ['name,cidr,datacenter,name', ['1 -: The column name appears twice']],
  [
    'name,cidr,datacenter,owner',
    [`1 -: There is no column "owner". Columns are ${csvColumns.join(', ')}`],
  ],
  ['name,cidr,datacenter,\na,10.0.0.0/24,x,mine', ['1 -: Column 4 has no title']],
  ['name,,cidr,datacenter', ['1 -: Column 2 has no title']],
  ['name,cidr,datacenter, ,', []],
  ['"name,cidr', ['1 -: A quote is not closed']],
  ['\n\n', ['1 -: The file is empty']],
])('the header %j is refused', async (header, wrong) =>
  expect(await problems(header)).toEqual(wrong),
)

test('a header with too many columns is refused with a short list of errors', async () => {
  const columns = Array.from({ length: 900 }, (_, i) => `c${i}`)
  const found = await problems(`name,${columns.join(',')}`)
  expect(found).toHaveLength(23)
  expect(found).toContain('1 -: 880 more columns are not known')
  expect(await problems(','.repeat(importLimits.bytes - 8))).toEqual([
    '1 -: A header has at most 1\u202f000 columns',
  ])
  expect(await problems(`cidr,datacenter${',name'.repeat(900)}`)).toEqual([
    '1 -: The column name appears twice',
  ])
})

test('an unclosed quote is reported together with the problems of the rows before it', async () => {
  expect(
    await problems('name,cidr,datacenter', 'Bad,10.20.0.0/24,x', 'good,"10.21.0.0/24,x'),
  ).toEqual([
    '2 name: Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    '2 datacenter: There is no datacenter x',
    '3 -: A quote is not closed',
  ])
})

test('a file of more than a megabyte or 5,000 rows is refused', async () => {
  const sentence = 'A file is at most 1 MiB'
  const refused = await operator.call(subnetImport, {
    body: { csv: 'x'.repeat(importLimits.bytes + 1) },
  })
  expect(refused).toMatchObject({
    status: 422,
    problem: { code: 'invalid', fields: { csv: sentence } },
  })
  // The limit counts bytes: in UTF-8 this letter has two.
  expect(
    (await operator.call(subnetImport, { body: { csv: 'ż'.repeat(importLimits.bytes / 2 + 1) } }))
      .problem,
  ).toMatchObject({ fields: { csv: sentence } })
  expect(
    (await operator.call(subnetImport, { body: { csv: '"'.repeat(importLimits.bytes) } })).status,
  ).toBe(200)
  expect((await operator.call(subnetImport, { body: { csv: '' } })).problem).toMatchObject({
    fields: { csv: 'The file is empty' },
  })
  expect((await operator.call(subnetImport, { body: { csv: 'name\u0000' } })).status).toBe(422)
  expect(
    (await operator.call(subnetImport, { body: { csv: 'x'.repeat(4 * importLimits.bytes) } }))
      .status,
  ).toBe(413)
  const row = (n: number) => `n-${n},10.${n >> 8}.${n & 255}.0/24,${warsaw.code}`
  expect(
    await problems(
      'name,cidr,datacenter',
      ...Array.from({ length: importLimits.rows + 1 }, (_, n) => row(n)),
    ),
  ).toEqual([`${importLimits.rows + 2} -: A file has at most 5\u202f000 rows`])
})

test('a dry run checks the rows without writing them', async () => {
  const before = await stored()
  const answer = await send(lines('name,cidr,datacenter', `dry,10.30.0.0/24,${poznan.code}`), {
    dry_run: true,
  })
  expect(answer).toEqual({
    written: false,
    problems: [],
    rows: [{ line: 2, name: 'dry', cidr: '10.30.0.0/24', does: 'create' }],
  })
  expect(await stored()).toEqual(before)
})

test('a row with an id changes that subnet, and missing columns keep their values', async () => {
  const one = await addSubnet(operator, poznan.id, 'one', '10.40.0.0/24', {
    gateway: '10.40.0.1',
    vlan_id: 4,
  })
  const two = await addSubnet(operator, poznan.id, 'two', '10.41.0.0/24')
  // The subnets swap names and CIDRs, and one no longer has a gateway.
  const answer = await send(
    lines(
      'id,version,name,cidr,datacenter,gateway',
      `${one.id},1,two,10.41.0.0/24,${poznan.code},`,
      `${two.id.toUpperCase()},1,one,10.40.0.0/24,${poznan.code},10.40.0.9`,
    ),
  )
  expect(answer).toMatchObject({
    written: true,
    problems: [],
    rows: [{ does: 'update' }, { does: 'update' }],
  })
  expect((await operator.call(subnetGet, { params: { id: one.id } })).answer).toMatchObject({
    name: 'two',
    cidr: '10.41.0.0/24',
    gateway: null,
    vlan_id: 4,
    version: 2,
  })
  expect((await operator.call(subnetGet, { params: { id: two.id } })).answer).toMatchObject({
    name: 'one',
    cidr: '10.40.0.0/24',
    gateway: '10.40.0.9',
    version: 2,
  })
  // Outdated versions and duplicates are refused.
  expect(
    await problems(
      'id,version,name,cidr,datacenter',
      `${one.id},1,two,10.41.0.0/24,${poznan.code}`,
      `${two.id},2,one,10.40.0.0/24,${warsaw.code}`,
      `${one.id},2,two,10.41.0.0/24,${poznan.code}`,
      `${one.id},2,three,10.42.0.0/24,${poznan.code}`,
    ),
  ).toEqual([
    `2 version: Changed by ${operator.email} since it was exported. Export it again`,
    `3 datacenter: The datacenter of a subnet is fixed: it is in ${poznan.code}`,
    '5 id: Line 4 is about the same subnet',
  ])
})

test("an import can't make changes that assigned subnets do not allow", async () => {
  const subnet = await addSubnet(operator, poznan.id, 'guarded', '10.50.0.0/24')
  await assign(backend, subnet, cluster, { uses: { '10.50.0.7': 'default/web' } })
  await addServer(backend, poznan.id, 'calm-otter-9', '10.51.0.9')
  const row = (cidr: string, exclude: string, purpose: string, named: string) =>
    `${subnet.id},1,guarded,${cidr},${exclude},${purpose},${poznan.code},${named}`
  const columns = 'id,version,name,cidr,exclude,purpose,datacenter,cluster'
  expect(await problems(columns, row('10.50.0.0/25', '', 'workload', 'alpha'))).toEqual([
    '2 cidr: This subnet is assigned to alpha. Unassign it before changing the CIDR',
  ])
  expect(await problems(columns, row('10.50.0.0/24', '', 'management', 'alpha'))).toEqual([
    '2 purpose: This subnet is assigned to alpha. Unassign it before changing the purpose',
  ])
  expect(await problems(columns, row('10.50.0.0/24', '10.50.0.7', 'workload', 'alpha'))).toEqual([
    '2 exclude: In use by cluster alpha: 10.50.0.7 (default/web). Free it first',
  ])
  for (const named of ['', 'beta', 'alpha;beta'])
    expect(await problems(columns, row('10.50.0.0/24', '', 'workload', named))).toEqual([
      '2 cluster: An import does not change the cluster: the subnet is assigned to alpha. Use Assign Subnets',
    ])
  expect(await problems('name,cidr,datacenter', `rack,10.51.0.0/24,${poznan.code}`)).toEqual([
    '2 cidr: Contains 10.51.0.9, the address of server calm-otter-9. Exclude it first',
  ])
  // A change of assignable addresses reaches the cluster; a change of the VLAN doesn't.
  const status = async () => {
    const { answer } = await operator.call(subnetGet, { params: { id: subnet.id } })
    await sql`update subnet_assignment set state = 'active'`.execute(backend.platform.db)
    return answer!.status
  }
  expect(
    (await send(lines(columns, row('10.50.0.0/24', '10.50.0.8', 'workload', 'alpha')))).written,
  ).toBe(true)
  expect(await status()).toBe('applying')
  expect(
    (await operator.call(subnetUpdate, { params: { id: subnet.id }, body: { vlan_id: 5 } })).status,
  ).toBe(200)
  expect(await status()).toBe('active')
  expect(
    (await operator.call(subnetUpdate, { params: { id: subnet.id }, body: { exclude: [] } }))
      .status,
  ).toBe(200)
  expect(await status()).toBe('applying')
})

test('an import that violates a constraint of the database is rolled back', async () => {
  const before = (await stored()).length
  let sent!: ReturnType<typeof operator.call<typeof subnetImport>>
  await backend.platform.db.transaction().execute(async (tx) => {
    await sql`insert into subnet (name, datacenter_id, cidr, total, created_at, updated_at, updated_by)
      values ('past-the-lock', ${poznan.id}, '10.61.0.0/24', 254, now(), now(), 'test')`.execute(tx)
    sent = operator.call(subnetImport, {
      body: {
        csv: lines(
          'name,cidr,datacenter',
          `first,10.60.0.0/24,${poznan.code}`,
          `second,10.61.0.0/25,${poznan.code}`,
        ),
      },
    })
    await expect
      .poll(async () => {
        const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'transactionid'`.execute(
          backend.platform.db,
        )
        return rows[0]!.n
      })
      .toBeGreaterThan(0)
  })
  expect(await sent).toMatchObject({ status: 409, problem: { code: 'conflict' } })
  expect(await stored()).toHaveLength(before + 1)
})
