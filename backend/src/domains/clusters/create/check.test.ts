import * as fc from 'fast-check'
import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { contains, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { endpointHost, NewCluster, type NewClusterInput } from '#contract/clusters/clusters.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { defaultInstallDisk, judge } from './check.ts'
import { endpointUrl } from './check-endpoint.ts'
import type { Surroundings } from './judged.ts'

const datacenter = { id: '00000000-0000-4000-8000-000000000000', code: 'PL-POZ-1' }
const gib = 1024 ** 3
const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
const candidate = (n: number, more: Partial<ServerFacts> = {}): ServerFacts => ({
  id: idOf(n),
  name: `web-${n}`,
  status: 'maintenance',
  datacenter_id: datacenter.id,
  cluster: null,
  address: `10.1.2.${n}`,
  addresses: [`10.1.2.${n}/24`],
  link: 'eth0',
  links: [],
  disks: [
    {
      id: 'nvme0n1',
      content: 'empty',
      device: '/dev/nvme0n1',
      size: 480 * gib,
      type: 'nvme',
      system: false,
      wwid: null,
    },
    {
      id: 'sda',
      content: 'empty',
      device: '/dev/sda',
      size: 240 * gib,
      type: 'ssd',
      system: false,
      wwid: null,
    },
    {
      id: 'sdb',
      content: 'empty',
      device: '/dev/sdb',
      size: 4 * gib,
      type: 'ssd',
      system: false,
      wwid: null,
    },
  ],
  system_disk: null,
  installed_version: null,
  schematic: null,
  secure_boot: false,
  has_user_patch: false,
  failed_installs: null,
  patch_links: [],
  version: 1,
  operation_id: null,
  uuid: null,
  serial: null,
  identity: 'confirmed',
  memory_bytes: null,
  talos_version: null,
  reachable: true,
  last_contact_at: null,
  hardware: null,
  stage: 'maintenance',
  reason: null,
  silence: null,
  node_ready: null,
  pending: null,
  drift_since: null,
  ...more,
})
const around = (candidates: ServerFacts[], more: Partial<Surroundings> = {}): Surroundings => ({
  candidates: new Map(candidates.map((c) => [c.id, c])),
  datacenter,
  nameTaken: false,
  subnets: [],
  used: candidates.map((c) => ({ address: c.address, by: `server ${c.name}`, node_id: c.id })),
  sharing: [],
  versions: {
    pairs: () => [
      { talos: 'v1.13.9', kubernetes: '1.36.3' },
      { talos: 'v1.12.11', kubernetes: '1.35.4' },
    ],
    kubernetes: () => [],
    pairsForNew: () => [{ talos: 'v1.13.9', kubernetes: '1.36.3' }],
    unsupported: () => [],
    warnings: () => [],
    problem: (talos, kubernetes) =>
      talos.startsWith('v1.1') ? undefined : `no ${talos} with ${kubernetes}`,
  },
  eligibility: () => [],
  ...more,
})
const asked = (
  roles: readonly ('control_plane' | 'worker')[],
  more: Partial<NewClusterInput> = {},
) =>
  z.parse(NewCluster, {
    name: 'prod',
    datacenter_id: datacenter.id,
    servers: roles.map((role, i) => ({ node_id: idOf(i + 1), role })),
    ...more,
  })
const three = [candidate(1), candidate(2), candidate(3)]
const wrong = (...all: Parameters<typeof judge>) =>
  judge(...all)
    .findings.filter((f) => !f.ok)
    .map((f) => f.message)
const controlPlanes = ['control_plane', 'control_plane', 'control_plane'] as const

test('the defaults are the newest versions, the first control plane as endpoint, and the smallest disk that is large enough', () => {
  const { resolved, warnings, findings } = judge(asked(controlPlanes), around(three))
  expect(findings.filter((f) => !f.ok)).toEqual([])
  expect(resolved).toMatchObject({
    talos_version: 'v1.13.9',
    kubernetes_version: '1.36.3',
    endpoint: 'https://10.1.2.1:6443',
    virtual_ip: false,
  })
  expect(resolved!.servers.map((s) => s.install_disk)).toEqual(['/dev/sda', '/dev/sda', '/dev/sda'])
  expect(warnings).toHaveLength(1)
})

test('the review warns of a server on which installations failed', () => {
  const worn = candidate(2, {
    failed_installs: { count: 5, since: '2026-11-20T12:00:00Z', reason: 'input/output error' },
  })
  const { warningsOf } = judge(asked(controlPlanes), around([three[0]!, worn, three[2]!]))
  expect([1, 2, 3].map((n) => warningsOf.get(idOf(n)))).toEqual([
    [],
    ['5 installations failed here: input/output error'],
    [],
  ])
})

test('the review warns that the API endpoint depends on one server and its DHCP lease', () => {
  const lease =
    'The API endpoint 10.1.2.1 depends on the DHCP lease of web-1: if that server gets another address, nobody can reach the Kubernetes API any more. Reserve the address at the DHCP server, or use a virtual IP or a DNS name.'
  const falls =
    ' If that server fails, the Kubernetes API is unreachable, however many control planes there are; a virtual IP avoids this.'
  const one = (more: Partial<NewClusterInput> = {}) => asked(['control_plane'], more)
  expect(judge(asked(controlPlanes), around(three)).warnings).toEqual([lease + falls])
  expect(judge(one(), around(three)).warnings).toContain(lease)
  expect(judge(one({ endpoint: '10.1.2.1' }), around(three)).warnings).toContain(lease)
  for (const endpoint of ['k8s.example.com', '10.1.2.9'])
    expect(judge(one({ endpoint }), around(three)).warnings.join()).not.toContain('DHCP')
  expect(
    judge(one({ endpoint: '10.1.2.9', virtual_ip: true }), around(three)).warnings.join(),
  ).not.toContain('DHCP')
  const patched = [candidate(1, { patch_links: ['eth0'] })]
  expect(judge(one(), around(patched)).warnings).toContain(
    'The API endpoint 10.1.2.1 is the address of web-1 alone.',
  )
  const patch = { name: 'address', body: 'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\n' }
  expect(
    judge(
      one({ servers: [{ node_id: idOf(1), role: 'control_plane', patch }] }),
      around(three),
    ).warnings.join(),
  ).not.toContain('DHCP')
})

test('by default the Kubernetes version is the newest for the requested Talos, also for one that is not offered any more; the Talos version is an offered one', () => {
  expect(
    judge(asked(controlPlanes, { talos_version: '1.12.11' }), around(three)).resolved,
  ).toMatchObject({
    talos_version: 'v1.12.11',
    kubernetes_version: '1.35.4',
  })
  expect(
    judge(asked(controlPlanes, { kubernetes_version: '1.35.1' }), around(three)).resolved,
  ).toMatchObject({
    talos_version: 'v1.13.9',
    kubernetes_version: '1.35.1',
  })
})

test.each([
  [['worker'] as const, 'Choose at least one control plane'],
  [
    ['control_plane', 'control_plane'] as const,
    'Choose an odd number of control planes: with 2, the cluster tolerates no more failures than with 1',
  ],
])('the roles %j are refused: %s', (roles, sentence) => {
  expect(wrong(asked(roles), around(three))).toContain(sentence)
})

test('if a server is in another cluster, the conflict names the server and that cluster', () => {
  const taken = candidate(2, { cluster: { id: idOf(9), name: 'other' } })
  const { findings } = judge(asked(controlPlanes), around([three[0]!, taken, three[2]!]))
  expect(findings).toContainEqual({
    check: 'servers',
    ok: false,
    message: 'web-2 is already in the cluster other',
    field: 'servers.1',
    conflict: 'server_taken',
  })
})

test('a server that is listed twice, unknown, in another datacenter or without a disk is refused by name', () => {
  const twice = z.parse(NewCluster, {
    name: 'prod',
    datacenter_id: datacenter.id,
    servers: [1, 1].map((n) => ({ node_id: idOf(n), role: 'control_plane' })),
  })
  expect(wrong(twice, around(three))).toContain('web-1 was chosen twice')
  expect(wrong(asked(['control_plane']), around([]))).toContain('There is no such server')
  expect(
    wrong(asked(['control_plane']), around([candidate(1, { datacenter_id: idOf(8) })])),
  ).toContain('web-1 is not in PL-POZ-1')
  expect(wrong(asked(['control_plane']), around([candidate(1, { disks: [] })]))).toContain(
    'web-1 has no disk of at least 6 GiB to install Talos on',
  )
})

test('a server without a suitable disk is not eligible, with one error', () => {
  const none = candidate(1, { disks: [] })
  const refusal = { check: 'disks' as const, ok: false, reason: 'The server has no disk' }
  const { findings } = judge(asked(['control_plane']), {
    ...around([none]),
    eligibility: () => [refusal],
  })
  expect(findings.filter((f) => !f.ok)).toEqual([
    {
      check: 'disks',
      ok: false,
      message: "web-1 can't join: The server has no disk",
      field: 'servers.0',
      conflict: 'not_eligible',
    },
  ])
})

test.each([
  [{ talos_version: 'v1.9.0' }, 'talos_version'],
  [{ talos_version: 'v1.13.9', kubernetes_version: '1.20.0' }, 'kubernetes_version'],
])('the unsupported versions %j are refused with an error at %s', (versions, field) => {
  expect(
    judge(
      asked(controlPlanes, versions),
      around(three, { versions: { ...around(three).versions, problem: () => 'no pair' } }),
    ).findings.find((f) => f.check === 'versions'),
  ).toMatchObject({
    ok: false,
    field,
  })
})

test('if Talos is installed already, its disk stays the install disk', () => {
  const installed = candidate(1, { system_disk: '/dev/nvme0n1' })
  expect(defaultInstallDisk(installed, [])).toBe('/dev/nvme0n1')
  const { resolved, warningsOf } = judge(asked(['control_plane']), around([installed]))
  expect(resolved!.servers[0]!.install_disk).toBe('/dev/nvme0n1')
  expect(warningsOf.get(installed.id)).toEqual([
    'Talos is installed on /dev/nvme0n1 already; it is kept',
  ])
})

test('an install disk that a RAID uses is warned of', () => {
  const [nvme, sda] = candidate(1).disks
  const content = 'member of a Linux RAID "nas:0", in use by md127'
  const taken = candidate(1, { disks: [{ ...nvme!, content }] })
  expect(judge(asked(['control_plane']), around([taken])).warningsOf.get(taken.id)).toEqual([
    "/dev/nvme0n1 is in use by the RAID md127, and Talos can't be installed on a disk in use. Choose another disk, or take the RAID apart first: talosctl wipe md /dev/md127 --insecure --nodes 10.1.2.1 (since Talos 1.14)",
  ])
  const both = candidate(1, {
    disks: [
      { ...nvme!, size: sda!.size!, content: 'xfs' },
      { ...sda!, content: `x, in use by md1` },
    ],
  })
  expect(defaultInstallDisk(both, [])).toBe('/dev/nvme0n1')
})

test('a disk is chosen by id or path; a missing disk is refused with one error that lists the existing disks', () => {
  const ask = (disk: string) =>
    z.parse(NewCluster, {
      name: 'prod',
      datacenter_id: datacenter.id,
      servers: [
        { node_id: idOf(1), role: 'control_plane', install_disk: disk, workload_disks: ['sda'] },
      ],
    })
  for (const disk of ['nvme0n1', '/dev/nvme0n1'])
    expect(judge(ask(disk), around(three)).resolved!.servers[0]).toMatchObject({
      install_disk: '/dev/nvme0n1',
      workload_disks: ['/dev/sda'],
    })
  // The eligibility check fails too if the requested disk is missing, but the missing disk is
  // reported only once.
  const strict = {
    ...around(three),
    eligibility: (_: ServerFacts, { installDisk }: { installDisk?: string | undefined }) => [
      { check: 'disks' as const, ok: installDisk === undefined, reason: 'There is no such disk' },
    ],
  }
  expect(judge(ask('nvme9n1'), strict).findings.filter((f) => !f.ok)).toEqual([
    {
      check: 'servers',
      ok: false,
      message: 'web-1 has no disk /dev/nvme9n1. It has nvme0n1, sda and sdb',
      field: 'servers.0.install_disk',
    },
  ])
})

test("the install disk can't be a workload disk as well", () => {
  const ask = (more: object) =>
    z.parse(NewCluster, {
      name: 'prod',
      datacenter_id: datacenter.id,
      servers: [{ node_id: idOf(1), role: 'control_plane', ...more }],
    })
  expect(
    wrong(ask({ install_disk: '/dev/sda', workload_disks: ['/dev/sda'] }), around(three)),
  ).toContain("/dev/sda of web-1 can't be both the install disk and a workload disk")
  expect(wrong(ask({ workload_disks: ['/dev/sdz'] }), around(three))).toContain(
    'web-1 has no disk /dev/sdz. It has nvme0n1, sda and sdb',
  )
  expect(
    judge(ask({ workload_disks: ['/dev/sda'] }), around(three)).resolved!.servers[0]!.install_disk,
  ).toBe('/dev/nvme0n1')
})

test.each<[Partial<NewClusterInput>, string]>([
  [
    { pod_cidr: '10.96.0.0/16' },
    'The pod network 10.96.0.0/16 overlaps with the service network 10.96.0.0/12',
  ],
  [
    { pod_cidr: '10.1.0.0/16' },
    'The pod network 10.1.0.0/16 contains 10.1.2.1, the address of server web-1',
  ],
  [
    { service_cidr: '10.0.0.0/12' },
    'The service network 10.0.0.0/12 contains 10.1.2.1, the address of server web-1',
  ],
  [
    { pod_cidr: '203.0.112.0/22' },
    'The pod network 203.0.112.0/22 overlaps with subnet front (203.0.113.0/24)',
  ],
  [
    { pod_cidr: '10.244.0.0/25' },
    'The pod network must be a /24 or larger: every node takes a /24 of it',
  ],
  [{ service_cidr: '172.0.0.0/11' }, 'The service network must be a /12 or smaller'],
])('the networks %j are refused: %s', (more, sentence) => {
  expect(
    wrong(
      asked(controlPlanes, more),
      around(three, { subnets: [{ name: 'front', cidr: '203.0.113.0/24' }] }),
    ),
  ).toContain(sentence)
})

test('a virtual IP must be an unused address in the network of every control plane', () => {
  const vip = (endpoint: string, candidates = three) =>
    wrong(asked(controlPlanes, { endpoint, virtual_ip: true }), around(candidates))
  expect(vip('10.1.2.200')).toEqual([])
  expect(wrong(asked(controlPlanes, { virtual_ip: true }), around(three))).toEqual([
    'A virtual IP needs an address: give an unused address in the network of the control planes as the endpoint',
  ])
  const route = { destination: '', gateway: '10.1.2.254', link: 'eth0', metric: 1024 }
  const routes = { ...({} as NonNullable<ServerFacts['hardware']>), routes: [route] }
  expect(
    vip('10.1.2.254', [candidate(1), candidate(2, { hardware: routes }), candidate(3)]),
  ).toEqual(['10.1.2.254 is the gateway of web-2: choose an unused address'])
  expect(vip('10.1.2.2')).toEqual(['10.1.2.2 is in use by server web-2'])
  expect(vip('10.1.3.1')).toEqual(['10.1.3.1 is not in the network of web-1'])
  expect(vip('10.1.2.255')).toEqual([
    '10.1.2.255 is the network or broadcast address of 10.1.2.0/24',
  ])
  expect(vip('api.example.com')).toEqual(['A virtual IP must be an address'])
  expect(vip('10.244.0.1')).toEqual(['10.244.0.1 lies in the pod network'])
  expect(
    vip('10.1.2.200', [
      three[0]!,
      three[1]!,
      candidate(3, { address: '10.1.9.3', addresses: ['10.1.9.3/24'] }),
    ]),
  ).toEqual(['10.1.2.200 is not in the network of web-3'])
})

test('an endpoint with the address of another server is refused; a name or a free address causes a warning', () => {
  const other = { address: '10.1.2.9', by: 'server db-1' }
  const ask = (endpoint: string) =>
    judge(
      asked(controlPlanes, { endpoint }),
      around(three, { used: [...around(three).used, other] }),
    )
  expect(ask('10.1.2.9').findings.filter((f) => !f.ok)).toMatchObject([
    { field: 'endpoint', message: expect.stringContaining('in use by server db-1') },
  ])
  expect(ask('api.example.com').warnings).toEqual([
    'api.example.com must resolve to the control planes, or to a load balancer in front of them.',
  ])
  const shared = around(three, { sharing: ['web', 'db'] })
  expect(judge(asked(controlPlanes, { endpoint: 'api.example.com' }), shared).warnings).toContain(
    'api.example.com is the endpoint of web and db as well: servers of one cluster would reach the Kubernetes API of another and not join. Give each cluster an endpoint of its own.',
  )
  expect(ask('10.1.2.77').warnings).toEqual([
    "10.1.2.77 must lead to the control planes' port 6443.",
  ])
})

test.each([
  ['https://10.1.2.3:6443', '10.1.2.3', 'https://10.1.2.3:6443'],
  ['10.1.2.3', '10.1.2.3', 'https://10.1.2.3:6443'],
  ['API.example.com:6443', 'API.example.com', 'https://api.example.com:6443'],
  ['https://[fd00::1]:6443/', 'fd00::1', 'https://[fd00::1]:6443'],
  ['fd00::1', 'fd00::1', 'https://[fd00::1]:6443'],
])('the endpoint %s is accepted and parsed', (text, host, url) => {
  expect(NewCluster.shape.endpoint.safeParse(text).success).toBe(true)
  expect(endpointHost(text)).toBe(host)
  expect(endpointUrl(endpointHost(text))).toBe(url)
})

test.each([
  '10.1.2.300',
  '10.1.2',
  '1234',
  'api.0x7f',
  'api_1.example.com',
  'https://',
  '[fd00::1',
  '-a.example.com',
])('%s is not a valid endpoint', (text) => {
  expect(NewCluster.shape.endpoint.safeParse(text).error?.issues[0]?.message).toBe(
    'Enter an IP address or a DNS name',
  )
})

test.each(['api.example.com:443', 'https://10.1.2.3:8443/', '[fd00::1]:443'])(
  'the other port of %s is refused with the reason',
  (text) => {
    expect(NewCluster.shape.endpoint.safeParse(text).error?.issues[0]?.message).toBe(
      'Leave the port out: the Kubernetes API is always on 6443, also behind a load balancer',
    )
  },
)

test('in random networks, the pod and Service ranges of an accepted cluster never contain a server', () => {
  const octet = fc.integer({ min: 0, max: 255 })
  const cidr = fc.tuple(octet, octet, fc.integer({ min: 8, max: 24 })).map(([a, b, prefix]) => {
    const base =
      ((BigInt(10) << 24n) | (BigInt(a) << 16n) | (BigInt(b) << 8n)) &
      ~((1n << BigInt(32 - prefix)) - 1n)
    return `${[24n, 16n, 8n, 0n].map((s) => String((base >> s) & 255n)).join('.')}/${prefix}`
  })
  fc.assert(
    fc.property(cidr, cidr, (pod_cidr, service_cidr) => {
      const { findings } = judge(asked(controlPlanes, { pod_cidr, service_cidr }), around(three))
      if (findings.some((f) => !f.ok)) return
      for (const network of [pod_cidr, service_cidr])
        for (const c of three)
          expect(contains(parseCidr(network)!, parseAddress(c.address)!)).toBe(false)
    }),
  )
})
