import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { subnetCreate, subnetGet, subnetRemove, subnetUpdate } from '#contract/network/subnets.ts'
import { clusterCreate, clusterPreview } from '#contract/clusters/clusters.ts'
import { startBackend } from '../../testing/backend.ts'
import { addCluster, addDatacenter, addServer, addSubnet, assign, untilBlocked } from './testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const poznan = await addDatacenter(operator, 'POZ')
const warsaw = await addDatacenter(operator, 'WAW')
/** Cluster networks that overlap nothing here. */
const elsewhere = { pod: '172.16.0.0/16', service: '172.17.0.0/16' }
const create = (body: object) =>
  operator.call(subnetCreate, {
    body: {
      name: `net-${randomUUID().slice(0, 8)}`,
      datacenter_id: poznan.id,
      cidr: '10.0.0.0/24',
      ...body,
    },
  })
const change = (id: string, body: object, ifMatch?: number) =>
  operator.call(subnetUpdate, { params: { id }, body }, ifMatch === undefined ? {} : { ifMatch })

test('a subnet is returned in canonical notation, with the number of its addresses', async () => {
  const made = await create({
    name: 'front',
    cidr: ' 203.0.113.0/24 ',
    gateway: '203.0.113.1',
    vlan_id: 4094,
    exclude: ['203.0.113.16/28, 203.0.113.9', '', '203.0.113.10 - 203.0.113.15'],
  })
  expect(made).toMatchObject({ status: 201, headers: { etag: '"1"' } })
  expect(made.answer).toMatchObject({
    name: 'front',
    type: 'IPv4',
    cidr: '203.0.113.0/24',
    gateway: '203.0.113.1',
    vlan_id: 4094,
    exclude: ['203.0.113.9-203.0.113.31'],
    first_and_last: false,
    purpose: 'workload',
    datacenter: { id: poznan.id, code: poznan.code },
    clusters: [],
    status: 'unassigned',
    total: 254 - 1 - 23,
    used: 0,
    version: 1,
  })
  expect((await operator.call(subnetGet, { params: { id: made.answer!.id } })).answer).toEqual(
    made.answer,
  )
  const wide = await create({
    name: 'wide',
    cidr: '2001:DB8:0:0::/64',
    gateway: '2001:0db8::0001',
    exclude: ['2001:db8::-2001:db8::ff'],
  })
  expect(wide.answer).toMatchObject({
    type: 'IPv6',
    cidr: '2001:db8::/64',
    gateway: '2001:db8::1',
    exclude: ['2001:db8::-2001:db8::ff'],
    total: null,
    used: 0,
  })
})

