import { expect, test } from 'vitest'
import {
  formatAddress,
  formatCidr,
  lastOf,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import {
  formatRange,
  mergeRanges,
  type Range,
  rangeOfAddress,
  rangeOfCidr,
  readRange,
} from '#contract/network/address-ranges.ts'
import { subnetProblems } from '#contract/network/subnet-rules.ts'
import { linkGroups, manifestText, type PoolSubnet, render, usualApi } from './manifest.ts'

const subnet = (more: Partial<PoolSubnet> = {}): PoolSubnet => ({
  id: '5f0c1f6e-6a63-4a2f-8f0c-2f3a1b4c5d6e',
  cidr: '203.0.113.64/26',
  gateway: '203.0.113.65',
  vlan_id: null,
  exclude: ['203.0.113.70', '203.0.113.80-203.0.113.95'],
  first_and_last: false,
  draining: false,
  ...more,
})
const own = { id: '0198c0de-0000-7000-8000-0123456789ab', taken_over: false }
const links = linkGroups([{ name: 'a', interface: 'eno1' }], null)

test('the ranges for Cilium leave out the gateway, the exclusions, and the first and last address', () => {
  expect(manifestText([subnet()], usualApi.cilium, links, own)).toBe(`apiVersion: cilium.io/v2
kind: CiliumLoadBalancerIPPool
metadata:
  name: subnet-5f0c1f6e-6a63-4a2f-8f0c-2f3a1b4c5d6e
  labels:
    app.kubernetes.io/managed-by: steelyard
spec:
  allowFirstLastIPs: "No"
  blocks:
    - start: 203.0.113.66
      stop: 203.0.113.69
    - start: 203.0.113.71
      stop: 203.0.113.79
    - start: 203.0.113.96
      stop: 203.0.113.126
  disabled: false
---
apiVersion: cilium.io/v2alpha1
kind: CiliumL2AnnouncementPolicy
metadata:
  name: steelyard
  labels:
    app.kubernetes.io/managed-by: steelyard
spec:
  interfaces:
    - ^eno1$
  loadBalancerIPs: true
  externalIPs: false
`)
})

test('the manifest for MetalLB has the pools, and one advertisement that lists exactly these pools', () => {
  const ticked = subnet({
    id: '00000000-0000-4000-8000-000000000002',
    cidr: '198.51.100.8/30',
    gateway: null,
    exclude: [],
    first_and_last: true,
    draining: true,
  })
  expect(manifestText([subnet(), ticked], usualApi.metallb, links, own))
    .toBe(`apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata:
  name: subnet-5f0c1f6e-6a63-4a2f-8f0c-2f3a1b4c5d6e
  labels:
    app.kubernetes.io/managed-by: steelyard
  namespace: metallb-system
spec:
  addresses:
    - 203.0.113.66-203.0.113.69
    - 203.0.113.71-203.0.113.79
    - 203.0.113.96-203.0.113.126
  autoAssign: true
  avoidBuggyIPs: false
---
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata:
  name: subnet-00000000-0000-4000-8000-000000000002
  labels:
    app.kubernetes.io/managed-by: steelyard
  namespace: metallb-system
spec:
  addresses:
    - 198.51.100.8-198.51.100.11
  autoAssign: false
  avoidBuggyIPs: false
---
apiVersion: metallb.io/v1beta1
kind: L2Advertisement
metadata:
  name: steelyard
  labels:
    app.kubernetes.io/managed-by: steelyard
  namespace: metallb-system
spec:
  ipAddressPools:
    - subnet-5f0c1f6e-6a63-4a2f-8f0c-2f3a1b4c5d6e
    - subnet-00000000-0000-4000-8000-000000000002
  interfaces:
    - eno1
`)
})

test('an older Cilium gets pools of the API version that it supports', () => {
  const rendered = render(
    [subnet({ first_and_last: true })],
    { provider: 'cilium', pools: 'v2alpha1', announcements: null },
    links,
    own,
  )
  expect(rendered).toMatchObject({
    pools: [
      {
        collection: '/apis/cilium.io/v2alpha1/ciliumloadbalancerippools',
        object: { apiVersion: 'cilium.io/v2alpha1', spec: { allowFirstLastIPs: 'Yes' } },
      },
    ],
    announcements: [],
  })
})

test('if the load balancer is unknown, the manifests for Cilium and MetalLB can be copied; without subnets there is no manifest', () => {
  const text = manifestText([subnet()], null, links, own)
  expect(text).toContain('# For Cilium\n')
  expect(text).toContain('# For MetalLB\n')
  expect(text.match(/^kind: .*/gm)).toEqual([
    'kind: CiliumLoadBalancerIPPool',
    'kind: CiliumL2AnnouncementPolicy',
    'kind: IPAddressPool',
    'kind: L2Advertisement',
  ])
  expect(manifestText([], usualApi.cilium, links, own)).toBe('')
})

test('servers with different workload links get separate announcements, servers with a common VLAN get one', () => {
  const nodes = [
    { name: 'c', interface: 'eno1' },
    { name: 'a', interface: 'enp3s0f0.x' },
    { name: 'b', interface: 'eno1' },
    { name: 'd', interface: null },
  ]
  const groups = linkGroups(nodes, null)
  expect(groups).toEqual([
    { interface: null, nodes: ['d'] },
    { interface: 'eno1', nodes: ['b', 'c'] },
    { interface: 'enp3s0f0.x', nodes: ['a'] },
  ])
  const host = (...values: string[]) => ({
    matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }],
  })
  expect(
    render([subnet()], usualApi.cilium, groups, own).announcements.map((m) => [
      m.object.metadata.name,
      m.object.spec,
    ]),
  ).toEqual([
    ['steelyard-any', { nodeSelector: host('d'), loadBalancerIPs: true, externalIPs: false }],
    [
      'steelyard-eno1',
      {
        nodeSelector: host('b', 'c'),
        interfaces: ['^eno1$'],
        loadBalancerIPs: true,
        externalIPs: false,
      },
    ],
    [
      'steelyard-enp3s0f0-x',
      {
        nodeSelector: host('a'),
        interfaces: [String.raw`^enp3s0f0\.x$`],
        loadBalancerIPs: true,
        externalIPs: false,
      },
    ],
  ])
  expect(
    render([subnet()], usualApi.metallb, groups, own).announcements[1]!.object.spec,
  ).toMatchObject({
    nodeSelectors: [host('b', 'c')],
    interfaces: ['eno1'],
  })
  expect(linkGroups(nodes, 120)).toEqual([{ interface: 'vlan120', nodes: ['c', 'a', 'b', 'd'] }])
})

