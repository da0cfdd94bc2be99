import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { formatCidr, parseCidr } from './addresses.ts'
import {
  canHaveExclusions,
  isPrivate,
  mostExclusions,
  mostExclusionsInAll,
  readSubnetCidr,
  subnetProblems,
  type SubnetText,
  subnetWarnings,
  totalOf,
  utilisation,
} from './subnet-rules.ts'
import {
  canAssignSubnet,
  canChangeCidr,
  canChangePurpose,
  canRemoveSubnet,
  NewSubnet,
} from './subnets.ts'

const example = 'Enter a subnet in CIDR notation, for example 203.0.113.0/24'
const text = (more: Partial<SubnetText> = {}): SubnetText => ({
  cidr: '203.0.113.0/24',
  gateway: null,
  vlan_id: null,
  exclude: [],
  first_and_last: false,
  ...more,
})

test.each([
  ['', 'CIDR is required'],
  ['   ', 'CIDR is required'],
  // Wrong number of octets, leading zeros (octal in other programs), hexadecimal, no mask, an
  // invalid mask.
  ['10.9/16', example],
  ['10.0.0.0', example],
  ['2001:db8::', example],
  ['010.0.3.0/24', example],
  ['10.0.0.0/08', example],
  ['10.0.0.0/0x18', example],
  ['10.0.0.0/+24', example],
  ['10.0.0.0/-1', example],
  ['10.0.0.0/24.0', example],
  ['10.0.0.0/', example],
  ['/24', example],
  ['10.0.0.0/24/24', example],
  ['10.0.0.0/255.255.255.0', example],
  ['10.0.0.0 /24', example],
  ['10.0.0/24', example],
  ['0x0a.0.0.0/8', example],
  ['167772160/8', example],
  ['256.0.0.0/8', example],
  ['１０.0.0.0/8', example],
  ['١٠.0.0.0/8', example],
  ['fe80::%eth0/64', example],
  ['2001:db8::%1/64', example],
  ['::ffff:10.0.0.0/120', example],
  ['::ffff:a00:0/120', example],
  ['2001:db8::1::/64', example],
  ['2001:db8:::/64', example],
  ['12345::/64', example],
  ["203.0.113.0/24' or 1=1 --", example],
  ['<script>', example],
  ['front', example],
  // Host bits.
  [
    '203.0.113.5/24',
    '203.0.113.5/24 is not a network address. Did you mean 203.0.113.0/24?',
    '203.0.113.0/24',
  ],
  ['10.1.2.3/8', '10.1.2.3/8 is not a network address. Did you mean 10.0.0.0/8?', '10.0.0.0/8'],
  [
    '2001:DB8::1/64',
    '2001:DB8::1/64 is not a network address. Did you mean 2001:db8::/64?',
    '2001:db8::/64',
  ],
  // The corrected value would be invalid too, so it isn't suggested.
  ['127.0.0.1/8', '127.0.0.0/8 is a loopback range and cannot be used'],
  ['10.0.0.1/7', '10.0.0.0/7 contains private range 10.0.0.0/8; enter smaller subnets'],
  // Bounds of the prefix.
  ['203.0.113.0/33', 'Prefix length must be between /8 and /32'],
  ['203.0.113.0/99', 'Prefix length must be between /8 and /32'],
  ['8.0.0.0/7', 'Prefix length must be between /8 and /32'],
  ['2001:db8::/129', 'Prefix length must be between /32 and /128'],
  ['2a00::/31', 'Prefix length must be between /32 and /128'],
  // Special ranges, and networks that contain a special range.
  ['127.0.0.0/8', '127.0.0.0/8 is a loopback range and cannot be used'],
  ['127.8.0.0/24', '127.0.0.0/8 is a loopback range and cannot be used'],
  ['169.254.0.0/16', '169.254.0.0/16 is a link-local range and cannot be used'],
  ['224.0.0.0/24', '224.0.0.0/4 is a multicast range and cannot be used'],
  ['240.0.0.0/24', '240.0.0.0/4 is a reserved range and cannot be used'],
  ['255.255.255.255/32', '240.0.0.0/4 is a reserved range and cannot be used'],
  ['0.0.0.0/8', '0.0.0.0/8 is a "this network" range and cannot be used'],
  ['::1/128', '::/127 is a loopback range and cannot be used'],
  ['64:ff9b::/96', '::/8 is a reserved range and cannot be used'],
  ['::808:0/112', '::/8 is a reserved range and cannot be used'],
  ['fe80::/64', 'fe80::/10 is a link-local range and cannot be used'],
  ['ff02::/64', 'ff00::/8 is a multicast range and cannot be used'],
  ['0.0.0.0/0', '0.0.0.0/0 contains "this network" range 0.0.0.0/8; enter smaller subnets'],
  ['10.0.0.0/7', '10.0.0.0/7 contains private range 10.0.0.0/8; enter smaller subnets'],
  ['172.0.0.0/8', '172.0.0.0/8 contains private range 172.16.0.0/12; enter smaller subnets'],
  ['192.0.0.0/8', '192.0.0.0/8 contains private range 192.168.0.0/16; enter smaller subnets'],
  ['100.0.0.0/8', '100.0.0.0/8 contains private range 100.64.0.0/10; enter smaller subnets'],
  ['169.0.0.0/8', '169.0.0.0/8 contains link-local range 169.254.0.0/16; enter smaller subnets'],
  ['fc00::/6', 'fc00::/6 contains link-local range fe80::/10; enter smaller subnets'],
  ['::/0', '::/0 contains loopback range ::/127; enter smaller subnets'],
])('the CIDR %j is refused: %s', (entered, reason, corrected: string | null = null) =>
  expect(readSubnetCidr(entered)).toEqual({ ok: false, reason, corrected }),
)

