import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { NewCluster } from '#contract/clusters/clusters.ts'
import { NewTemplate } from '#contract/templates/templates.ts'
import { baseOf, chosenOf, disksLabel, type Need, needOf, readNeed, whyOf } from './need.ts'

const id = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`
const cluster = {
  name: 'shop-02',
  datacenterId: id(1),
  talos: 'v1.13.9',
  kubernetes: '',
  leftOut: [] as string[],
}
const patch = { name: 'sysctls', weight: 100, labels: {}, body: 'machine: {}' }
const template = z.parse(NewTemplate, {
  name: 'shop',
  control_planes: {
    count: 3,
    needs: {
      cores: 16,
      disks: [
        { count: 2, type: 'NVME', size_gb: 900 },
        { count: 1, type: 'HDD' },
      ],
    },
    install_disk: { type: 'SSD' },
  },
  workers: { count: 5, needs: { memory_gib: 64, labels: 'gen=r650' }, patch },
})
const base = baseOf(template)
const asked = (need: Partial<Need>, from = base) =>
  readNeed(from, { ...needOf(from), ...need }, cluster)

test('the form begins with the needs of the template, and asks for them as they are', () => {
  expect(needOf(base)).toMatchObject({
    control_planes: '3',
    control_planes_cores: '16',
    control_planes_memory: '',
    control_planes_disks: '2',
    workers: '5',
    workers_memory: '64',
    workers_disks: '',
    workers_labels: 'gen=r650',
    spread: true,
  })
  expect([disksLabel(base.control_planes), disksLabel(base.workers)]).toEqual([
    'Disks (NVME, at least 900 GB)',
    'Disks (NVME)',
  ])
  const { control_planes, workers, spread_over_racks } = template
  expect(asked({})).toMatchObject({
    ok: true,
    body: {
      template: { control_planes, workers, spread_over_racks },
      datacenter_id: id(1),
      clusters: [{ name: 'shop-02' }],
      talos_version: 'v1.13.9',
    },
  })
})

test('a person changes the needs; further rules of disks stay', () => {
  const read = asked({
    control_planes_cores: '',
    control_planes_disks: '4',
    workers: '7',
    workers_disks: '2',
    workers_labels: '',
    spread: false,
  })
  expect(read.ok && read.body.template).toMatchObject({
    spread_over_racks: false,
    control_planes: {
      needs: {
        disks: [
          { count: 4, type: 'NVME', size_gb: 900 },
          { count: 1, type: 'HDD' },
        ],
      },
      install_disk: { type: 'SSD' },
    },
    workers: { count: 7, needs: { memory_gib: 64, disks: [{ count: 2, type: 'NVME' }] }, patch },
  })
  expect(read.ok && 'cores' in read.body.template!.control_planes!.needs!).toBe(false)
})

test('the image of the template is asked for, unless it is left out', () => {
  const image = { extensions: ['siderolabs/gvisor'], kernel_args: [] }
  const of = (leftOut: string[]) => {
    const read = readNeed({ ...base, ...image }, needOf(base), { ...cluster, leftOut })
    return read.ok && read.body.template
  }
  expect(of([])).toMatchObject(image)
  expect(of(['extensions'])).not.toHaveProperty('extensions')
})

test('without a template three control planes are asked for, on any servers', () => {
  const read = asked({}, baseOf(undefined))
  expect(read.ok && read.body.template).toMatchObject({
    control_planes: { count: 3, needs: { disks: [] }, workload_disks: {} },
    workers: { count: 0 },
    spread_over_racks: true,
  })
})

test.each<[Partial<Need>, string, RegExp]>([
  [{ control_planes: '2' }, 'control_planes', /control planes/],
  [{ control_planes: '' }, 'control_planes', /^The number of servers is/],
  [{ workers: 'five' }, 'workers', /^The number of servers is/],
  [{ workers_cores: '-1' }, 'workers_cores', /^The number of cores is 1 to 10,000$/],
  [{ workers_memory: 'x' }, 'workers_memory', /^The memory is 1 to 100,000 GiB$/],
  [{ workers_disks: '101' }, 'workers_disks', /^The number of disks is 1 to 100$/],
  [{ control_planes_labels: '=' }, 'control_planes_labels', /./],
])('%j is refused at its field', (need, field, sentence) => {
  expect(asked(need)).toEqual({
    ok: false,
    fields: { [field]: expect.stringMatching(sentence) as unknown },
  })
})

test('the servers of the plan are chosen with their disks, patches and reasons', () => {
  const disk = { device: '/dev/sda', disk: 'SSD', size: null, content: 'empty' }
  const planned = (n: number, role: 'control_plane' | 'worker') => ({
    node_id: id(n),
    name: `s-${n}`,
    role,
    rack: 'R1',
    reasons: ['32 cores, at least 16', 'alone in rack R1'],
    install_disk: { ...disk, reason: 'the smallest empty disk', wiped: true },
    workload_disks: [],
  })
  const servers = [planned(2, 'control_plane'), planned(3, 'worker')]
  const chosen = chosenOf({
    name: 'shop-02',
    servers,
    body: z.parse(NewCluster, {
      name: 'shop-02',
      datacenter_id: id(1),
      servers: servers.map(({ node_id, role }) => ({
        node_id,
        role,
        install_disk: '/dev/sda',
        workload_disks: ['/dev/nvme0n1'],
        ...(role === 'worker' && { patch }),
      })),
    }),
    to_confirm: [],
    subnets: [],
  })
  const why = [
    '32 cores, at least 16',
    'alone in rack R1',
    'Talos on /dev/sda: the smallest empty disk',
  ]
  const one = { roleSet: true, link: '', installDisk: 'sda', workloadDisks: ['nvme0n1'], why }
  expect(chosen).toEqual({
    [id(2)]: { ...one, role: 'control_plane' },
    [id(3)]: { ...one, role: 'worker', patch },
  })
  const { why: _why, ...byHand } = one
  expect(
    whyOf({ [id(4)]: { ...byHand, role: 'worker' }, ...chosen }, [
      { id: id(4), name: 'own' },
      { id: id(3), name: 's-3' },
      { id: id(2), name: 's-2' },
      { id: id(5), name: 'free' },
    ]).map(({ name, why: said }) => [name, said]),
  ).toEqual([
    ['s-2', why.join('; ')],
    ['own', 'chosen by you'],
    ['s-3', why.join('; ')],
  ])
})