test('the announcements of a cluster that was taken over have a name and a label of this Steelyard, so that those of another Steelyard stay', () => {
  const [announcement] = render([subnet()], usualApi.cilium, links, {
    ...own,
    taken_over: true,
  }).announcements
  expect(announcement!.object.metadata).toEqual({
    name: 'steelyard-0123456789ab',
    labels: { 'app.kubernetes.io/managed-by': 'steelyard', 'steelyard.dev/cluster': own.id },
  })
})

test('links whose names differ only in characters not allowed in object names get separate announcements', () => {
  const groups = linkGroups(
    [
      { name: 'a', interface: 'eth_0' },
      { name: 'b', interface: 'eth-0' },
      { name: 'c', interface: '...' },
    ],
    null,
  )
  expect(
    render([subnet()], usualApi.metallb, groups, own).announcements.map(
      (m) => m.object.metadata.name,
    ),
  ).toEqual(['steelyard-link', 'steelyard-eth-0', 'steelyard-eth-0-2'])
})

/** A seeded random generator (mulberry32), so failures can be repeated. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * A random subnet: any size, with or without gateway, with touching, overlapping or nested
 * exclusions.
 */
function randomSubnet(random: () => number): PoolSubnet | null {
  const below = (n: number) => Math.floor(random() * n)
  const family = random() < 0.7 ? 4 : 6
  const bits = family === 4 ? 32 : 128
  const prefix = family === 4 ? 20 + below(13) : 112 + below(17)
  const start = family === 4 ? 0xcb007000n : 0x2a010db8n << 96n
  const base =
    ((start + (BigInt(below(2 ** 20)) << 4n)) >> BigInt(bits - prefix)) << BigInt(bits - prefix)
  const cidr = parseCidr(formatCidr({ family, base, prefix }))!
  const size = Number(lastOf(cidr) - base) + 1
  const address = () => formatAddress({ family, value: base + BigInt(below(size)) })
  const exclude = Array.from({ length: below(6) }, () => {
    if (random() < 0.4) return address()
    const [from, to] = [below(size), below(size)].toSorted((a, b) => a - b) as [number, number]
    const end = Math.min(to, from + below(1 + Math.floor(size / 4)))
    return formatRange({ family, first: base + BigInt(from), last: base + BigInt(end) })
  })
  const made = subnet({
    cidr: formatCidr(cidr),
    gateway: random() < 0.6 ? address() : null,
    exclude,
    first_and_last: random() < 0.3,
  })
  return Object.keys(subnetProblems(made).fields).length === 0 ? made : null
}

/** The reserved addresses, computed from the written rules and not by the tested code. */
function setAside({ cidr: text, gateway, exclude, first_and_last }: PoolSubnet): Range[] {
  const cidr = parseCidr(text)!
  const one = (value: bigint): Range => ({ family: cidr.family, first: value, last: value })
  const ends =
    first_and_last || cidr.prefix >= (cidr.family === 4 ? 31 : 127)
      ? []
      : cidr.family === 4
        ? [one(cidr.base), one(lastOf(cidr))]
        : [one(cidr.base)]
  return [
    ...ends,
    ...(gateway === null ? [] : [rangeOfAddress(parseAddress(gateway)!)]),
    ...exclude.map((entry) => {
      const read = readRange(entry)
      if (!read.ok) throw new Error(entry)
      return read.range
    }),
  ]
}

const range = (first: string, last: string): Range => ({
  ...rangeOfAddress(parseAddress(first)!),
  last: parseAddress(last)!.value,
})

test('in 10,000 random subnets, every address of the CIDR is either assignable or reserved', () => {
  const random = seeded(20_261_120)
  let subnets = 0
  for (let tries = 0; subnets < 10_000; tries++) {
    expect(tries).toBeLessThan(40_000)
    const made = randomSubnet(random)
    if (!made) continue
    subnets++
    const metallb = render([made], usualApi.metallb, links, own).pools[0]!.object.spec[
      'addresses'
    ] as string[]
    const cilium = render([made], usualApi.cilium, links, own).pools[0]!.object.spec['blocks'] as {
      start: string
      stop: string
    }[]
    const pieces = cilium.map(({ start, stop }) => range(start, stop))
    const aside = mergeRanges(setAside(made))
    const clash = pieces.find((piece, i) =>
      [...aside, ...pieces.slice(i + 1)].some(
        (other) => other.first <= piece.last && piece.first <= other.last,
      ),
    )
    const all = mergeRanges([...pieces, ...aside])
    // A single expectation per subnet keeps ten thousand of them fast and shows the subnet on
    // failure.
    expect({ made, clash, all, metallb }).toEqual({
      made,
      clash: undefined,
      all: [rangeOfCidr(parseCidr(made.cidr)!)],
      metallb: cilium.map(({ start, stop }) => `${start}-${stop}`),
    })
  }
})
