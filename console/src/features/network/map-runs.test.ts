import { expect, test } from 'vitest'
import { formatAddress, lastOf, parseCidr } from '#contract/addresses.ts'
import { totalOf } from '#contract/subnet-rules.ts'
import { readRuns, runsOfText } from './map-runs.ts'

const plain = { gateway: null, vlan_id: null, exclude: [], first_and_last: false }
const shown = (subnet: Parameters<typeof runsOfText>[0]) =>
  runsOfText(subnet)!.runs.map(({ first, last, state }) =>
    [state, formatAddress({ family: 4, value: first }), formatAddress({ family: 4, value: last })].join(' '),
  )

test('a new subnet: network, gateway, exclusions, what is left, broadcast', () => {
  expect(shown({ ...plain, cidr: '203.0.113.0/26', gateway: '203.0.113.1', exclude: ['203.0.113.2-203.0.113.9', '203.0.113.1'] })).toEqual([
    'reserved 203.0.113.0 203.0.113.0',
    'gateway 203.0.113.1 203.0.113.1',
    'excluded 203.0.113.2 203.0.113.9',
    'free 203.0.113.10 203.0.113.62',
    'reserved 203.0.113.63 203.0.113.63',
  ])
})

test.each([
  { ...plain, cidr: '10.0.0.0/29' },
  { ...plain, cidr: '10.0.0.0/29', first_and_last: true, exclude: ['10.0.0.0', '10.0.0.3-10.0.0.4, 10.0.0.4-10.0.0.6'] },
  { ...plain, cidr: '10.0.0.0/31' },
  { ...plain, cidr: '10.0.0.7/32' },
  { ...plain, cidr: '2001:db8::/64', gateway: '2001:db8::1', exclude: ['2001:db8::/120'] },
  { ...plain, cidr: '10.0.0.0/24', gateway: '10.0.0.254', exclude: ['10.0.0.0/25', '10.0.0.255'] },
])('the runs are the whole of $cidr, each address once, and as many are free as may be handed out', (subnet) => {
  const { cidr, runs } = runsOfText(subnet)!
  expect(runs[0]!.first).toBe(parseCidr(subnet.cidr)!.base)
  expect(runs.at(-1)!.last).toBe(lastOf(cidr))
  runs.slice(1).forEach((run, i) => expect(run.first).toBe(runs[i]!.last + 1n))
  expect(runs.reduce((sum, run) => sum + (run.state === 'free' ? run.last - run.first + 1n : 0n), 0n)).toBe(totalOf(subnet))
})

test('no map of what is not valid', () => {
  expect(runsOfText({ ...plain, cidr: '10.0.0.1/24' })).toBe(null)
  expect(runsOfText({ ...plain, cidr: '10.0.0.0/24', exclude: ['x'] })).toBe(null)
})

test('the answer of the API keeps who has an address', () => {
  expect(
    readRuns([
      { first: '10.0.0.0', last: '10.0.0.0', state: 'reserved', by: 'network address', node_id: null },
      { first: '10.0.0.1', last: '10.0.0.1', state: 'used', by: 'web/gateway', node_id: null },
    ]),
  ).toEqual([
    { first: 167_772_160n, last: 167_772_160n, state: 'reserved', by: 'network address', nodeId: null },
    { first: 167_772_161n, last: 167_772_161n, state: 'used', by: 'web/gateway', nodeId: null },
  ])
})
