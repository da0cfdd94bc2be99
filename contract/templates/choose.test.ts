import * as z from 'zod/mini'
import { describe, expect, test } from 'vitest'
import type { DiskFacts } from '../disks/disks.ts'
import { type Choosable, chooseServers, type Wish } from './choose.ts'
import { gibibyte, gigabyte, InstallDisk, Needs, WorkloadDisks } from './needs.ts'

const nvme = (id: string, more: Partial<DiskFacts> = {}): DiskFacts => ({
  id,
  size: 960 * gigabyte,
  type: 'NVME',
  model: 'PM9A3',
  transport: 'nvme',
  serial: `S-${id}`,
  content: 'empty',
  ...more,
})
let next = 0
const server = (
  name: string,
  {
    rack,
    cores = 32,
    memory = 128,
    disks = [nvme('nvme0n1'), nvme('nvme1n1')],
    ...more
  }: Partial<Omit<Choosable, 'resources' | 'placement' | 'hardware'>> & {
    rack?: string
    cores?: number | null
    memory?: number | null
    disks?: DiskFacts[]
  } = {},
): Choosable => ({
  id: `00000000-0000-4000-8000-${String(++next).padStart(12, '0')}`,
  name,
  status: 'maintenance',
  cluster: null,
  placement:
    rack === undefined
      ? null
      : { rack: { id: rack, name: rack }, unit: 1, height: 1, face: 'both', bay: null },
  hardware: {
    maker: null,
    model: null,
    cores,
    memory_bytes: memory === null ? null : memory * gibibyte,
    disk_bytes: null,
  },
  eligibility: [],
  operation_id: null,
  talos: { version: 'v1.13.9', installed: null },
  resources: { disks },
  ...more,
})

const role = (
  count: number,
  needs: z.input<typeof Needs> = {},
  disks: { install?: z.input<typeof InstallDisk>; workload?: z.input<typeof WorkloadDisks> } = {},
) => ({
  count,
  needs: z.parse(Needs, needs),
  install_disk: z.parse(InstallDisk, disks.install ?? {}),
  workload_disks: disks.workload ? z.parse(WorkloadDisks, disks.workload) : null,
})
const wish = (more: Partial<Wish> = {}): Wish => ({
  control_plane: role(3),
  worker: role(0),
  isSpread: true,
  ...more,
})
const racked = (racks: number, each: number) =>
  Array.from({ length: racks * each }, (_, i) =>
    server(`s-${String(i).padStart(2, '0')}`, { rack: `R${Math.floor(i / each)}` }),
  )
const names = ({ clusters }: ReturnType<typeof chooseServers<Choosable>>) =>
  clusters?.map((cluster) => cluster.map((one) => one.server.name))

