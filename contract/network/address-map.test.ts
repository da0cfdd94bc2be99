import { expect, test } from 'vitest'
import { addressValue, declaredRuns, runsOfParts } from './address-map.ts'
import { formatAddress, lastOf, parseAddress, parseCidr } from './addresses.ts'
import { totalOf } from './subnet-rules.ts'

const plain = { gateway: null, vlan_id: null, exclude: [], first_and_last: false }
const shown = (subnet: Parameters<typeof declaredRuns>[0]) =>
  declaredRuns(subnet)!.runs.map(({ first, last, state }) =>
    [
      state,
      formatAddress({ family: 4, value: first }),
      formatAddress({ family: 4, value: last }),
    ].join(' '),
  )

test('a new subnet shows network, gateway, exclusions, free addresses and broadcast', () => {
  expect(
    shown({
      ...plain,
      cidr: '203.0.113.0/26',
      gateway: '203.0.113.1',
      exclude: ['203.0.113.2-203.0.113.9', '203.0.113.1'],
    }),
  ).toEqual([
    'reserved 203.0.113.0 203.0.113.0',
    'gateway 203.0.113.1 203.0.113.1',
    'excluded 203.0.113.2 203.0.113.9',
    'free 203.0.113.10 203.0.113.62',
    'reserved 203.0.113.63 203.0.113.63',
  ])
})

test.each([
  { ...plain, cidr: '10.0.0.0/29' },
  {
    ...plain,
    cidr: '10.0.0.0/29',
    first_and_last: true,
    exclude: ['10.0.0.0', '10.0.0.3-10.0.0.4, 10.0.0.4-10.0.0.6'],
  },
  { ...plain, cidr: '10.0.0.0/31' },
  { ...plain, cidr: '10.0.0.7/32' },
  { ...plain, cidr: '2001:db8::/64', gateway: '2001:db8::1', exclude: ['2001:db8::/120'] },
  { ...plain, cidr: '10.0.0.0/24', gateway: '10.0.0.254', exclude: ['10.0.0.0/25', '10.0.0.255'] },
])(
  'the ranges of the map of $cidr cover each address exactly once, and their free addresses add up to the total of the subnet',
  (subnet) => {
    const { cidr, runs } = declaredRuns(subnet)!
    expect(runs[0]!.first).toBe(parseCidr(subnet.cidr)!.base)
    expect(runs.at(-1)!.last).toBe(lastOf(cidr))
    runs.slice(1).forEach((run, i) => expect(run.first).toBe(runs[i]!.last + 1n))
    expect(
      runs.reduce((sum, run) => sum + (run.state === 'free' ? run.last - run.first + 1n : 0n), 0n),
    ).toBe(totalOf(subnet))
  },
)

test('an invalid subnet has no map', () => {
  expect(declaredRuns({ ...plain, cidr: '10.0.0.1/24' })).toBe(null)
  expect(declaredRuns({ ...plain, cidr: '10.0.0.0/24', exclude: ['x'] })).toBe(null)
  expect(
    declaredRuns({ ...plain, cidr: '10.0.0.0/24', gateway: '10.0.1.1' })!.runs.map(
      (run) => run.state,
    ),
  ).toEqual(['reserved', 'free', 'reserved'])
})

test.each(['0.0.0.0', '10.8.200.7', '255.255.255.255', '::', '2001:db8::7'])(
  'addressValue returns the same value for %s as parseAddress',
  (text) => {
    expect(addressValue(text)).toBe(parseAddress(text)!.value)
  },
)

test('an address that a Service and a server have is shown with the Service, and the gateway stays marked as gateway', () => {
  const free = (first: string, last = first) => ({ first, last, state: 'free' as const, by: null })
  const runs = runsOfParts({
    runs: [
      { ...free('10.0.0.0'), state: 'reserved', by: 'Network address' },
      { ...free('10.0.0.1'), state: 'gateway' },
      free('10.0.0.2', '10.0.0.7'),
    ],
    used: { addresses: '10.0.0.1 10.0.0.4 10.0.0.4 10.0.0.7', by: 'a/edge\na/web\nb/web\na/last' },
    servers: ['10.0.0.3', '10.0.0.3', '10.0.0.4'].map((address, i) => ({
      address,
      by: `server-${i}`,
      node_id: `id-${i}`,
    })),
  })
  expect(
    runs.map(({ first, last, state, by, nodeId }) => [
      formatAddress({ family: 4, value: first }),
      Number(last - first) + 1,
      state,
      by,
      nodeId,
    ]),
  ).toEqual([
    ['10.0.0.0', 1, 'reserved', 'Network address', null],
    ['10.0.0.1', 1, 'gateway', 'a/edge', null],
    ['10.0.0.2', 1, 'free', null, null],
    ['10.0.0.3', 1, 'used', 'server-0', 'id-0'],
    ['10.0.0.4', 1, 'used', 'a/web, b/web', null],
    ['10.0.0.5', 2, 'free', null, null],
    ['10.0.0.7', 1, 'used', 'a/last', null],
  ])
})
