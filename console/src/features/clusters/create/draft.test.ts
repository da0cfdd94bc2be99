import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { NewCluster } from '#contract/clusters/clusters.ts'
import { disksToConfirm } from '#contract/disks/wipe.ts'
import type { Server } from '#contract/servers/servers.ts'
import {
  bySize,
  canTake,
  firstFive,
  installDisks,
  leaving,
  proposalText,
  sumOf,
  taking,
  warningsOf,
  withRoles,
  workloadText,
} from './choice.ts'
import { chosenDisks, confirmedOf, keyOf } from './wiped.ts'
import {
  blank,
  bodyOf,
  canReview,
  clusterProblems,
  type Draft,
  KeptDraft,
  problemsOf,
} from './draft.ts'
import { createCommand } from './create-command.ts'

const gib = 1024 ** 3
const server = (id: string, cores = 32) => ({
  id,
  name: `server-${id}`,
  talos: { installed: null },
  hardware: { cores, memory_bytes: 256 * gib },
  resources: {
    node_addresses: [],
    interfaces: [],
    processors: [],
    memory: [],
    disks: [
      { id: 'nvme1n1', size: 3840 * 10 ** 9, content: 'empty' },
      { id: 'nvme0n1', size: 960 * 10 ** 9, content: 'empty' },
      { id: 'sda', size: 4 * gib, content: 'empty' },
    ],
  },
})
const ids = Array.from({ length: 5 }, (_, i) => `00000000-0000-4000-8000-00000000000${i}`)
const filled: Draft = {
  ...blank,
  name: 'poz-edge-04',
  datacenterId: crypto.randomUUID(),
  servers: taking(ids.map((id) => server(id))),
}

test('a typed Kubernetes version must belong to a minor that the chosen Talos version supports', () => {
  const support = { ends: null, ended: false }
  const versions = [
    {
      talos_version: 'v1.13.9',
      prerelease: false,
      support,
      kubernetes_versions: ['1.36.3'],
      kubernetes: [{ version: '1.36.3', support }],
      kubernetes_minors: ['1.31', '1.36'] as [string, string],
    },
  ]
  const problem = (kubernetes: string) =>
    clusterProblems({ ...filled, talos: 'v1.13.9', kubernetes }, [], versions).kubernetes
  expect(['', '1.36.3', '1.35.99'].map(problem)).toEqual([undefined, undefined, undefined])
  expect(problem('1.37.0')).toBe('Talos v1.13.9 runs Kubernetes 1.31 to 1.36, not 1.37.0')
  expect(problem('1.36')).toBe('Enter a version such as 1.36.3')
})

test('five selected servers become three control planes and two workers, installed on the smallest disk that is large enough', () => {
  expect(Object.values(filled.servers).map((c) => c.role)).toEqual([
    'control_plane',
    'control_plane',
    'control_plane',
    'worker',
    'worker',
  ])
  expect(installDisks(server('x')).map((d) => d.id)).toEqual(['nvme0n1', 'nvme1n1'])
  expect(filled.servers[ids[0]!]).toMatchObject({
    installDisk: 'nvme0n1',
    workloadDisks: ['nvme1n1', 'sda'],
  })
})

test('a disk with content or a removable disk is never preselected, and must be confirmed before it is wiped', () => {
  const s = server('x')
  const disks = [
    { id: 'sdb', size: 100 * gib, serial: 'S1', content: 'ext4 "data"' },
    { id: 'sdc', size: 30 * gib, serial: 'U1', transport: 'usb', content: 'empty' },
    ...s.resources.disks,
  ]
  const full = { ...s, resources: { ...s.resources, disks } }
  const draft = { ...blank, servers: taking([full]) }
  expect(draft.servers['x']).toMatchObject({
    installDisk: 'nvme0n1',
    workloadDisks: ['nvme1n1', 'sda'],
  })
  expect(disksToConfirm(chosenDisks(draft, [full]))).toEqual([])
  const chosen = {
    ...draft,
    servers: { x: { ...draft.servers['x']!, workloadDisks: ['sdb', 'sdc'] } },
  }
  const asked = disksToConfirm(chosenDisks(chosen, [full]))
  expect(asked.map((d) => d.by)).toEqual([
    { serial: 'S1', content: 'ext4 "data"' },
    { serial: 'U1', content: 'empty' },
  ])
  // The request names only the disks that the user has ticked.
  const one = confirmedOf(chosenDisks(chosen, [full]), new Set([keyOf(asked[0]!)]))
  expect(one).toEqual([{ serial: 'S1', content: 'ext4 "data"' }])
  // If the content has changed since, the disk must be confirmed again.
  const changed = {
    ...full,
    resources: {
      ...full.resources,
      disks: disks.map((d) => (d.id === 'sdb' ? { ...d, content: 'xfs' } : d)),
    },
  }
  expect(confirmedOf(chosenDisks(chosen, [changed]), new Set([keyOf(asked[0]!)]))).toEqual([])
})

