import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { formatAddress, lastOf, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import {
  subnetGet,
  subnetList,
  subnetUpdate,
  type SubnetStatus,
} from '#contract/network/subnets.ts'
import { startBackend } from '../../testing/backend.ts'
import { leastShare } from '../../testing/shares.ts'
import { addCluster, addDatacenter, addServer, addSubnet, assign } from './testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const poznan = await addDatacenter(operator, 'POZ')
const warsaw = await addDatacenter(operator, 'WAW')
const networks = { pod: '172.16.0.0/16', service: '172.17.0.0/16' }
const alpha = await addCluster(backend, poznan.id, 'alpha', networks)
const beta = await addCluster(backend, poznan.id, 'beta', networks)

const states: Record<
  string,
  {
    state: Exclude<SubnetStatus, 'unassigned'>
    cluster: string
    uses: Record<string, string> | null
    reason?: string
  }
> = {
  'a-front': {
    state: 'active',
    cluster: beta,
    uses: { '203.0.113.5': 'default/web', '203.0.113.6': 'default/api' },
  },
  'b-back': { state: 'applying', cluster: alpha, uses: null, reason: 'Waiting for the cluster' },
  'c-six': { state: 'draining', cluster: alpha, uses: { '2001:db8:77::5': 'default/six' } },
  'd-broken': {
    state: 'error',
    cluster: beta,
    uses: { '10.1.4.9': 'default/x' },
    reason: 'The pool conflicts with another one',
  },
}
const declared: [string, string, string, object][] = [
  ['a-front', poznan.id, '203.0.113.0/29', { gateway: '203.0.113.1', vlan_id: 30 }],
  ['b-back', poznan.id, '10.1.0.0/22', { gateway: '10.1.0.1' }],
  ['c-six', poznan.id, '2001:db8:77::/64', { vlan_id: 4 }],
  ['d-broken', poznan.id, '10.1.4.0/24', {}],
  ['e-free', warsaw.id, '10.1.0.0/24', { vlan_id: 100, gateway: '10.1.0.254' }],
  ['f-servers', poznan.id, '10.200.0.0/24', { purpose: 'management' }],
]
for (const [name, place, cidr, more] of declared) {
  const subnet = await addSubnet(operator, place, name, cidr, more)
  const { cluster, ...assigned } = states[name] ?? {}
  if (cluster) await assign(backend, subnet, cluster, assigned)
  if (subnet.purpose === 'management')
    for (const id of [alpha, beta]) await assign(backend, subnet, id, { uses: null })
}
await addServer(backend, poznan.id, 'calm-otter-1', '10.200.0.10', [
  '10.200.0.10/24',
  '10.200.0.11/24',
])
await addServer(backend, warsaw.id, 'calm-otter-2', '10.200.0.12')

const list = async (query: object) => {
  const { answer, text } = await operator.call(subnetList, { query })
  if (!answer) throw new Error(text)
  return answer
}
const names = async (query: object) => (await list(query)).items.map((s) => s.name[0]).join('')

test.each([
  ['an address in a subnet', '203.0.113.7', 'a'],
  ['an address that is in two places', '10.1.0.9', 'be'],
  ['an address in none', '192.0.2.1', ''],
  ['the network address, in full', '2001:db8:77::', 'c'],
  ['another spelling of an address', '2001:0DB8:0077:0000:0000:0000:0000:0005', 'c'],
  ['a CIDR', '10.1.0.0/22', 'be'],
  ['another spelling of a CIDR', '2001:0DB8:77:0::/64', 'c'],
  ['a CIDR with host bits', '10.1.4.77/24', 'd'],
  ['a larger CIDR', '10.0.0.0/8', 'bdef'],
  ['part of an IPv4 CIDR', '10.1.', 'bde'],
  ['part of an IPv6 CIDR', '2001:0DB8:0077', 'c'],
  ['a prefix length', '/24', 'def'],
  ['part of a name', 'FREE', 'e'],
  ['a wildcard of SQL', '%', ''],
  ['an underscore', '_', ''],
  ['an injection', "' or 1=1 --", ''],
  ['an octal address', '010.1.0.9', ''],
])('a search for %s finds the right subnets', async (_what, q, found) =>
  expect(await names({ q })).toBe(found),
)

test.each([
  [{ status: 'active' }, 'af'],
  [{ status: 'unassigned' }, 'e'],
  [{ status: 'error' }, 'd'],
  [{ cluster: 'alpha' }, 'bcf'],
  [{ cluster: beta }, 'adf'],
  [{ cluster: 'none' }, ''],
  [{ datacenter: warsaw.code }, 'e'],
  [{ datacenter: poznan.id }, 'abcdf'],
  [{ type: 'IPv6' }, 'c'],
  [{ purpose: 'management' }, 'f'],
  [{ datacenter: poznan.code, type: 'IPv4', cluster: 'beta', q: '10.' }, 'df'],
])('filtering by %j returns the right subnets', async (query, found) =>
  expect(await names(query)).toBe(found),
)

test('an unknown filter, column or page is refused', async () => {
  for (const query of [
    { state: 'active' },
    { status: 'gone' },
    { sort: 'total' },
    { page: 0 },
    { per_page: 1001 },
    { q: 'x'.repeat(201) },
  ])
    expect((await operator.call(subnetList, { query: query as never })).status).toBe(400)
})

test.each([
  ['name', 'abcdef'],
  ['-name', 'fedcba'],
  ['type', 'abdefc'],
  ['cidr', 'bedfac'],
  ['-cidr', 'cafdeb'],
  ['gateway', 'beacdf'],
  ['vlan_id', 'caebdf'],
  ['-vlan_id', 'eacbdf'],
  ['datacenter', 'abcdfe'],
  ['cluster', 'bcfade'],
  ['-cluster', 'adbcfe'],
  ['used', 'ecdfab'],
  ['-used', 'afdceb'],
  ['status', 'dcbafe'],
])('sorting by %s puts subnets without a value last', async (sort, order) =>
  expect(await names({ sort })).toBe(order),
)

test('the second page continues after the first', async () => {
  expect(await list({ per_page: 4, page: 2, sort: '-name' })).toMatchObject({
    page: 2,
    per_page: 4,
    total: 6,
    items: [{ name: 'b-back' }, { name: 'a-front' }],
  })
  expect(await names({ page: 7, per_page: 4 })).toBe('')
})

test('the list shows status, reason and used addresses, with null for unknown values', async () => {
  const items = new Map((await list({})).items.map((s) => [s.name, s]))
  expect(items.get('a-front')).toMatchObject({
    status: 'active',
    used: 2,
    total: 5,
    clusters: [{ id: beta, name: 'beta' }],
    observed_at: expect.any(String) as string,
  })
  expect(items.get('b-back')).toMatchObject({
    status: 'applying',
    reason: 'Waiting for the cluster',
    used: null,
    observed_at: null,
  })
  expect(items.get('c-six')).toMatchObject({
    status: 'draining',
    type: 'IPv6',
    used: 1,
    total: null,
  })
  expect(items.get('d-broken')).toMatchObject({
    status: 'error',
    reason: 'The pool conflicts with another one',
  })
  expect(items.get('e-free')).toMatchObject({
    status: 'unassigned',
    reason: null,
    used: 0,
    clusters: [],
  })
  // Servers of the subnet's datacenter use the addresses of a management subnet.
  expect(items.get('f-servers')).toMatchObject({
    purpose: 'management',
    status: 'active',
    used: 2,
    clusters: [{ name: 'alpha' }, { name: 'beta' }],
  })
})

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** A separate backend for one test, with a datacenter and a cluster. */
async function ownWorld() {
  const own = await startBackend()
  const by = { backend: own, operator: await own.signIn({ role: 'operator' }) }
  const { id: place } = await addDatacenter(by.operator, 'POZ')
  return { by, place, cluster: await addCluster(own, place, 'alpha', networks) }
}

test('on random subnets, the number of used addresses agrees with an address-by-address count', async () => {
  const { by, place, cluster } = await ownWorld()
  const random = seeded(3)
  for (let n = 0; n < 40; n++) {
    const family = n % 4 === 3 ? 6 : 4
    const bits = family === 4 ? 32 : 128
    const prefix = bits - Math.floor(random() * 9)
    const cidr = parseCidr(family === 4 ? `100.64.${n}.0/${prefix}` : `fd00:${n}::/${prefix}`)!
    const spell = (value: bigint) => formatAddress({ family, value })
    const every = Array.from(
      { length: Number(lastOf(cidr) - cidr.base) + 1 },
      (_, i) => cidr.base + BigInt(i),
    )
    const any = () => every[Math.floor(random() * every.length)]!
    const [from, to] = [any(), any()].toSorted((a, b) => (a < b ? -1 : 1))
    const gateway = prefix <= bits - 2 && random() < 0.5 ? cidr.base + 1n : null
    const excluded = random() < 0.6 ? every.filter((v) => v >= from! && v <= to!) : []
    const firstAndLast = random() < 0.3
    const isEnd = (v: bigint) =>
      !firstAndLast &&
      prefix <= bits - 2 &&
      (v === cidr.base || (family === 4 && v === lastOf(cidr)))
    const handedOut = every.filter((v) => !isEnd(v) && v !== gateway && !excluded.includes(v))
    if (handedOut.length === 0) continue
    const subnet = await addSubnet(
      by.operator,
      place,
      `random-${n}`,
      `${spell(cidr.base)}/${prefix}`,
      {
        gateway: gateway === null ? null : spell(gateway),
        exclude: excluded.length === 0 ? [] : [`${spell(from!)}-${spell(to!)}`],
        first_and_last: firstAndLast,
      },
    )
    const used = every.filter(() => random() < 0.4)
    await assign(by.backend, subnet, cluster, {
      uses: Object.fromEntries(used.map((v) => [spell(v), 'default/any'])),
    })
    const { answer } = await by.operator.call(subnetGet, { params: { id: subnet.id } })
    expect([answer!.cidr, answer!.total, answer!.used]).toEqual([
      subnet.cidr,
      handedOut.length,
      used.filter((v) => handedOut.includes(v)).length,
    ])
  }
})

test('a subnet with a thousand exclusions and tens of thousands of addresses in use is shown within a second', async () => {
  const { by, place, cluster } = await ownWorld()
  const { db } = by.backend.platform
  const exclude = Array.from(
    { length: 1000 },
    (_, i) => `10.33.${i >> 2}.${10 + 60 * (i & 3)}-10.33.${i >> 2}.${12 + 60 * (i & 3)}`,
  )
  const subnet = await addSubnet(by.operator, place, 'h-large', '10.33.0.0/16', {
    gateway: '10.33.0.1',
    exclude,
  })
  await assign(by.backend, subnet, cluster, { uses: { '10.33.0.2': 'default/a' } })
  await sql`insert into subnet_use (subnet_id, cluster_id, address, used_by)
    select ${subnet.id}, ${cluster}, '10.33.0.0'::inet + n, 'default/service-' || n from generate_series(3, 30002) n`.execute(
    db,
  )
  const read = async () =>
    (await by.operator.call(subnetGet, { params: { id: subnet.id } })).answer!
  expect(await leastShare(db, 50, read)).toBeLessThan(50)
  const { used } = await read()
  // Exclusions between 10.33.0.2 and 10.33.117.50: four ranges of three addresses in each full
  // block of 256, and one range in the last 51 addresses.
  expect(used).toBe(30_001 - 117 * 12 - 3)
})

test('addresses are formatted as PostgreSQL formats them', async () => {
  const random = seeded(11)
  const values = Array.from({ length: 500 }, () => {
    const groups = Array.from({ length: 8 }, () =>
      random() < 0.5 ? 0n : BigInt(Math.floor(random() * 65_536)),
    )
    return (0x2001n << 112n) | (groups.reduce((v, g) => (v << 16n) | g, 0n) & ((1n << 112n) - 1n))
  }).map((value) => formatAddress({ family: 6, value }))
  const { rows } = await sql<{
    text: string
  }>`select host(a::inet) as text from unnest(${values}::text[]) with ordinality as u (a, n) order by n`.execute(
    backend.platform.db,
  )
  expect(rows.map((r) => r.text)).toEqual(values)
  expect(values.every((v) => parseAddress(v) !== null)).toBe(true)
})

test('a list of ten thousand subnets is searched and sorted in at most fifty times the time of a small query', async () => {
  const own = await startBackend()
  const by = await own.signIn({ role: 'operator' })
  const place = await addDatacenter(by, 'BIG')
  await sql`insert into subnet (name, datacenter_id, cidr, total, created_at, updated_at, updated_by)
    select 'n-' || n, ${place.id}, ('10.' || n / 256 || '.' || n % 256 || '.0/24')::cidr, 254, now(), now(), 'test' from generate_series(0, 9999) n`.execute(
    own.platform.db,
  )
  for (const query of [
    {},
    { sort: '-used' as const },
    { q: '10.20.3.4' },
    { q: '20.3', sort: 'cidr' as const, per_page: 1000 },
  ]) {
    const list = async () =>
      expect((await by.call(subnetList, { query })).answer!.total).toBeGreaterThan(0)
    expect(await leastShare(own.platform.db, 50, list)).toBeLessThan(50)
  }
  expect(
    (
      await by.call(subnetUpdate, {
        params: { id: (await by.call(subnetList)).answer!.items[0]!.id },
        body: { cidr: '10.0.1.0/24' },
      })
    ).problem,
  ).toMatchObject({
    error: `Overlaps with subnet n-1 (10.0.1.0/24) in ${place.code}`,
  })
})