describe('servers are chosen', () => {
  test('3 + 5 of the hardware asked for, spread over racks, each with its reasons', () => {
    const needs = { cores: 16, disks: [{ count: 2, type: 'NVME' as const }] }
    const servers = [...racked(4, 3), server('small', { rack: 'R9', cores: 8 })]
    const choice = chooseServers(
      servers,
      wish({ control_plane: role(3, needs), worker: role(5, needs) }),
    )
    const [cluster] = choice.clusters!
    expect(cluster!.map((one) => one.role)).toEqual([
      ...Array<string>(3).fill('control_plane'),
      ...Array<string>(5).fill('worker'),
    ])
    const racks = cluster!.map((one) => one.server.placement!.rack.name)
    expect(new Set(racks.slice(0, 3)).size).toBe(3)
    expect(racks.toSorted()).toEqual(['R0', 'R0', 'R1', 'R1', 'R2', 'R2', 'R3', 'R3'])
    expect(cluster![0]!.reasons).toEqual([
      '32 cores, at least 16',
      '2 disks (NVME), at least 2',
      expect.stringMatching(/^rack R0, with s-0\d$/),
    ])
    expect(choice.left).toEqual([
      expect.objectContaining({ reason: 'suitable, not needed' }),
      { reason: 'fewer than 16 cores', servers: [servers.at(-1)] },
    ])
  })

  test('the smallest that suits, so that larger servers stay free', () => {
    const servers = [server('large', { cores: 64 }), server('b'), server('a')]
    expect(names(chooseServers(servers, wish({ control_plane: role(1) })))).toEqual([['a']])
  })

  test('a server with a finding or a disk with content only after the others', () => {
    const finding = {
      id: '00000000-0000-4000-8000-00000000ffff',
      kind: 'server_drift' as never,
      severity: 'attention' as const,
      since: '2026-11-28T08:00:00Z',
      reason: 'Its configuration differs',
    }
    const servers = [
      server('a', { finding }),
      server('b', { disks: [nvme('nvme0n1', { content: 'ext4' })] }),
      server('c', { cores: 64 }),
    ]
    const choice = chooseServers(servers, wish({ isSpread: false }))
    expect(names(choice)).toEqual([['c', 'b', 'a']])
    expect(choice.clusters![0]![1]!.install_disk.content).toBe('ext4')
  })

  test('without spreading, in their order', () => {
    const choice = chooseServers(racked(3, 3), wish({ isSpread: false }))
    expect(names(choice)).toEqual([['s-00', 's-01', 's-02']])
    expect(choice.clusters![0]![0]!.reasons).toEqual(['rack R0, with s-01 and s-02'])
  })

  test('a server without a rack says so', () => {
    const choice = chooseServers([server('a')], wish({ control_plane: role(1) }))
    expect(choice.clusters![0]![0]!.reasons).toEqual(['its rack is not known'])
  })

  test('for ten clusters no server twice, each spread over racks', () => {
    const choice = chooseServers(racked(8, 11), wish({ worker: role(5) }), 10)
    const all = names(choice)!.flat()
    expect(all).toHaveLength(80)
    expect(new Set(all).size).toBe(80)
    for (const cluster of choice.clusters!) {
      const controlPlanes = cluster.filter((one) => one.role === 'control_plane')
      expect(new Set(controlPlanes.map((one) => one.server.placement!.rack.id)).size).toBe(3)
    }
  })

  test('control planes leave the servers that alone suit workers', () => {
    // The racks of the servers that suit only control planes are crowded; the last suits both.
    const both = server('both', { rack: 'R9', labels: { use: 'work' } })
    const servers = [both, ...['a', 'b', 'c'].map((name) => server(name, { rack: 'R1' }))]
    const choice = chooseServers(servers, wish({ worker: role(1, { labels: 'use=work' }) }))
    expect(names(choice)).toEqual([['a', 'b', 'c', 'both']])
  })

  test('ten thousand servers in a short time, and the same ones each time', () => {
    const servers = racked(400, 25)
    const choose = () => chooseServers(servers, wish({ worker: role(490) }), 20)
    const first = choose()
    expect(first.clusters!.flat()).toHaveLength(20 * 493)
    expect(names(choose())).toEqual(names(first))
    // A rack that is as full as the cluster is large is not listed at each of its servers.
    const crowd = chooseServers(racked(1, 60), wish({ worker: role(50) })).clusters![0]!
    expect(crowd[0]!.reasons[0]).toMatch(/^rack R0, with (?:s-\d\d, ){19}s-\d\d and 32 more$/)
  })
})

describe('servers are not chosen', () => {
  const broken = { check: 'reachable' as const, ok: false, reason: 'It does not answer' }
  test.each<[string, Choosable, z.input<typeof Needs>]>([
    ['in a cluster already', server('x', { cluster: { id: 'c', name: 'web' } }), {}],
    [
      'in quarantine',
      server('x', { quarantine: { reason: 'Its fan hums', by: 'a@b.c', since: '' } }),
      {},
    ],
    [
      'an open finding says that it is down',
      server('x', { finding: { severity: 'down' } as never }),
      {},
    ],
    [
      'an operation runs on it',
      server('x', { operation_id: '00000000-0000-4000-8000-000000000001' }),
      {},
    ],
    ['It does not answer', server('x', { eligibility: [broken] }), {}],
    ['fewer than 64 cores', server('x'), { cores: 64 }],
    ['fewer than 8 cores', server('x', { cores: null }), { cores: 8 }],
    ['less than 256 GiB of memory', server('x'), { memory_gib: 256 }],
    ['less than 1 GiB of memory', server('x', { memory: null }), { memory_gib: 1 }],
    ['less memory than Talos needs on a control plane', server('x', { memory: 1 }), {}],
    ['fewer than 3 disks', server('x'), { disks: [{ count: 3 }] }],
    [
      'fewer than 1 disk (SSD, at least 100 GB)',
      server('x'),
      { disks: [{ count: 1, type: 'SSD', size_gb: 100 }] },
    ],
    [
      'labels other than gen=r650',
      server('x', { labels: { gen: 'r640' } }),
      { labels: 'gen=r650' },
    ],
    ['no fixed disk for Talos', server('x', { disks: [] }), {}],
    ['no fixed disk for Talos', server('x', { disks: [nvme('sdb', { transport: 'usb' })] }), {}],
  ])('%s', (reason, one, needs) => {
    const choice = chooseServers([one], wish({ control_plane: role(1, needs) }))
    expect(choice).toEqual({
      clusters: null,
      left: [{ reason, servers: [one] }],
      refusal: `Too few servers for 1 control plane: 0 servers suit. Of the others, 1: ${reason}`,
    })
  })

  test('a server that can not get the image says why, if nothing else is in its way', () => {
    const [kept, busy] = [
      server('kept'),
      server('busy', { cluster: { id: 'c', name: 'web' } }),
    ] as const
    const otherImage = new Map([kept, busy].map(({ id }) => [id, 'another image']))
    const choice = chooseServers(
      [server('free'), kept, busy],
      wish({ control_plane: role(1), otherImage }),
    )
    expect(names(choice)).toEqual([['free']])
    expect(choice.left.map(({ reason }) => reason)).toEqual([
      'another image',
      'in a cluster already',
    ])
  })

  test('of a server that suits no role, the reasons of both are told', () => {
    const choice = chooseServers(
      [server('x')],
      wish({ control_plane: role(1, { cores: 64 }), worker: role(1, { memory_gib: 512 }) }),
    )
    expect(choice.left[0]!.reason).toBe('fewer than 64 cores; less than 512 GiB of memory')
  })

  test('the refusal counts what suits each role, and the reasons of the others', () => {
    const servers = [
      ...racked(2, 2),
      server('q', { quarantine: { reason: 'x', by: 'a', since: '' } }),
      server('c', { cluster: { id: 'c', name: 'web' } }),
      server('d', { cluster: { id: 'c', name: 'web' } }),
    ]
    const choice = chooseServers(servers, wish({ worker: role(5, { cores: 16 }) }))
    expect(choice.refusal).toBe(
      'Too few servers for 3 control planes and 5 workers: 4 servers suit (4 as control planes, 4 as workers). Of the others, 2: in a cluster already; 1: in quarantine',
    )
    expect(choice.clusters).toBeNull()
  })

  test('enough for one cluster is not enough for two', () => {
    const servers = racked(5, 1)
    expect(chooseServers(servers, wish()).refusal).toBeNull()
    expect(chooseServers(servers, wish(), 2).refusal).toMatch(/for 6 control planes/)
  })

  test('one cluster after another gets what the others leave, never less', () => {
    const servers = racked(2, 4)
    expect(chooseServers(servers, wish({ worker: role(1) }), 2).clusters).toHaveLength(2)
    expect(chooseServers(servers, wish({ worker: role(2) }), 2).clusters).toBeNull()
  })
})