test('a server whose only disk is a USB stick has no preselected install disk', () => {
  const s = server('x')
  const only = {
    ...s,
    resources: {
      ...s.resources,
      disks: [{ id: 'sda', size: 30 * gib, transport: 'usb', content: 'empty' }],
    },
  }
  expect(taking([only])['x']).toMatchObject({ installDisk: '', workloadDisks: [] })
})

test('the smallest servers are proposed as control planes, and a role set by the user is kept', () => {
  const fleet = [server('a', 64), server('b', 16), server('c', 32), server('d', 8), server('e', 64)]
  const rolesOf = (chosen: Draft['servers']) =>
    Object.entries(chosen)
      .filter(([, c]) => c.role === 'control_plane')
      .map(([id]) => id)
      .toSorted()
  const all = taking(fleet)
  expect(rolesOf(all)).toEqual(['b', 'c', 'd'])
  expect(proposalText(all, fleet)).toBe(
    'Proposed as control planes: server-b, server-c, server-d (the smallest of the chosen servers by compute units, then memory). You can change any role.',
  )
  // Selecting the servers one by one gives the same roles as selecting all at once. Of two servers,
  // one is a control plane.
  let one: Draft['servers'] = {}
  for (const s of fleet) one = taking([s], one, fleet)
  expect(rolesOf(one)).toEqual(['b', 'c', 'd'])
  expect(rolesOf(taking(fleet.slice(0, 2)))).toEqual(['b'])
  // The user makes the largest server a control plane: the two smallest servers are proposed too.
  // If one of them is deselected, the next smallest follows.
  const byHand = withRoles(
    { ...all, a: { ...all['a']!, role: 'control_plane', roleSet: true } },
    fleet,
  )
  expect(rolesOf(byHand)).toEqual(['a', 'b', 'd'])
  expect(rolesOf(leaving('d', byHand, fleet))).toEqual(['a', 'b', 'c'])
  expect(firstFive([...fleet, server('f', 8)]).map((s) => s.id)).toEqual(['d', 'f', 'b', 'a', 'c'])
})

test('control planes are proposed from as many racks as possible, and a shared rack is warned of', () => {
  const inRack = (id: string, cores: number, rack: string) => ({
    ...server(id, cores),
    placement: {
      rack: { id: rack, name: rack },
      unit: 1,
      height: 1,
      face: 'both' as const,
      bay: null,
    },
  })
  const fleet = [
    inRack('a', 8, 'R1'),
    inRack('b', 8, 'R1'),
    inRack('c', 16, 'R1'),
    inRack('d', 64, 'R2'),
    inRack('e', 32, 'R3'),
  ]
  const all = taking(fleet)
  const proposed = Object.keys(all).filter((id) => all[id]!.role === 'control_plane')
  expect(proposed.toSorted()).toEqual(['a', 'd', 'e'])
  expect(proposalText(all, fleet)).toContain(
    '(the smallest of the chosen servers by compute units, then memory, spread over racks)',
  )
  const draft = { ...filled, servers: all }
  expect(warningsOf(draft, fleet).join()).not.toContain('rack')
  const moved = { ...all, b: { ...all['b']!, role: 'control_plane' as const, roleSet: true } }
  expect(warningsOf({ ...draft, servers: moved }, fleet)).toContain(
    'The control planes server-a and server-b are in rack R1: without this rack etcd loses its majority, and the cluster is down.',
  )
})

