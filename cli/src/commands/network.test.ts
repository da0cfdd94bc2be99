import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterCreate, datacenterList, datacenterUpdate } from '#contract/datacenters.ts'
import { Problem } from '#contract/errors.ts'
import {
  clusterSubnets,
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type Subnet,
  subnetAddresses,
  subnetCreate,
  subnetImport,
  subnetList,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aCluster, aDatacenter, anOperation, id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const aSubnet = (more: Partial<Subnet> = {}): Subnet => ({
  id: id(30),
  name: 'edge-pool',
  type: 'IPv4',
  cidr: '198.18.4.0/26',
  gateway: '198.18.4.1',
  vlan_id: null,
  exclude: [],
  first_and_last: false,
  purpose: 'workload',
  datacenter: { id: id(50), code: 'PL-POZ-1' },
  clusters: [],
  status: 'unassigned',
  reason: null,
  total: 61,
  used: null,
  observed_at: null,
  version: 1,
  created_at: at,
  updated_at: at,
  ...more,
})

async function signedIn() {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(datacenterList, () => pageOf([aDatacenter()]))
  api.on(clusterList, () => pageOf([aCluster()]))
  api.on(clusterGet, () => aCluster())
  return { api, cli }
}
const web = [{ id: id(20), name: 'web' }]

test('the list of subnets shows the used addresses, or "unknown" if a cluster has not reported them', async () => {
  const { api, cli } = await signedIn()
  api.on(subnetList, () =>
    pageOf([
      aSubnet(),
      aSubnet({ name: 'told', clusters: web, status: 'active', used: 12 }),
      aSubnet({ name: 'silent', clusters: web, status: 'applying' }),
      aSubnet({ name: 'racks', purpose: 'management', used: 40 }),
      aSubnet({
        name: 'six',
        type: 'IPv6',
        cidr: 'fd00::/64',
        clusters: web,
        status: 'active',
        used: 3,
        total: null,
      }),
    ]),
  )
  const { out } = await cli.run('subnet list --search 198.18.4.7')
  expect(out).toMatch(/^edge-pool .* 0 of 61 +unassigned$/m)
  expect(out).toMatch(/^told .* web +12 of 61 +active$/m)
  expect(out).toMatch(/^silent .* web +unknown +applying$/m)
  expect(out).toMatch(/^racks .* 40 of 61 +unassigned$/m)
  expect(out).toMatch(/^six .* web +3 +active$/m)
  expect(api.callsOf(subnetList)[0]!.query).toEqual({ q: '198.18.4.7' })
})

test('a subnet is added with the given values, and warnings are printed', async () => {
  const { api, cli } = await signedIn()
  api.on(subnetCreate, ({ body }) =>
    aSubnet({ name: body.name, cidr: body.cidr, vlan_id: body.vlan_id ?? null }),
  )
  const ran = await cli.run(
    'subnet add p --cidr 198.18.4.0/26 --datacenter pl-poz-1 --gateway 198.18.4.1 --vlan 1 --exclude 198.18.4.9,198.18.4.20-198.18.4.29',
  )
  expect(ran).toMatchObject({
    exit: 0,
    out: 'p (198.18.4.0/26) is added\n',
    err: 'Warning: VLAN 1 is the default VLAN of most switches\n',
  })
  expect(api.callsOf(subnetCreate)[0]!.body).toEqual({
    name: 'p',
    datacenter_id: id(50),
    cidr: '198.18.4.0/26',
    gateway: '198.18.4.1',
    vlan_id: 1,
    exclude: ['198.18.4.9', '198.18.4.20-198.18.4.29'],
    first_and_last: false,
  })
})

test.each([
  [
    '--cidr 198.18.4.5/26 --datacenter PL-POZ-1',
    '198.18.4.5/26 is not a network address. Did you mean 198.18.4.0/26?',
  ],
  [
    '--cidr 198.18.4.0/26 --datacenter PL-POZ-1 --gateway 198.18.5.1',
    'Gateway must be inside 198.18.4.0/26',
  ],
  ['--cidr 198.18.4.0/26', 'Give --cidr and --datacenter'],
])('subnet add with %s is refused without a request', async (options, sentence) => {
  const { api, cli } = await signedIn()
  expect(await cli.run(`subnet add p ${options}`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining(sentence) as string,
  })
  expect(api.callsOf(subnetCreate)).toHaveLength(0)
})

test('subnet edit sends only the given fields', async () => {
  const { api, cli } = await signedIn()
  api.on(subnetUpdate, () => aSubnet())
  await cli.run(`subnet edit ${id(30)} --no-gateway --no-exclusions --vlan 7`)
  expect(api.callsOf(subnetUpdate)[0]!.body).toEqual({ gateway: null, exclude: [], vlan_id: 7 })
  expect(await cli.run(`subnet edit ${id(30)} --gateway 198.18.4.1 --no-gateway`)).toMatchObject({
    exit: 2,
  })
  expect(await cli.run(`subnet edit ${id(30)}`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('Specify what to change') as string,
  })
})

test('subnet map prints ranges of addresses with the same use', async () => {
  const { api, cli } = await signedIn()
  api.on(subnetAddresses, () => ({
    cidr: '198.18.4.0/30',
    observed_at: at,
    runs: [
      {
        first: '198.18.4.0',
        last: '198.18.4.0',
        state: 'reserved' as const,
        by: 'network address',
        node_id: null,
      },
      { first: '198.18.4.1', last: '198.18.4.2', state: 'free' as const, by: null, node_id: null },
      {
        first: '198.18.4.3',
        last: '198.18.4.3',
        state: 'used' as const,
        by: 'shop/front',
        node_id: null,
      },
    ],
  }))
  expect((await cli.run(`subnet map ${id(30)}`)).out).toMatch(
    /^198\.18\.4\.1-198\.18\.4\.2 +free +-\n198\.18\.4\.3 +used +shop\/front$/m,
  )
})

test('subnet assign and unassign send the complete list of subnets, without draining ones', async () => {
  const { api, cli } = await signedIn()
  api.on(clusterSubnets, () => ({
    items: [
      aSubnet({ id: id(31), name: 'kept', clusters: web }),
      aSubnet({ id: id(32), name: 'going', clusters: web, status: 'draining' }),
    ],
    provider: 'cilium' as const,
    manifest: '',
  }))
  api.on(clusterSubnetsAssign, () => ({ operation: anOperation() }))
  expect((await cli.run(`subnet assign web ${id(30)} ${id(31)}`)).exit).toBe(0)
  expect((await cli.run(`subnet unassign web ${id(31)}`)).exit).toBe(0)
  expect(api.callsOf(clusterSubnetsAssign).map((c) => c.body)).toEqual([
    { subnet_ids: [id(31), id(30)], force: false },
    { subnet_ids: [], force: false },
  ])
  expect(await cli.run(`subnet unassign web ${id(39)}`)).toMatchObject({ exit: 5 })
})

test('if two users assign subnets at the same time, both assignments succeed', async () => {
  const { api, cli } = await signedIn()
  const theirs = aSubnet({ id: id(31), clusters: web })
  let version = 4
  api.on(clusterGet, () => aCluster({ version }))
  api.on(clusterSubnets, () => ({
    items: version === 4 ? [] : [theirs],
    provider: null,
    manifest: '',
  }))
  api.on(clusterSubnetsAssign, () => {
    // Another user changes the subnets before the first request.
    if (version === 4) {
      version = 5
      throw new Problem('stale', 'This object has changed since you opened it. Load it again.')
    }
    return { operation: anOperation() }
  })
  expect((await cli.run(`subnet assign web ${id(30)}`)).exit).toBe(0)
  expect(
    api.callsOf(clusterSubnetsAssign).map(({ body, headers }) => [body, headers['if-match']]),
  ).toEqual([
    [{ subnet_ids: [id(30)], force: false }, '"4"'],
    [{ subnet_ids: [id(31), id(30)], force: false }, '"5"'],
  ])
})

test('a confirmed forced removal is refused if the state has changed since the confirmation', async () => {
  const { api, cli } = await signedIn()
  api.on(clusterGet, () => aCluster())
  api.on(clusterSubnets, () => ({
    items: [aSubnet({ clusters: web })],
    provider: null,
    manifest: '',
  }))
  api.on(clusterSubnetsPreview, () => ({
    provider: null,
    before: '',
    after: '',
    warnings: [],
    losing: [],
  }))
  api.on(clusterSubnetsAssign, () => {
    throw new Problem('stale', 'This object has changed since you opened it. Load it again.')
  })
  expect(await cli.run(`subnet unassign web ${id(30)} --force --yes`)).toMatchObject({ exit: 6 })
  expect(api.callsOf(clusterSubnetsAssign)).toHaveLength(1)
  expect(
    await cli.run(`subnet edit ${id(30)} --exclude 203.0.113.9 --no-exclusions`),
  ).toMatchObject({ exit: 2 })
})

test('a forced removal lists the Services that lose an address and asks for the name of the cluster', async () => {
  const { api, cli } = await signedIn()
  api.on(clusterSubnets, () => ({
    items: [aSubnet({ clusters: web })],
    provider: null,
    manifest: '',
  }))
  api.on(clusterSubnetsAssign, () => ({ operation: anOperation() }))
  const losing = [{ subnet_id: id(30), service: 'web/shop', address: '203.0.113.10' }]
  api.on(clusterSubnetsPreview, () => ({
    provider: null,
    before: '',
    after: '',
    warnings: [],
    losing,
  }))
  expect(await cli.run(`subnet unassign web ${id(30)} --force`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--yes') as string,
  })
  expect(
    await cli.run(`subnet unassign web ${id(30)} --force`, { ask: async () => 'wed' }),
  ).toMatchObject({
    exit: 1,
    err: 'web/shop loses 203.0.113.10\nNothing was done\n',
  })
  expect(api.callsOf(clusterSubnetsAssign)).toHaveLength(0)
  expect(
    (await cli.run(`subnet unassign web ${id(30)} --force`, { ask: async () => 'web' })).exit,
  ).toBe(0)
  expect((await cli.run(`subnet unassign web ${id(30)} --force --yes`)).exit).toBe(0)
  expect(api.callsOf(clusterSubnetsAssign).map((c) => c.body)).toEqual([
    { subnet_ids: [], force: true },
    { subnet_ids: [], force: true },
  ])
})

test('an import reports every problem with its line and fails, or prints what it imported', async () => {
  const { api, cli } = await signedIn()
  const file = join(cli.folder, 'subnets.csv')
  await writeFile(file, 'name,cidr\na,198.18.4.0/26\n')
  api.on(subnetImport, ({ body }) =>
    body.dry_run
      ? {
          written: false,
          rows: [],
          problems: [{ line: 2, column: 'cidr', message: 'CIDR is required' }],
        }
      : {
          written: true,
          rows: [{ line: 2, name: 'a', cidr: '198.18.4.0/26', does: 'create' as const }],
          problems: [],
        },
  )
  expect(await cli.run(`subnet import ${file} --dry-run`)).toMatchObject({
    exit: 1,
    out: 'LINE  COLUMN  PROBLEM\n   2  cidr    CIDR is required\n',
  })
  expect(await cli.run(`subnet import ${file}`)).toMatchObject({
    exit: 0,
    out: '1 added, 0 changed, 0 unchanged\n',
  })
  expect(await cli.run('subnet import /nowhere/at-all.csv')).toMatchObject({
    exit: 1,
    err: '/nowhere/at-all.csv cannot be read\n',
  })
})

test('a datacenter is added and changed with the given fields', async () => {
  const { api, cli } = await signedIn()
  api.on(datacenterCreate, () => aDatacenter({ code: 'DE-FRA-1' }))
  api.on(datacenterUpdate, () => aDatacenter())
  await cli.run([
    'datacenter',
    'add',
    '--country',
    'de',
    '--city-code',
    'fra',
    '--city',
    'Frankfurt',
    '--certification',
    'ISO 27001, 2022',
    '--latitude=-50.1',
    '--longitude',
    '8.6',
  ])
  expect(api.callsOf(datacenterCreate)[0]!.body).toEqual({
    country_code: 'DE',
    city_code: 'FRA',
    city_name: 'Frankfurt',
    certifications: ['ISO 27001, 2022'],
    latitude: -50.1,
    longitude: 8.6,
  })
  await cli.run('datacenter edit pl-poz-1 --power-kw 900')
  expect(api.callsOf(datacenterUpdate)[0]).toMatchObject({
    params: { id: id(50) },
    body: { power_capacity_kw: 900 },
  })
})
