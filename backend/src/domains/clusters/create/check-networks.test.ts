import * as z from 'zod/mini'
import { describe, expect, test } from 'vitest'
import { NewCluster, type NewClusterInput } from '#contract/clusters/clusters.ts'
import type { PlannedDisk, ServerFacts } from '../../servers/api.ts'
import { judge } from './check.ts'
import { joiningProblem } from './check-networks.ts'
import type { Surroundings } from './judged.ts'

const datacenter = { id: '00000000-0000-4000-8000-000000000000', code: 'PL-POZ-1' }
const idOf = (n: number) => `00000000-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`
const gib = 1024 ** 3
const disk = (id: string, more: Partial<PlannedDisk> = {}): PlannedDisk => ({
  id,
  device: `/dev/${id}`,
  content: 'empty',
  size: 480 * gib,
  type: 'SSD',
  system: false,
  wwid: null,
  ...more,
})

const server = (n: number, more: Partial<ServerFacts> = {}): ServerFacts => ({
  id: idOf(n),
  name: `web-${n}`,
  version: 1,
  status: 'maintenance',
  datacenter_id: datacenter.id,
  cluster: null,
  operation_id: null,
  uuid: null,
  serial: null,
  identity: 'confirmed',
  address: `10.1.2.${n}`,
  addresses: [`10.1.2.${n}/24`, `fe80::${n}/64`],
  link: 'eth0',
  links: [],
  disks: [disk('sda'), disk('sdb')],
  system_disk: null,
  memory_bytes: null,
  talos_version: null,
  installed_version: null,
  schematic: null,
  secure_boot: false,
  reachable: true,
  last_contact_at: null,
  has_user_patch: false,
  failed_installs: null,
  patch_links: [],
  hardware: null,
  stage: 'maintenance',
  reason: null,
  silence: null,
  node_ready: null,
  pending: null,
  drift_since: null,
  ...more,
})

/** Messages of failed checks, and the warnings. */
function judged(servers: readonly ServerFacts[], more: Partial<NewClusterInput> = {}) {
  const around: Surroundings = {
    candidates: new Map(servers.map((s) => [s.id, s])),
    datacenter,
    nameTaken: false,
    subnets: [],
    used: servers.map((s) => ({ address: s.address, by: `server ${s.name}`, node_id: s.id })),
    sharing: [],
    versions: {
      pairs: () => [],
      pairsForNew: () => [{ talos: 'v1.13.9', kubernetes: '1.36.3' }],
      kubernetes: () => [],
      unsupported: () => [],
      warnings: () => [],
      problem: () => undefined,
    },
    eligibility: () => [],
  }
  const asked = z.parse(NewCluster, {
    name: 'prod',
    datacenter_id: datacenter.id,
    servers: servers.map((s, i) => ({
      node_id: s.id,
      role: i === 0 ? 'control_plane' : 'worker',
    })),
    ...more,
  })
  const { findings, warnings } = judge(asked, around)
  return { wrong: findings.filter((f) => !f.ok).map((f) => f.message), warnings }
}

describe('families of addresses', () => {
  const ipv6 = { pod_cidr: 'fd00:10:244::/56', service_cidr: 'fd00:10:96::/112' }

  test('22 ipv6-cluster-on-ipv4-servers: names the servers without an IPv6 address', () => {
    expect(judged([server(1)], ipv6).wrong).toEqual([
      'web-1 has no IPv6 address, so Kubernetes does not start with IPv6 pods and services: choose IPv4 networks',
    ])
  })

  test('an IPv4 cluster on servers with IPv6 addresses only is refused as well', () => {
    const only6 = server(1, { address: 'fd00::1', addresses: ['fd00::1/64'] })
    expect(judged([only6]).wrong).toEqual([expect.stringContaining('has no IPv4 address')])
    expect(judged([only6], ipv6).wrong).toEqual([])
  })

  test('one server without the family is enough, and each is named', () => {
    const both = server(1, { addresses: ['10.1.2.1/24', 'fd00::1/64'] })
    expect(judged([both], ipv6).wrong).toEqual([])
    expect(judged([both, server(2), server(3)], ipv6).wrong).toEqual([
      expect.stringMatching(/web-2.*web-3.*have no IPv6/),
    ])
  })

  test('a server that has reported no addresses is not refused', () => {
    expect(judged([server(1, { addresses: ['10.1.2.1'] })], ipv6).wrong).toEqual([])
  })

  test('dual stack is refused with the reason', () => {
    expect(judged([server(1)], { pod_cidr: 'fd00::/56' }).wrong).toEqual([
      expect.stringContaining('dual stack) are not supported'),
    ])
    expect(() => judged([server(1)], { pod_cidr: '10.244.0.0/16,fd00::/56' })).toThrow(
      /Pod CIDR must be one network/,
    )
    expect(() => judged([server(1)], { service_cidr: '10.96.0.0/12, fd00::/112' })).toThrow(
      /Service CIDR must be one network/,
    )
  })
})