test('a server with too little memory for a control plane, or with unknown hardware, is proposed last', () => {
  const tiny = { ...server('tiny', 1), hardware: { cores: 1, memory_bytes: gib } }
  const silent = { ...server('silent'), hardware: { cores: null, memory_bytes: null } }
  expect(bySize([tiny, silent, server('a', 64), server('b', 16)]).map((s) => s.id)).toEqual([
    'b',
    'a',
    'silent',
    'tiny',
  ])
})

test('if Talos is installed on a disk already, only that disk can be the install disk', () => {
  const kept = {
    ...server('x'),
    talos: { installed: { version: 'v1.13.9', disk: '/dev/nvme1n1' } },
  }
  expect(installDisks(kept).map((d) => d.id)).toEqual(['nvme1n1'])
  expect(taking([kept])['x']).toMatchObject({
    installDisk: 'nvme1n1',
    workloadDisks: ['nvme0n1', 'sda'],
  })
  const whole = {
    ...kept,
    status: 'maintenance',
    eligibility: [],
    talos: { ...kept.talos, version: 'v1.13.9' },
  } as unknown as Server
  const chosen = {
    role: 'worker',
    roleSet: true,
    link: '',
    installDisk: 'nvme1n1',
    workloadDisks: [],
  } as const
  expect(canTake(whole, 'v1.13.9')).toEqual({ ok: true })
  expect(canTake(whole, 'v1.13.9', { ...chosen, workloadDisks: [] })).toEqual({ ok: true })
  // The install disk was chosen before Steelyard knew that Talos is installed on another disk:
  // refused.
  expect(
    canTake(whole, 'v1.13.9', { ...chosen, installDisk: 'nvme0n1', workloadDisks: [] }),
  ).toMatchObject({
    reason: 'Talos is installed on /dev/nvme1n1; choose that disk, not /dev/nvme0n1',
  })
  expect(canTake(whole, 'v1.12.11').ok).toBe(false)
})

test('the request body matches the schema of the contract', () => {
  const body = bodyOf({ ...filled, endpointKind: 'virtual', endpoint: '10.0.0.10', vlan: '214' })
  expect(z.parse(NewCluster, body)).toMatchObject({
    endpoint: '10.0.0.10',
    virtual_ip: true,
    vlan_id: 214,
  })
  expect(bodyOf(filled)).not.toHaveProperty('endpoint')
})

test('each invalid field of the first step shows the message of the rule it breaks', () => {
  expect(clusterProblems(filled, [])).toEqual({})
  expect(
    clusterProblems(
      {
        ...filled,
        name: 'Edge',
        datacenterId: '',
        vlan: '5000',
        podCidr: '10.244.0.1/16',
        endpointKind: 'host',
        endpoint: 'a b',
      },
      [],
    ),
  ).toEqual({
    name: 'Cluster name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    datacenterId: 'Choose a datacenter',
    vlan: 'VLAN ID must be between 1 and 4094',
    podCidr: 'Pod CIDR must be a network such as 10.244.0.0/16, with host bits zero',
    endpoint: 'Enter an IP address or a DNS name',
  })
  expect(clusterProblems(filled, ['poz-edge-04']).name).toBe(
    'Cluster name already exists. Please choose a different name.',
  )
  // 22 ipv6-cluster-on-ipv4-servers and 25 endpoint-nobody-can-reach, at their fields.
  expect(clusterProblems({ ...filled, serviceCidr: 'fd00::/112' }, []).serviceCidr).toContain(
    'dual stack',
  )
  for (const endpoint of ['0.0.0.0', 'localhost', '224.0.0.1'])
    expect(clusterProblems({ ...filled, endpointKind: 'host', endpoint }, []).endpoint).toContain(
      'reach it',
    )
  expect(clusterProblems({ ...filled, serviceCidr: '10.244.128.0/20' }, []).serviceCidr).toContain(
    'overlaps the pod CIDR',
  )
})

test('an even number of control planes is refused, and a single one causes a warning', () => {
  const only = (n: number): Draft => ({
    ...filled,
    servers: Object.fromEntries(Object.entries(filled.servers).slice(0, n)),
  })
  expect(canReview(only(0))).toMatchObject({ ok: false })
  expect(canReview(only(2))).toMatchObject({ ok: false })
  expect(canReview(only(1))).toEqual({ ok: true })
  expect(warningsOf(only(1), [])[0]).toContain('Three are recommended')
  expect(canReview(filled)).toEqual({ ok: true })
})