test.each([
  ['203.0.113.0/24', '203.0.113.0/24'],
  ['  203.0.113.0/24\n', '203.0.113.0/24'],
  ['203.0.113.7/32', '203.0.113.7/32'],
  ['8.0.0.0/8', '8.0.0.0/8'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['2001:0DB8:0000:0000:0000:0000:0000:0000/32', '2001:db8::/32'],
  ['FD00::/48', 'fd00::/48'],
  ['2001:db8::1/128', '2001:db8::1/128'],
])('the CIDR %j is accepted as %s', (entered, canonical) => {
  const read = readSubnetCidr(entered)
  expect(read.ok && formatCidr(read.cidr)).toBe(canonical)
})

test.each([
  ['203.0.114.1', '203.0.113.0/24', 'Gateway must be inside 203.0.113.0/24'],
  ['2001:db8::1', '203.0.113.0/24', 'Gateway must be inside 203.0.113.0/24'],
  ['203.0.113.0', '203.0.113.0/24', 'Gateway cannot be the network or broadcast address'],
  ['203.0.113.255', '203.0.113.0/24', 'Gateway cannot be the network or broadcast address'],
  ['203.0.113.3', '203.0.113.0/30', 'Gateway cannot be the network or broadcast address'],
  ['203.0.113.0', '203.0.113.0/32', 'A /32 subnet has no room for a gateway'],
  ['203.0.113.1', '203.0.113.0/32', 'A /32 subnet has no room for a gateway'],
  ['2001:db8::', '2001:db8::/128', 'A /128 subnet has no room for a gateway'],
  ['', '203.0.113.0/24', 'Gateway must be an IP address'],
  ['203.0.113.1/24', '203.0.113.0/24', 'Gateway must be an IP address'],
  ['203.0.113.01', '203.0.113.0/24', 'Gateway must be an IP address'],
  ['router.example', '203.0.113.0/24', 'Gateway must be an IP address'],
  ['203.0.113.1', '203.0.113.0/24', undefined],
  ['203.0.113.0', '203.0.113.0/31', undefined],
  ['203.0.113.1', '203.0.113.0/31', undefined],
  ['2001:db8::', '2001:db8::/64', undefined],
])('the error for gateway %j in %s is: %s', (gateway, cidr, message) =>
  expect(subnetProblems(text({ cidr, gateway })).fields['gateway']).toBe(message),
)

test.each([
  [['203.0.113.10', 'first'], 'Line 2: "first" is not an IP address, CIDR or range'],
  [['203.0.113.10,, 203.0.113.011'], 'Line 1: "203.0.113.011" is not an IP address, CIDR or range'],
  [['203.0.113.5/28'], 'Line 1: "203.0.113.5/28" is not an IP address, CIDR or range'],
  [['203.0.113.5-9'], 'Line 1: "203.0.113.5-9" is not an IP address, CIDR or range'],
  [
    ['203.0.113.5-203.0.113.9-203.0.113.12'],
    'Line 1: "203.0.113.5-203.0.113.9-203.0.113.12" is not an IP address, CIDR or range',
  ],
  [
    ['203.0.113.5-2001:db8::1'],
    'Line 1: "203.0.113.5-2001:db8::1" is not an IP address, CIDR or range',
  ],
  [['-203.0.113.5'], 'Line 1: "-203.0.113.5" is not an IP address, CIDR or range'],
  [['x'.repeat(100)], `Line 1: "${'x'.repeat(80)}…" is not an IP address, CIDR or range`],
  [['', '', '203.0.113.9-203.0.113.5'], 'Line 3: range end is before its start'],
  [['203.0.114.1'], 'Line 1: 203.0.114.1 is outside 203.0.113.0/24'],
  [['203.0.113.250-203.0.114.1'], 'Line 1: 203.0.113.250-203.0.114.1 is outside 203.0.113.0/24'],
  [['203.0.112.0/23'], 'Line 1: 203.0.112.0/23 is outside 203.0.113.0/24'],
  [['2001:db8::1'], 'Line 1: 2001:db8::1 is outside 203.0.113.0/24'],
  [['203.0.113.0/24'], 'No usable addresses remain after exclusions'],
  [['203.0.113.1-203.0.113.254'], 'No usable addresses remain after exclusions'],
  [Array.from({ length: mostExclusions + 1 }, () => '203.0.113.9'), 'At most 1000 exclusions'],
  [
    [Array.from({ length: mostExclusions + 1 }, () => '203.0.113.9').join()],
    'At most 1000 exclusions',
  ],
  [['203.0.113.0-203.0.113.253'], undefined],
])('the error for the exclusions %j is: %s', (exclude, message) =>
  expect(subnetProblems(text({ exclude })).fields['exclude']).toBe(message),
)

test('with first_and_last, exclusions may cover all addresses but one', () => {
  expect(
    subnetProblems(text({ exclude: ['203.0.113.1-203.0.113.254'], first_and_last: true })).fields,
  ).toEqual({})
  // Errors that don't depend on the network are reported together with a wrong network.
  expect(
    subnetProblems(text({ cidr: '203.0.113.5/26', gateway: 'router', exclude: ['203.0.113.900'] }))
      .fields,
  ).toEqual({
    cidr: '203.0.113.5/26 is not a network address. Did you mean 203.0.113.0/26?',
    gateway: 'Gateway must be an IP address',
    exclude: 'Line 1: "203.0.113.900" is not an IP address, CIDR or range',
  })
  expect(
    subnetProblems(text({ exclude: ['203.0.113.0-203.0.113.254'], gateway: '203.0.113.1' })).fields,
  ).toEqual({
    exclude: 'No usable addresses remain after exclusions',
  })
})

test.each([
  ['203.0.113.0/24', 254n],
  ['203.0.113.0/30', 2n],
  ['203.0.113.0/31', 2n],
  ['203.0.113.0/32', 1n],
  ['2001:db8::/64', 2n ** 64n - 1n],
  ['2001:db8::/126', 3n],
  ['2001:db8::/127', 2n],
  ['2001:db8::/128', 1n],
])('%s has %s usable addresses', (cidr, usable) => expect(totalOf(text({ cidr }))).toBe(usable))

test('unwise subnets are allowed with a warning', () => {
  expect(subnetWarnings(text({ cidr: '8.8.8.0/24' }))).toEqual([])
  expect(subnetWarnings(text({ cidr: '203.0.112.0/22', vlan_id: 1 }))).toEqual([
    '203.0.113.0/24 is set aside for documentation: nothing on the internet is routed there',
    'VLAN 1 is the default VLAN of most switches',
  ])
})

test.each([
  [null, 254, null],
  [12, null, null],
  [0, 254, '0 %'],
  [12, 61, '19.7 %'],
  [1, 254, '0.4 %'],
  [1, 65_534, '<0.1 %'],
  [65_533, 65_534, '99.9 %'],
  [254, 254, '100 %'],
  [300, 254, '100 %'],
])('the utilisation of %j used out of %j addresses is shown as %j', (used, total, shown) =>
  expect(utilisation(used, total)).toBe(shown),
)

const issuesOf = (body: object) => {
  const read = z.safeParse(NewSubnet, {
    name: 'front',
    datacenter_id: '7b0ff2b6-0b7e-4a7b-9f5e-3a4a0c5c1d11',
    cidr: '203.0.113.0/24',
    ...body,
  })
  // Keep only the first error of each field, as forms do.
  return Object.fromEntries(
    (read.error?.issues ?? []).toReversed().map((i) => [i.path.join('.'), i.message]),
  )
}

test('all problems of a new subnet are reported at once', () => {
  expect(issuesOf({})).toEqual({})
  expect(issuesOf({ cidr: undefined, name: '-front' })).toEqual({
    name: 'Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    cidr: 'CIDR is required',
  })
  expect(issuesOf({ name: '', cidr: '10.0.0.5/24', vlan_id: 4095 })).toEqual({
    name: 'Subnet name must be at least 1 character',
    vlan_id: 'VLAN ID must be a whole number from 1 to 4094',
    cidr: '10.0.0.5/24 is not a network address. Did you mean 10.0.0.0/24?',
  })
  expect(issuesOf({ gateway: '10.0.0.1', exclude: ['x'], datacenter_id: 'PL-POZ-1' })).toEqual({
    datacenter_id: 'Choose a datacenter',
    gateway: 'Gateway must be inside 203.0.113.0/24',
    exclude: 'Line 1: "x" is not an IP address, CIDR or range',
  })
})

test.each([undefined, null, 7, 'front', [], ['front']])('%j is not a subnet', (body) =>
  expect(z.safeParse(NewSubnet, body).success).toBe(false),
)

test.each([0, 4095, -1, 1.5, '7', Number.NaN])('the VLAN %j is refused', (vlan_id) =>
  expect(issuesOf({ vlan_id })).toEqual({
    vlan_id: 'VLAN ID must be a whole number from 1 to 4094',
  }),
)

test('an assigned subnet keeps its CIDR and purpose and can’t be removed', () => {
  const free = { clusters: [], used: 0 }
  const assigned = { clusters: [{ id: 'a', name: 'alpha' }], used: null }
  for (const rule of [canRemoveSubnet, canChangeCidr, canChangePurpose])
    expect(rule(free).ok).toBe(true)
  expect(canChangeCidr(assigned)).toEqual({
    ok: false,
    reason: 'This subnet is assigned to alpha. Unassign it before changing the CIDR',
  })
  expect(canChangePurpose(assigned)).toEqual({
    ok: false,
    reason: 'This subnet is assigned to alpha. Unassign it before changing the purpose',
  })
  expect(canRemoveSubnet(assigned)).toEqual({
    ok: false,
    reason: 'This subnet is assigned to alpha. Unassign it first',
  })
  expect(canRemoveSubnet({ ...assigned, used: 3 })).toEqual({
    ok: false,
    reason: '3 addresses in use by cluster alpha. Unassign the subnet first',
  })
  expect(canRemoveSubnet({ ...assigned, used: 1 })).toEqual({
    ok: false,
    reason: '1 address in use by cluster alpha. Unassign the subnet first',
  })
})

test('a subnet serves clusters of its datacenter, a workload subnet only one of them', () => {
  const here = { id: 'p', code: 'PL-POZ-1' }
  const subnet = {
    name: 'front',
    datacenter: here,
    purpose: 'workload' as const,
    clusters: [{ id: 'a', name: 'alpha' }],
  }
  expect(canAssignSubnet(subnet, { id: 'a', name: 'alpha', datacenter: here }).ok).toBe(true)
  expect(canAssignSubnet(subnet, { id: 'b', name: 'beta', datacenter: here })).toEqual({
    ok: false,
    reason: 'front is assigned to alpha',
  })
  expect(
    canAssignSubnet(
      { ...subnet, purpose: 'management' },
      { id: 'b', name: 'beta', datacenter: here },
    ).ok,
  ).toBe(true)
  expect(
    canAssignSubnet(subnet, { id: 'b', name: 'beta', datacenter: { id: 'w', code: 'PL-WAW-1' } }),
  ).toEqual({
    ok: false,
    reason: 'front is in PL-POZ-1; cluster beta is in PL-WAW-1',
  })
})

test('private ranges are those of RFC 1918, 6598 and 4193', () => {
  for (const cidr of [
    '10.255.0.0/16',
    '172.31.0.0/16',
    '192.168.1.0/24',
    '100.127.0.0/16',
    'fd12:3456::/48',
  ])
    expect(isPrivate(parseCidr(cidr)!)).toBe(true)
  for (const cidr of [
    '11.0.0.0/8',
    '172.32.0.0/16',
    '192.169.0.0/16',
    '100.128.0.0/16',
    '2001:db8::/32',
  ])
    expect(isPrivate(parseCidr(cidr)!)).toBe(false)
})

test('all subnets together have a bound of exclusions; what is above it stays, and may be made smaller', () => {
  expect(canHaveExclusions(mostExclusionsInAll, 0).ok).toBe(true)
  expect(canHaveExclusions(mostExclusionsInAll + 1, mostExclusionsInAll)).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/100.001 exclusions.* 100.000 at most/) as string,
  })
  expect(canHaveExclusions(mostExclusionsInAll + 10, mostExclusionsInAll + 20).ok).toBe(true)
})
