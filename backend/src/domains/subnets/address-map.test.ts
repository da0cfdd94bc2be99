import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { formatAddress, lastOf, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { runsOfParts } from '#contract/network/address-map.ts'
import {
  type AddressRun,
  subnetAddresses,
  type SubnetMap,
  subnetMap,
} from '#contract/network/subnets.ts'
import { startBackend } from '../../testing/backend.ts'
import { leastShare } from '../../testing/shares.ts'
import { addCluster, addDatacenter, addServer, addSubnet, assign } from './testing.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer' })
const operator = await backend.signIn({ role: 'operator' })
const place = await addDatacenter(operator, 'POZ')
const cluster = await addCluster(backend, place.id, 'alpha', {
  pod: '172.16.0.0/16',
  service: '172.17.0.0/16',
})
/**
 * The runs (ranges of equal addresses) of a map. Also checks that `subnetMap` has the same runs.
 */
const mapOf = async (id: string) => {
  const { answer, text } = await viewer.call(subnetAddresses, { params: { id } })
  const { answer: parts } = await viewer.call(subnetMap, { params: { id } })
  if (!answer || !parts) throw new Error(text)
  const written = runsOfParts(parts).map((run) => [
    run.first,
    run.last,
    run.state,
    run.by,
    run.nodeId,
  ])
  expect(written).toEqual(
    answer.runs.map((run) => [
      parseAddress(run.first)!.value,
      parseAddress(run.last)!.value,
      run.state,
      run.by,
      run.node_id,
    ]),
  )
  return answer
}
const shortly = (runs: readonly AddressRun[]) =>
  runs.map((r) => [r.first === r.last ? r.first : `${r.first}-${r.last}`, r.state, r.by])

/** Every address of a CIDR is in exactly one run, in order. */
function expectWhole(text: string, runs: readonly AddressRun[]): void {
  const cidr = parseCidr(text)!
  let next = cidr.base
  for (const { first, last } of runs) {
    expect(parseAddress(first)!.value).toBe(next)
    expect(parseAddress(last)!.value).toBeGreaterThanOrEqual(next)
    next = parseAddress(last)!.value + 1n
  }
  expect(next).toBe(lastOf(cidr) + 1n)
}

test('the map shows each address as free, gateway, excluded, reserved or in use', async () => {
  const server = await addServer(backend, place.id, 'calm-otter-1', '203.0.113.20', [
    '203.0.113.20/26',
    '203.0.113.254/26',
  ])
  const subnet = await addSubnet(operator, place.id, 'front', '203.0.113.0/26', {
    gateway: '203.0.113.1',
    exclude: ['203.0.113.0-203.0.113.3', '203.0.113.18-203.0.113.21', '203.0.113.40'],
  })
  await assign(backend, subnet, cluster, {
    uses: {
      '203.0.113.4': 'default/web',
      '203.0.113.5': 'default/web',
      '203.0.113.40': 'kube-system/dns',
    },
  })
  const { cidr, observed_at, runs } = await mapOf(subnet.id)
  expect([cidr, typeof observed_at]).toEqual(['203.0.113.0/26', 'string'])
  expect(shortly(runs)).toEqual([
    ['203.0.113.0', 'reserved', 'Network address'],
    ['203.0.113.1', 'gateway', null],
    ['203.0.113.2-203.0.113.3', 'excluded', null],
    ['203.0.113.4', 'used', 'default/web'],
    ['203.0.113.5', 'used', 'default/web'],
    ['203.0.113.6-203.0.113.17', 'free', null],
    ['203.0.113.18-203.0.113.19', 'excluded', null],
    ['203.0.113.20', 'used', 'calm-otter-1'],
    ['203.0.113.21', 'excluded', null],
    ['203.0.113.22-203.0.113.39', 'free', null],
    ['203.0.113.40', 'used', 'kube-system/dns'],
    ['203.0.113.41-203.0.113.62', 'free', null],
    ['203.0.113.63', 'reserved', 'Broadcast address'],
  ])
  expect(runs.find((r) => r.by === 'calm-otter-1')!.node_id).toBe(server)
  expectWhole(cidr, runs)
})