const behind = (n: number, gateway: string, more: Partial<ServerFacts> = {}) =>
  server(n, {
    ...more,
    hardware: {
      ...({} as NonNullable<ServerFacts['hardware']>),
      routes: [
        { destination: '', gateway, link: 'eth0', metric: 1024 },
        { destination: '10.244.1.0/24', gateway: '10.244.1.0', link: 'flannel.1', metric: 0 },
      ],
    },
  })

describe('ranges of networks', () => {
  test.each([
    ['127.0.0.0/16', '127.0.0.0/8, a loopback range'],
    ['0.0.0.0/16', '0.0.0.0/8, a "this network" range'],
    ['169.254.0.0/17', '169.254.0.0/16, a link-local range'],
    ['224.0.0.0/16', '224.0.0.0/4, a multicast range'],
  ])('pods and services in %s are refused', (network, range) => {
    for (const field of ['pod_cidr', 'service_cidr'] as const)
      expect(judged([server(1)], { [field]: network }).wrong).toContainEqual(
        expect.stringContaining(`overlaps with ${range}: choose a private network`),
      )
  })

  test('IPv6 pods in a range of multicast or of one link are refused', () => {
    const ipv6 = server(1, { addresses: ['fd01::1/64'] })
    for (const pod_cidr of ['ff00::/56', 'fe80::/64', '::/56'])
      expect(judged([ipv6], { pod_cidr, service_cidr: 'fd00::/112' }).wrong).toEqual([
        expect.stringContaining('choose a private network, such as fd00:10:244::/56'),
      ])
  })

  test('public space, and a part of a server’s network, are warned of', () => {
    const warned = (servers: ServerFacts[], pod_cidr: string) => {
      const { wrong, warnings } = judged(servers, { pod_cidr })
      expect(wrong).toEqual([])
      return warnings.filter((one) => one.startsWith(`The pod network ${pod_cidr}`))
    }
    for (const network of ['172.244.0.0/16', '240.0.0.0/12'])
      expect(warned([server(1)], network)).toEqual([
        expect.stringContaining('is not in private address space'),
      ])
    const ipv6 = server(1, { addresses: ['2a00::1/64'] })
    const global = { pod_cidr: '2a00:1::/56', service_cidr: '2a00:2::/112' }
    expect(judged([ipv6], global).warnings.join()).not.toContain('private')
    const wide = server(1, { addresses: ['10.1.2.1/8'] })
    expect(warned([wide], '10.244.0.0/16')).toEqual([
      expect.stringContaining('lies in the network of web-1 (10.0.0.0/8)'),
    ])
    expect(warned([server(1)], '10.244.0.0/16')).toEqual([])
  })

  test('a network with the gateway of a server is refused, also when a server joins', () => {
    const wide = behind(1, '10.244.0.1', { addresses: ['10.1.2.1/8'] })
    expect(judged([wide]).wrong).toEqual([
      'The pod network 10.244.0.0/16 contains the gateway of web-1, which could then reach nothing outside of its network',
    ])
    const networks = { pod_cidr: '10.244.0.0/16', service_cidr: '10.96.0.0/12' }
    expect(joiningProblem(networks, wide)).toBe(
      'The pod network 10.244.0.0/16 of the cluster contains the gateway of web-1',
    )
    // The routes to pods of a former member have gateways in their network.
    expect(joiningProblem(networks, behind(1, '10.1.2.254'))).toBeNull()
  })

  test('a server that joins needs the family of the cluster’s addresses', () => {
    const ipv6 = { pod_cidr: 'fd00:10:244::/56', service_cidr: 'fd00:10:96::/112' }
    expect(joiningProblem(ipv6, server(2))).toBe(
      'The pod network fd00:10:244::/56 of the cluster needs IPv6 addresses, and web-2 has none: Kubernetes does not start on it',
    )
    expect(joiningProblem(ipv6, server(2, { addresses: ['fd01::2/64'] }))).toBeNull()
    expect(joiningProblem(ipv6, server(2, { addresses: [] }))).toBeNull()
  })
})

