import { expect, test } from 'vitest'
import { contentsOf, type Volume } from './disk-content.ts'

const disk = (id: string, kind = '', label = ''): Volume => ({
  id,
  parent: '',
  kind,
  label,
  partitionLabel: '',
  partition: 0,
  isPartition: false,
})
const part = (
  parent: string,
  partition: number,
  kind: string,
  label = '',
  partitionLabel = '',
): Volume => ({
  id: `${parent}${partition}`,
  parent,
  kind,
  label,
  partitionLabel,
  partition,
  isPartition: true,
})
const told = (...volumes: Volume[]) => contentsOf(volumes, []).get('sda')

test.each<[string, Volume[]]>([
  ['empty', [disk('sda')]],
  ['ext4 "data"', [disk('sda', 'extfs', 'data')]],
  ['xfs', [disk('sda', 'xfs')]],
  ['member of a Linux RAID "nas:0"', [disk('sda', 'linux_raid_member', 'nas:0')]],
  ['LVM physical volume', [disk('sda', 'lvm2-pv')]],
  ['Ceph OSD', [disk('sda', 'bluestore')]],
  ['ZFS member', [disk('sda', 'zfs')]],
  ['encrypted (LUKS)', [disk('sda', 'luks')]],
  ['swap', [disk('sda', 'swap')]],
  ['what-is-new', [disk('sda', 'what-is-new')]],
  ['GPT partition table without partitions', [disk('sda', 'gpt')]],
  [
    '3 partitions: 1 vfat "EFI System Partition", 2 swap "swap", 3 ext4 "root"',
    [
      disk('sda', 'gpt'),
      part('sda', 3, 'extfs', 'root', 'Linux'),
      part('sda', 1, 'vfat', '', 'EFI System Partition'),
      part('sda', 2, 'swap', '', 'swap'),
    ],
  ],
  ['1 partition: 1 unknown content', [disk('sda'), part('sda', 1, '')]],
  // The kernel knows partitions that Talos doesn't: of an MBR, or of a disk that was wiped in this
  // boot.
  [
    '2 partitions without GPT: ext4 "root", unknown content',
    [
      disk('sda'),
      { ...part('sda', 0, 'extfs', 'root'), id: 'sda1' },
      { ...part('sda', 0, ''), id: 'sda2' },
    ],
  ],
  [
    'Talos',
    [
      disk('sda', 'gpt'),
      part('sda', 1, 'vfat', 'EFI', 'EFI'),
      part('sda', 2, '', '', 'META'),
      part('sda', 3, '', '', 'STATE'),
    ],
  ],
  // An EFI partition alone doesn't identify Talos, because any operating system may have one.
  ['1 partition: 1 vfat "EFI"', [disk('sda', 'gpt'), part('sda', 1, 'vfat', 'EFI', 'EFI')]],
  [
    '5 partitions: 1 xfs "META", 2 xfs "STATE", 3 xfs "EPHEMERAL", 4 vfat "EFI", 5 extfs2 "data"',
    [
      disk('sda', 'gpt'),
      part('sda', 1, 'xfs', '', 'META'),
      part('sda', 2, 'xfs', '', 'STATE'),
      part('sda', 3, 'xfs', '', 'EPHEMERAL'),
      part('sda', 4, 'vfat', '', 'EFI'),
      part('sda', 5, 'extfs2', '', 'data'),
    ],
  ],
])('the content of a disk is described as: %s', (sentence, volumes) => {
  expect(told(...volumes)).toBe(sentence)
})

test('a RAID member isn’t shown as empty, even if no content was found on it', () => {
  expect(contentsOf([disk('sda'), disk('sdb')], [{ id: 'md127', parts: ['sda'] }])).toEqual(
    new Map([
      ['sda', 'part of md127'],
      ['sdb', 'empty'],
    ]),
  )
})

test('a disk says which RAID has it or one of its partitions, and not which mapped volumes have it', () => {
  const raid = [
    disk('sda', 'linux_raid_member', 'nas:0'),
    disk('sdb', 'gpt'),
    part('sdb', 1, 'linux_raid_member', 'nas:1'),
    disk('sdc', 'lvm2-pv'),
    disk('sdd', 'gpt'),
    part('sdd', 1, 'xfs', '', 'META'),
    part('sdd', 2, 'luks', '', 'STATE'),
  ]
  const devices = [
    { id: 'md127', parts: ['sda'] },
    { id: 'md126', parts: ['sdb1'] },
    { id: 'dm-0', parts: ['sdc'] },
    { id: 'dm-1', parts: ['sdd'] },
  ]
  expect([...contentsOf(raid, devices).values()]).toEqual([
    'member of a Linux RAID "nas:0", in use by md127',
    '1 partition: 1 member of a Linux RAID "nas:1", in use by md126',
    'LVM physical volume',
    'Talos',
  ])
})

test('a disk that Talos doesn’t report isn’t shown as empty', () => {
  expect(contentsOf([], []).get('sda')).toBeUndefined()
})

test('a disk with hundreds of partitions is described in one line', () => {
  const many = Array.from({ length: 128 }, (_, i) => part('sda', i + 1, 'xfs', 'x'.repeat(200)))
  expect(told(disk('sda', 'gpt'), ...many)).toMatch(
    /^128 partitions: 1 xfs "x{39}…", .*, and 120 more$/,
  )
})

test('a disk from which Talos was wiped in this boot is shown as wiped, although the kernel lists its partitions', () => {
  const stale = [
    disk('sda'),
    { ...part('sda', 0, 'vfat'), id: 'sda1' },
    { ...part('sda', 0, 'xfs'), id: 'sda3' },
  ]
  expect(contentsOf(stale, [], 'sda').get('sda')).toBe('wiped')
  expect(contentsOf(stale, [], 'sdb').get('sda')).toBe('2 partitions without GPT: vfat, xfs')
  expect(
    contentsOf(
      [disk('sda', 'gpt'), part('sda', 1, 'vfat', 'EFI', 'EFI'), part('sda', 2, '', '', 'META')],
      [],
      'sda',
    ).get('sda'),
  ).toBe('Talos')
})