/** Tests one error per field through the API. The contract's tests check all messages. */
test.each([
  ['no CIDR', { cidr: '' }, { cidr: 'CIDR is required' }],
  ['a CIDR that is a number', { cidr: 7 }, { cidr: 'CIDR is required' }],
  [
    'host bits',
    { cidr: '203.0.113.5/24' },
    { cidr: '203.0.113.5/24 is not a network address. Did you mean 203.0.113.0/24?' },
  ],
  [
    'octal',
    { cidr: '010.0.3.0/24' },
    { cidr: 'Enter a subnet in CIDR notation, for example 203.0.113.0/24' },
  ],
  [
    'a long text',
    { cidr: 'x'.repeat(65) },
    { cidr: 'Enter a subnet in CIDR notation, for example 203.0.113.0/24' },
  ],
  ['a NUL', { cidr: '10.0.0.0/24\u0000' }, {}],
  [
    'loopback',
    { cidr: '127.0.0.0/8' },
    { cidr: '127.0.0.0/8 is a loopback range and cannot be used' },
  ],
  ['a foreign gateway', { gateway: '10.0.1.1' }, { gateway: 'Gateway must be inside 10.0.0.0/24' }],
  ['a long gateway', { gateway: 'x'.repeat(65) }, { gateway: 'Gateway must be an IP address' }],
  [
    'a range backwards',
    { exclude: ['10.0.0.9-10.0.0.5'] },
    { exclude: 'Line 1: range end is before its start' },
  ],
  [
    'a long line',
    { exclude: ['x'.repeat(2001)] },
    {
      'exclude.0': 'A line has at most 2000 characters',
      exclude: `Line 1: "${'x'.repeat(80)}…" is not an IP address, CIDR or range`,
    },
  ],
  [
    'exclusions that are a text',
    { exclude: '10.0.0.9' },
    { exclude: 'Expected array, received string' },
  ],
  [
    'a VLAN too high',
    { vlan_id: 4095 },
    { vlan_id: 'VLAN ID must be a whole number from 1 to 4094' },
  ],
  [
    'a VLAN in quotes',
    { vlan_id: '12' },
    { vlan_id: 'VLAN ID must be a whole number from 1 to 4094' },
  ],
  [
    'capitals',
    { name: 'Front' },
    {
      name: 'Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    },
  ],
  ['what is not for people to say', { status: 'active' }, { status: 'Unknown field' }],
  [
    'two wrongs',
    { name: '', cidr: '10.0.0.9/24' },
    {
      cidr: '10.0.0.9/24 is not a network address. Did you mean 10.0.0.0/24?',
      name: 'Subnet name must be at least 1 character',
    },
  ],
] as [string, object, Record<string, string>][])(
  'a subnet with %s is refused with one message per field',
  async (_what, wrong, fields) => {
    const refused = await create(wrong)
    expect(refused).toMatchObject({ status: 422, problem: { code: 'invalid' } })
    expect(refused.problem!.fields ?? {}).toEqual(fields)
  },
)

test('an unknown datacenter is refused', async () => {
  const refused = await create({ datacenter_id: randomUUID(), cidr: '10.77.0.0/24' })
  expect(refused).toMatchObject({
    status: 404,
    problem: { code: 'not_found', fields: { datacenter_id: 'There is no such datacenter' } },
  })
  expect((await operator.call(subnetGet, { params: { id: randomUUID() } })).problem).toMatchObject({
    code: 'not_found',
    error: 'There is no such subnet',
  })
  expect((await change(randomUUID(), { name: 'any' })).status).toBe(404)
  expect((await operator.call(subnetRemove, { params: { id: randomUUID() } })).status).toBe(404)
})

test('a private range may be used once per datacenter, a public range only once', async () => {
  const first = await addSubnet(operator, poznan.id, 'private-poznan', '10.20.0.0/16')
  await addSubnet(operator, warsaw.id, 'private-warsaw', '10.20.0.0/16')
  for (const cidr of ['10.20.0.0/16', '10.20.3.0/24', '10.16.0.0/12', '10.20.0.0/32']) {
    expect((await create({ cidr })).problem).toMatchObject({
      code: 'subnet_overlap',
      error: `Overlaps with subnet private-poznan (10.20.0.0/16) in ${poznan.code}`,
      fields: { cidr: `Overlaps with subnet private-poznan (10.20.0.0/16) in ${poznan.code}` },
      related: { kind: 'subnet', id: first.id, name: 'private-poznan' },
    })
  }
  const open = await addSubnet(operator, poznan.id, 'public-poznan', '198.51.100.0/25')
  const elsewhere = await create({ cidr: '198.51.100.0/24', datacenter_id: warsaw.id })
  expect(elsewhere).toMatchObject({
    status: 409,
    problem: {
      error: `Overlaps with subnet public-poznan (198.51.100.0/25) in ${poznan.code}`,
      related: { id: open.id },
    },
  })
  expect((await create({ cidr: '198.51.100.128/25', datacenter_id: warsaw.id })).status).toBe(201)
  await addSubnet(operator, poznan.id, 'six', '2a00:1:0::/48')
  expect(
    (await create({ cidr: '2A00:0001:0000:FF::/64', datacenter_id: warsaw.id })).problem,
  ).toMatchObject({
    error: `Overlaps with subnet six (2a00:1::/48) in ${poznan.code}`,
  })
})

test('the name of a subnet is unique across all datacenters', async () => {
  await addSubnet(operator, poznan.id, 'taken', '10.30.0.0/24')
  const other = await addSubnet(operator, warsaw.id, 'other', '10.31.0.0/24')
  const sentence = 'Subnet name already exists. Please choose a different name.'
  expect(await create({ name: 'taken', cidr: '10.32.0.0/24' })).toMatchObject({
    status: 409,
    problem: { code: 'name_taken', fields: { name: sentence } },
  })
  expect((await change(other.id, { name: 'taken' })).problem).toMatchObject({
    code: 'name_taken',
    error: sentence,
  })
})

test('a subnet may not overlap the networks of a cluster in its datacenter, even while the cluster is created', async () => {
  const place = await addDatacenter(operator, 'KRK')
  const cluster = await addCluster(backend, place.id, 'alpha')
  const at = (cidr: string, datacenterId = place.id) =>
    create({ cidr, datacenter_id: datacenterId })
  expect((await at('10.244.7.0/24')).problem).toMatchObject({
    code: 'conflict',
    error: 'Overlaps with the pod network 10.244.0.0/16 of cluster alpha',
    fields: { cidr: 'Overlaps with the pod network 10.244.0.0/16 of cluster alpha' },
    related: { kind: 'cluster', id: cluster, name: 'alpha' },
  })
  expect((await at('10.96.0.0/11')).problem).toMatchObject({
    error: 'Overlaps with the service network 10.96.0.0/12 of cluster alpha',
  })
  expect((await at('10.244.7.0/24', (await addDatacenter(operator, 'KRK')).id)).status).toBe(201)
  await sql`update cluster set deleted_at = now() where id = ${cluster}`.execute(
    backend.platform.db,
  )
  expect((await at('10.244.7.0/24')).status).toBe(201)
  await backend.platform.db.transaction().execute(async (tx) => {
    await backend.domains.subnets.lockNetworks(tx)
    expect(await backend.domains.subnets.inDatacenter(tx, place.id)).toEqual([
      { name: expect.any(String) as string, cidr: '10.244.7.0/24' },
    ])
  })
})

test('a cluster whose networks overlap a subnet of its datacenter is refused', async () => {
  const place = await addDatacenter(operator, 'KTW')
  await addSubnet(operator, place.id, 'shadowed', '10.244.7.0/24')
  const node_id = await addServer(backend, place.id, 'calm-otter-201', '10.9.0.1')
  const body = {
    name: 'shadow',
    datacenter_id: place.id,
    servers: [{ node_id, role: 'control_plane' as const }],
  }
  const { answer, text } = await operator.call(clusterPreview, { body })
  expect(answer?.checks ?? text).toContainEqual({
    check: 'pod_cidr',
    ok: false,
    message: 'The pod network 10.244.0.0/16 overlaps with subnet shadowed (10.244.7.0/24)',
  })
  // The creation waits for a subnet that is being added and not visible yet.
  let created!: ReturnType<typeof operator.call<typeof clusterCreate>>
  await backend.platform.db.transaction().execute(async (tx) => {
    await backend.domains.subnets.lockNetworks(tx)
    created = operator.call(clusterCreate, { body: { ...body, pod_cidr: '10.128.0.0/16' } })
    await untilBlocked(backend, 'advisory')
    await sql`insert into subnet (name, datacenter_id, cidr, total, created_at, updated_at, updated_by)
      values ('meanwhile', ${place.id}, '10.128.4.0/24', 254, now(), now(), 'test')`.execute(tx)
  })
  expect((await created).problem!.fields).toMatchObject({
    pod_cidr: 'The pod network 10.128.0.0/16 overlaps with subnet meanwhile (10.128.4.0/24)',
  })
})

test('a workload subnet must not contain the address of a server unless that address is excluded', async () => {
  const place = await addDatacenter(operator, 'GDN')
  const server = await addServer(backend, place.id, 'calm-otter-101', '10.70.0.9', [
    '10.70.0.9/24',
    '127.0.0.1/8',
    '2A00:70::9/64',
    'fe80::1/64',
  ])
  const sentence = 'Contains 10.70.0.9, the address of server calm-otter-101. Exclude it first'
  const at = (more: object) => create({ datacenter_id: place.id, cidr: '10.70.0.0/24', ...more })
  expect((await at({})).problem).toMatchObject({
    code: 'conflict',
    error: sentence,
    fields: { cidr: sentence },
    related: { kind: 'server', id: server, name: 'calm-otter-101' },
  })
  expect((await at({ cidr: '2a00:70::/64' })).problem!.error).toBe(
    'Contains 2a00:70::9, the address of server calm-otter-101. Exclude it first',
  )
  // A public CIDR is unique in all datacenters, a private one only in its datacenter.
  expect((await at({ cidr: '2a00:70::/64', datacenter_id: poznan.id })).status).toBe(409)
  expect((await at({ datacenter_id: poznan.id })).status).toBe(201)
  const made = await at({ exclude: ['10.70.0.8/30'] })
  expect(made.status).toBe(201)
  expect((await change(made.answer!.id, { exclude: [] })).problem!.error).toBe(sentence)
  expect((await change(made.answer!.id, { exclude: ['10.70.0.9'] })).status).toBe(200)
  // A server that was added later doesn't block a rename.
  await addServer(backend, place.id, 'calm-otter-102', '10.70.0.77')
  expect((await change(made.answer!.id, { vlan_id: 7 })).status).toBe(200)
  expect((await change(made.answer!.id, { first_and_last: true })).status).toBe(200)
  expect((await change(made.answer!.id, { purpose: 'management' })).answer).toMatchObject({
    purpose: 'management',
    used: 1,
  })
  expect((await change(made.answer!.id, { purpose: 'workload' })).problem!.error).toContain(
    'Contains 10.70.0.77',
  )
})

test('a changed subnet is validated with all its fields, and a change without a difference keeps the version', async () => {
  const made = await addSubnet(operator, poznan.id, 'changing', '10.80.0.0/24', {
    gateway: '10.80.0.1',
    exclude: ['10.80.0.9'],
  })
  expect((await change(made.id, { cidr: '10.81.0.0/24' })).problem).toMatchObject({
    code: 'invalid',
    fields: { gateway: 'Gateway must be inside 10.81.0.0/24' },
  })
  expect((await change(made.id, { cidr: '10.80.0.5/24' })).problem!.fields).toEqual({
    cidr: '10.80.0.5/24 is not a network address. Did you mean 10.80.0.0/24?',
  })
  expect((await change(made.id, { gateway: '10.80.0.0' })).status).toBe(422)
  expect((await change(made.id, {})).answer).toMatchObject({ version: 1 })
  expect(
    (await change(made.id, { name: 'changing', exclude: [' 10.80.0.9/32 '], cidr: '10.80.0.0/24' }))
      .answer,
  ).toMatchObject({ version: 1 })
  expect(
    (
      await change(made.id, {
        cidr: '10.80.0.0/23',
        gateway: null,
        exclude: [],
        vlan_id: 12,
        first_and_last: true,
      })
    ).answer,
  ).toMatchObject({
    cidr: '10.80.0.0/23',
    gateway: null,
    exclude: [],
    total: 512,
    version: 2,
  })
  expect((await change(made.id, { datacenter_id: warsaw.id })).problem).toMatchObject({
    code: 'invalid',
    fields: { datacenter_id: 'Unknown field' },
  })
})

test('Services never get the virtual IP of a cluster, whichever was there first', async () => {
  const place = await addDatacenter(operator, 'LCJ')
  const id = await addCluster(backend, place.id, 'has-a-virtual-ip', elsewhere)
  await sql`update cluster set endpoint = 'https://10.71.0.50:6443', virtual_ip = true where id = ${id}`.execute(
    backend.platform.db,
  )
  const sentence =
    'Contains 10.71.0.50, the virtual IP of cluster has-a-virtual-ip. Exclude it first'
  const at = (more: object) => create({ datacenter_id: place.id, cidr: '10.71.0.0/24', ...more })
  expect((await at({})).problem).toMatchObject({
    code: 'conflict',
    error: sentence,
    related: { kind: 'cluster', id, name: 'has-a-virtual-ip' },
  })
  expect((await at({ purpose: 'management', cidr: '10.71.0.48/30' })).status).toBe(201)
  const made = await at({ cidr: '10.71.1.0/24', exclude: ['10.71.1.7'], name: 'of-services' })
  expect(made.status).toBe(201)
  const node_id = await addServer(backend, place.id, 'calm-otter-301', '10.71.1.7', [
    '10.71.1.7/24',
  ])
  const preview = async (endpoint: string) =>
    (
      await operator.call(clusterPreview, {
        body: {
          name: 'later',
          datacenter_id: place.id,
          servers: [{ node_id, role: 'control_plane' as const }],
          endpoint,
          virtual_ip: true,
        },
      })
    ).answer!.checks.filter(({ check }) => check === 'endpoint')
  expect(await preview('10.71.1.8')).toEqual([
    {
      check: 'endpoint',
      ok: false,
      message: '10.71.1.8 is in use by the workload subnet of-services',
    },
  ])
  await change(made.answer!.id, { exclude: ['10.71.1.7', '10.71.1.8'] })
  expect(await preview('10.71.1.8')).toMatchObject([{ ok: true }])
})

test('a change based on an old version is refused with the name of the user who changed the subnet', async () => {
  const made = await addSubnet(operator, poznan.id, 'contended', '10.90.0.0/24')
  const other = await backend.signIn({ role: 'operator' })
  const body = { vlan_id: 90 }
  expect(
    (await other.call(subnetUpdate, { params: { id: made.id }, body }, { ifMatch: 1 })).headers
      .etag,
  ).toBe('"2"')
  const sentence = `Changed by ${other.email} since you opened it. Review the changes`
  expect(await change(made.id, { vlan_id: 91 }, 1)).toMatchObject({
    status: 412,
    problem: { code: 'stale', error: sentence },
  })
  expect(
    await operator.call(subnetRemove, { params: { id: made.id } }, { ifMatch: 1 }),
  ).toMatchObject({ status: 412, problem: { error: sentence } })
  const both = await Promise.all([
    change(made.id, { vlan_id: 92 }, 2),
    change(made.id, { vlan_id: 93 }, 2),
  ])
  expect(new Set(both.map((b) => b.status))).toEqual(new Set([200, 412]))
  expect(
    (await operator.call(subnetRemove, { params: { id: made.id } }, { ifMatch: 3 })).status,
  ).toBe(204)
})

test("an assigned subnet can't be removed, and its CIDR, its purpose and its used addresses are fixed", async () => {
  const place = await addDatacenter(operator, 'LCJ')
  const cluster = await addCluster(backend, place.id, 'gamma', elsewhere)
  const subnet = await addSubnet(operator, place.id, 'assigned', '10.100.0.128/25', {
    gateway: '10.100.0.129',
    exclude: ['10.100.0.200'],
  })
  await assign(backend, subnet, cluster, {
    uses: {
      '10.100.0.140': 'default/web',
      '10.100.0.141': 'default/api',
      '10.100.0.200': 'default/kept',
    },
  })
  expect((await operator.call(subnetGet, { params: { id: subnet.id } })).answer).toMatchObject({
    clusters: [{ id: cluster, name: 'gamma' }],
    status: 'active',
    // The third address is excluded, so the cluster can't assign it.
    used: 2,
    observed_at: expect.any(String) as string,
    version: 1,
  })
  const refused = async (body: object) => (await change(subnet.id, body)).problem
  expect(await refused({ cidr: '10.100.0.128/26' })).toMatchObject({
    code: 'subnet_assigned',
    error: 'This subnet is assigned to gamma. Unassign it before changing the CIDR',
    related: { kind: 'cluster', id: cluster, name: 'gamma' },
  })
  expect(await refused({ purpose: 'management' })).toMatchObject({
    code: 'subnet_assigned',
    fields: { purpose: expect.any(String) as string },
  })
  expect(await refused({ exclude: ['10.100.0.140-10.100.0.150', '10.100.0.200'] })).toMatchObject({
    code: 'subnet_in_use',
    error:
      'In use by cluster gamma: 10.100.0.140 (default/web), 10.100.0.141 (default/api). Free them first',
    fields: { exclude: expect.any(String) as string },
  })
  expect(await refused({ gateway: '10.100.0.141' })).toMatchObject({
    code: 'subnet_in_use',
    fields: { gateway: 'In use by cluster gamma: 10.100.0.141 (default/api). Free it first' },
  })
  // The change allows more addresses. An address that is in use although it is excluded doesn't
  // block the change.
  expect(
    (await change(subnet.id, { exclude: ['10.100.0.200-10.100.0.210'], vlan_id: 3 })).status,
  ).toBe(200)
  expect(await operator.call(subnetRemove, { params: { id: subnet.id } })).toMatchObject({
    status: 409,
    problem: {
      code: 'subnet_in_use',
      error: '2 addresses in use by cluster gamma. Unassign the subnet first',
      related: { kind: 'cluster', id: cluster },
    },
  })
  await sql`delete from subnet_use where subnet_id = ${subnet.id}`.execute(backend.platform.db)
  expect((await operator.call(subnetRemove, { params: { id: subnet.id } })).problem).toMatchObject({
    code: 'subnet_assigned',
    error: 'This subnet is assigned to gamma. Unassign it first',
  })
  await sql`delete from subnet_assignment where subnet_id = ${subnet.id}`.execute(
    backend.platform.db,
  )
  expect((await operator.call(subnetRemove, { params: { id: subnet.id } })).status).toBe(204)
})