test("the map of a management subnet shows the servers of its datacenter, even if a server has the gateway's address", async () => {
  const other = await addDatacenter(operator, 'WAW')
  await addServer(backend, place.id, 'router', '10.5.0.1', ['10.5.0.1/24'])
  await addServer(backend, other.id, 'far', '10.5.0.9')
  await addServer(backend, null, 'nowhere', '10.5.0.10')
  const subnet = await addSubnet(operator, place.id, 'racks', '10.5.0.0/29', {
    purpose: 'management',
    gateway: '10.5.0.1',
  })
  expect(shortly((await mapOf(subnet.id)).runs)).toEqual([
    ['10.5.0.0', 'reserved', 'Network address'],
    ['10.5.0.1', 'gateway', 'router'],
    ['10.5.0.2-10.5.0.6', 'free', null],
    ['10.5.0.7', 'reserved', 'Broadcast address'],
  ])
})

test.each([
  ['10.6.0.0/31', {}, [['10.6.0.0-10.6.0.1', 'free', null]]],
  ['10.6.1.7/32', {}, [['10.6.1.7', 'free', null]]],
  [
    '10.6.2.0/30',
    { first_and_last: true, exclude: ['10.6.2.0'] },
    [
      ['10.6.2.0', 'excluded', null],
      ['10.6.2.1-10.6.2.3', 'free', null],
    ],
  ],
  [
    'fd00:6::/64',
    { gateway: 'fd00:6::1' },
    [
      ['fd00:6::', 'reserved', 'Subnet-router anycast address'],
      ['fd00:6::1', 'gateway', null],
      ['fd00:6::2-fd00:6::ffff:ffff:ffff:ffff', 'free', null],
    ],
  ],
  ['fd00:7::/127', {}, [['fd00:7::-fd00:7::1', 'free', null]]],
  [
    'fd00:8::/126',
    { gateway: 'fd00:8::' },
    [
      ['fd00:8::', 'gateway', null],
      ['fd00:8::1-fd00:8::3', 'free', null],
    ],
  ],
] as [string, object, unknown[]][])(
  'the map of %s with %j has the expected ranges',
  async (cidr, more, runs) => {
    const subnet = await addSubnet(
      operator,
      place.id,
      `s-${cidr.replaceAll(/[^0-9a-f]/g, '')}`,
      cidr,
      more,
    )
    expect(shortly((await mapOf(subnet.id)).runs)).toEqual(runs)
  },
)

test('an address shared by two Services is listed once, with both names', async () => {
  const subnet = await addSubnet(operator, place.id, 'shared', '10.7.0.0/30')
  await assign(backend, subnet, cluster, { uses: { '10.7.0.1': 'default/a, default/b' } })
  expect(shortly((await mapOf(subnet.id)).runs)[1]).toEqual([
    '10.7.0.1',
    'used',
    'default/a, default/b',
  ])
})

const most = 15

/** The drawn runs, and the time from the request to them as a share of a small query. */
async function quickest(id: string): Promise<{ share: number; runs: number }> {
  let runs = 0
  const share = await leastShare(backend.platform.db, most, async () => {
    const response = await backend.app.inject({
      url: `/v1/subnets/${id}/map`,
      headers: { authorization: `Bearer ${viewer.accessToken}` },
    })
    runs = runsOfParts(JSON.parse(response.body) as SubnetMap).length
  })
  return { share, runs }
}

test('the map of 65,536 addresses takes at most 15 times as long as a small query, whether they are free or in use', async () => {
  const subnet = await addSubnet(operator, place.id, 'large', '10.8.0.0/16', {
    gateway: '10.8.0.1',
  })
  await assign(backend, subnet, cluster)
  const free = await quickest(subnet.id)
  expect(free.runs).toBe(4)
  expect(free.share).toBeLessThan(most)
  await sql`insert into subnet_use (subnet_id, cluster_id, address, used_by)
    select ${subnet.id}, ${cluster}, '10.8.0.0'::inet + n, 'default/service-' || n from generate_series(2, 65534) n`.execute(
    backend.platform.db,
  )
  const { share, runs } = await quickest(subnet.id)
  expect(runs).toBe(65_536)
  expect(share).toBeLessThan(most)
  const whole = await mapOf(subnet.id)
  expectWhole(whole.cidr, whole.runs)
  expect(whole.runs[300]).toMatchObject({
    first: formatAddress({ family: 4, value: parseAddress('10.8.0.0')!.value + 300n }),
    by: 'default/service-300',
  })
})