describe('disks by rule', () => {
  const disks = [
    nvme('nvme0n1', { size: 3840 * gigabyte }),
    nvme('nvme1n1', { size: 960 * gigabyte, content: 'ext4' }),
    nvme('sda', { size: 480 * gigabyte, type: 'SSD', model: 'SSDSC2KB', transport: 'sata' }),
    nvme('sdb', { size: 240 * gigabyte, type: 'SSD', model: 'SSDSC2KB', transport: 'sata' }),
    nvme('sdc', { size: 16 * gigabyte, type: 'SSD', transport: 'usb' }),
  ]
  const chosen = (
    install: z.input<typeof InstallDisk>,
    workload?: z.input<typeof WorkloadDisks>,
    on = server('x', { disks }),
  ) => {
    const choice = chooseServers(
      [on],
      wish({ control_plane: role(1, {}, { install, ...(workload && { workload }) }) }),
    )
    const one = choice.clusters?.[0]?.[0]
    return one
      ? [one.install_disk.id, one.install_reason, one.workload_disks.map((d) => d.id)]
      : choice.left[0]!.reason
  }
  test.each<[z.input<typeof InstallDisk>, string, string]>([
    [{}, 'sdb', 'the smallest empty disk'],
    [{ prefer: 'largest' }, 'nvme0n1', 'the largest empty disk'],
    [{ type: 'NVME' }, 'nvme0n1', 'the smallest empty disk with NVME'],
    [{ size_gb: 400 }, 'sda', 'the smallest empty disk with at least 400 GB'],
    [{ model: 'ssdsc2', prefer: 'largest' }, 'sda', 'the largest empty disk with model ssdsc2'],
    [
      { type: 'NVME', size_gb: 900 },
      'nvme0n1',
      'the smallest empty disk with NVME, at least 900 GB',
    ],
  ])('%j takes %s: %s', (rule, disk, reason) => {
    expect(chosen(rule)).toEqual([disk, reason, []])
  })

  test('a disk that none of them has leaves the server out', () => {
    expect(chosen({ type: 'HDD' })).toBe('no fixed disk for Talos (HDD)')
    expect(chosen({ model: 'Optane' })).toBe('no fixed disk for Talos (model Optane)')
  })

  test('Talos that is installed stays where it is', () => {
    const on = server('x', {
      disks,
      talos: { version: 'v1.13.9', installed: { version: 'v1.13.9', disk: '/dev/sda' } },
    })
    expect(chosen({ type: 'NVME' }, undefined, on)).toEqual([
      'sda',
      'Talos is installed on it already',
      [],
    ])
  })

  test('the workload gets empty fixed disks beside it, and never one with content', () => {
    expect(chosen({}, {})).toEqual(['sdb', 'the smallest empty disk', ['sda', 'nvme0n1']])
    expect(chosen({}, { type: 'NVME' })).toEqual(['sdb', 'the smallest empty disk', ['nvme0n1']])
    expect(chosen({}, { count: 1 })).toEqual(['sdb', 'the smallest empty disk', ['sda']])
    expect(chosen({}, { type: 'NVME', count: 2 })).toBe(
      'fewer than 2 empty disks for the workload (NVME)',
    )
  })
})