describe('sizes of pod networks', () => {
  test('24 pod-network-for-one-node: says how many nodes have room', () => {
    expect(judged([server(1), server(2)], { pod_cidr: '10.244.0.0/24' }).wrong).toEqual([
      'The pod network 10.244.0.0/24 has room for 1 node, because every node takes a /24 of it; 2 servers need a /23 or larger',
    ])
  })

  test('as many servers as there is room for are accepted', () => {
    const five = [1, 2, 3, 4, 5].map((n) => server(n))
    expect(judged([server(1)], { pod_cidr: '10.244.0.0/24' }).wrong).toEqual([])
    expect(judged(five.slice(0, 4), { pod_cidr: '10.244.0.0/22' }).wrong).toEqual([])
    expect(judged(five, { pod_cidr: '10.244.0.0/22' }).wrong).toEqual([
      expect.stringContaining('5 servers need a /21'),
    ])
  })

  test('an IPv6 network has room for a /64 a node, and is not too large', () => {
    const ipv6 = [1, 2, 3].map((n) => server(n, { addresses: [`fd01::${n}/64`] }))
    const service_cidr = 'fd00:1::/112'
    expect(judged(ipv6, { service_cidr, pod_cidr: 'fd00::/63' }).wrong).toEqual([
      expect.stringContaining('3 servers need a /62'),
    ])
    expect(judged(ipv6, { service_cidr, pod_cidr: 'fd02::/40' }).wrong).toEqual([
      expect.stringContaining('must be a /48 or smaller'),
    ])
  })

  test.each([
    ['an argument', 'cluster: {controllerManager: {extraArgs: {node-cidr-mask-size: "26"}}}'],
    ['a document', 'apiVersion: v1alpha1\nkind: KubeNetworkConfig\nnodeCIDRMaskSizeIPv4: 26\n'],
  ])(
    'a patch that sets another size of a node’s network by %s turns the refusal into a warning',
    (_, body) => {
      const patch = { name: 'mask', body }
      const { wrong, warnings } = judged([server(1), server(2)], {
        pod_cidr: '10.244.0.0/24',
        servers: [
          { node_id: idOf(1), role: 'control_plane', patch },
          { node_id: idOf(2), role: 'worker' },
        ],
      })
      expect(wrong).toEqual([])
      expect(warnings).toContainEqual(expect.stringContaining('has room for 1 node'))
    },
  )
})

describe('endpoints', () => {
  test('25 endpoint-nobody-can-reach: the unspecified address is refused', () => {
    expect(() => judged([server(1)], { endpoint: '0.0.0.0' })).toThrow(/nobody can reach it/)
  })

  test.each([
    '::',
    'https://[::]:6443',
    '255.255.255.255',
    '224.0.0.1',
    'ff02::1',
    '169.254.1.1',
    'fe80::1',
    'localhost',
    'https://localhost:6443',
    'api.localhost',
  ])('%s is refused', (endpoint) => {
    expect(() => judged([server(1)], { endpoint })).toThrow(/reach it/)
  })

  test('a loopback address is refused unless the servers have one, as simulated ones do', () => {
    expect(judged([server(1)], { endpoint: '127.0.0.1' }).wrong).toEqual([
      '127.0.0.1 leads each machine to itself: nobody else can reach it',
    ])
    expect(judged([server(1)], { endpoint: '::1' }).wrong).toHaveLength(1)
    const simulated = server(1, { address: '127.20.2.4', addresses: ['127.20.2.4/16'] })
    expect(judged([simulated], { endpoint: '127.20.2.200' }).wrong).toEqual([])
  })

  test('19 vip-on-a-free-server, its kin: a virtual IP that a free server has is refused', () => {
    const free = server(9)
    const around = judged([server(1)], { endpoint: '10.1.2.9', virtual_ip: true })
    expect(around.wrong).toEqual([])
    const used = { address: free.address, by: 'server web-9', node_id: free.id }
    const { findings } = judge(
      z.parse(NewCluster, {
        name: 'prod',
        datacenter_id: datacenter.id,
        servers: [{ node_id: idOf(1), role: 'control_plane' }],
        endpoint: '10.1.2.9',
        virtual_ip: true,
      }),
      {
        candidates: new Map([[idOf(1), server(1)]]),
        datacenter,
        nameTaken: false,
        subnets: [],
        used: [used],
        sharing: [],
        versions: {
          pairs: () => [],
          pairsForNew: () => [{ talos: 'v1.13.9', kubernetes: '1.36.3' }],
          kubernetes: () => [],
          unsupported: () => [],
          warnings: () => [],
          problem: () => undefined,
        },
        eligibility: () => [],
      },
    )
    expect(findings.filter((f) => !f.ok).map((f) => f.message)).toEqual([
      '10.1.2.9 is in use by server web-9',
    ])
  })
})

describe('paths to one disk', () => {
  const paths = [
    disk('sda', { wwid: 'naa.1', serial: 'A' }),
    disk('sdb', { wwid: 'naa.1', serial: 'A' }),
    disk('sdc', { serial: 'C', model: 'M' }),
    disk('sdd', { serial: 'C', model: 'M' }),
    disk('sde', { wwid: 'naa.1', size: 960 * gib }),
  ]
  const roles = (install_disk: string, workload_disks: string[]) =>
    judged([server(1, { disks: paths })], {
      servers: [{ node_id: idOf(1), role: 'control_plane', install_disk, workload_disks }],
    }).wrong

  test('26 install-and-workload-disk-are-the-same-disk: refused with both names', () => {
    expect(roles('sda', ['sdb', 'sdc', 'sdd'])).toEqual([
      '/dev/sda and /dev/sdb of web-1 are two paths to one disk (WWID naa.1): choose one of them',
    ])
  })

  test('two workload disks that are one, by WWID or by serial, are refused', () => {
    expect(roles('sde', ['sda', 'sdb'])).toEqual([expect.stringContaining('WWID naa.1')])
    expect(roles('sda', ['sdc', 'sdd'])).toEqual([expect.stringContaining('serial C')])
  })

  test('disks of another size with the same WWID are two disks', () => {
    expect(roles('sda', ['sde', 'sdc'])).toEqual([])
  })
})