test('the total capacity is unknown if the hardware of one server is unknown', () => {
  const known = ids.map((id) => server(id))
  expect(sumOf(filled, known as never)).toMatchObject({
    servers: 5,
    controlPlanes: 3,
    workers: 2,
    units: 160,
    vcpu: 320,
    memoryBytes: 1280 * gib,
  })
  expect(
    sumOf(
      filled,
      known.map((s, i) =>
        i === 0 ? { ...s, hardware: { cores: null, memory_bytes: null } } : s,
      ) as never,
    ).units,
  ).toBeNull()
})

test('an error of the API is shown at the field that it names', () => {
  expect(
    problemsOf({
      'servers.0.install_disk': 'The disk is too small',
      pod_cidr: 'It overlaps',
      colour: 'x',
    }),
  ).toEqual({
    servers: 'The disk is too small',
    podCidr: 'It overlaps',
  })
})

test('a stored draft that does not match the schema is ignored', () => {
  expect(z.safeParse(KeptDraft, JSON.parse(JSON.stringify(filled))).data).toEqual(filled)
  expect(z.safeParse(KeptDraft, { name: 'x' }).success).toBe(false)
})

test('workload disks of equal size are shown with count and size, disks of different sizes with count and total size', () => {
  const tb = 1_000_000_000_000
  expect(workloadText([])).toBe('None')
  expect(workloadText([{ size: 2 * tb }, { size: 2 * tb }])).toBe('2 × 2\u00a0TB')
  expect(workloadText([{ size: 2 * tb }, { size: 8 * tb }])).toBe('2 disks, 10\u00a0TB')
  expect(workloadText([{ size: 2 * tb }, {}])).toBe('2 disks')
})

const named = ['a', 'b', 'c'].map((id) => ({ id, name: `server-${id}` }))
const how = { roleSet: true, link: '', installDisk: 'sda', workloadDisks: [] }

test('the CLI command names servers by role and disks by server, and omits default values', () => {
  const draft = {
    ...blank,
    name: 'web',
    servers: {
      a: { ...how, role: 'control_plane' as const },
      c: { ...how, role: 'worker' as const, link: 'eth1', workloadDisks: ['sdb', 'sdc'] },
    },
  }
  expect(createCommand(draft, named, 'PL-POZ-1')).toBe(
    'steelyard cluster create web --datacenter PL-POZ-1 --control-plane server-a --worker server-c --interface server-c=eth1' +
      ' --install-disk server-a=/dev/sda --install-disk server-c=/dev/sda --workload-disk server-c=/dev/sdb --workload-disk server-c=/dev/sdc',
  )
})

test('the CLI command includes what is taken over from a template', () => {
  const taken = {
    labels: { shop: 'edge', spare: '' },
    subnet_ids: ['n-1'],
    extensions: [],
    kernel_args: ['panic=10'],
    maintenance_window: {
      days: ['sat' as const, 'sun' as const],
      from: '02:30',
      minutes: 240,
      time_zone: 'UTC',
    },
    snapshots: { store_id: 's-1', every_hours: 6 as const, keep_count: null },
  }
  expect(createCommand({ ...blank, name: 'web' }, named, 'PL-POZ-1', taken)).toBe(
    'steelyard cluster create web --datacenter PL-POZ-1 --label shop=edge --label spare --subnet n-1 --no-extensions --kernel-arg panic=10' +
      ' --window-day sat --window-day sun --window-from 02:30 --window-minutes 240 --window-time-zone UTC --snapshot-store s-1 --snapshot-every 6 --snapshot-keep 0',
  )
})

test('the CLI command includes the choices of the first step', () => {
  const draft = {
    ...blank,
    name: 'web',
    talos: 'v1.12.11',
    kubernetes: '1.34.0',
    vlan: '214',
    endpointKind: 'virtual' as const,
    endpoint: '10.0.0.9',
    podCidr: '10.1.0.0/16',
  }
  expect(createCommand(draft, named, 'PL-POZ-1')).toBe(
    'steelyard cluster create web --datacenter PL-POZ-1 --talos-version v1.12.11 --kubernetes-version 1.34.0 --endpoint 10.0.0.9 --virtual-ip --vlan-id 214 --pod-cidr 10.1.0.0/16',
  )
})
