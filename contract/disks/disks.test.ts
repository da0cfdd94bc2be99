import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import {
  defaultInstallDisk,
  defaultWorkloadDisks,
  installable,
  mediaOf,
  noDefaultDisk,
} from './choice.ts'
import { ConfirmedDisk, type DiskFacts, disksBeside, withoutPaths } from './disks.ts'
import { canWipe, type ChosenDisks, disksToConfirm, notConfirmed } from './wipe.ts'
import { capacityOf } from '../capacity.ts'

const gib = 1024 ** 3
const ssd = (id: string, more: Partial<DiskFacts> = {}): DiskFacts => ({
  id,
  size: 480 * gib,
  type: 'SSD',
  model: 'Samsung PM9A3',
  serial: `S-${id}`,
  wwid: `naa.${id}`,
  transport: 'sata',
  readonly: false,
  content: 'empty',
  ...more,
})
const chosen = (disks: readonly DiskFacts[], more: Partial<ChosenDisks> = {}): ChosenDisks[] => [
  { server: 'web-1', disks, devices: disks.map((d) => `/dev/${d.id}`), kept: null, ...more },
]

describe('the default install disk', () => {
  test.each<[string, Partial<DiskFacts>]>([
    ['a USB disk', { transport: 'usb' }],
    ['an SD card or eMMC', { transport: 'mmc' }],
    ['an SD card or eMMC', { type: 'SD' }],
    ['virtual media of the management controller', { model: 'Virtual Floppy' }],
    ['virtual media of the management controller', { model: 'Virtual HDisk0', transport: 'usb' }],
    ['virtual media of the management controller', { model: 'AMI Virtual CDROM0' }],
    [
      'virtual media of the management controller',
      { model: 'iDRAC Virtual Floppy', transport: 'usb' },
    ],
    ['virtual media of the management controller', { model: 'HPE iLO Virtual USB' }],
    ['a network disk', { transport: 'iscsi' }],
    ['a network disk', { transport: 'nvme-of' }],
    ['a network disk', { id: 'rbd0' }],
    ['a network disk', { id: 'drbd1' }],
    ['a virtual block device', { id: 'dm-0' }],
    ['a virtual block device', { id: 'md127' }],
    ['a virtual block device', { id: 'zram0' }],
  ])('the default install disk is never %s', (what, more) => {
    const small = ssd('sda', { size: 8 * gib, ...more })
    expect(mediaOf(small)).toBe(what)
    expect(defaultInstallDisk([small, ssd('sdb')])?.id).toBe('sdb')
    expect(defaultInstallDisk([small])).toBeNull()
    expect(noDefaultDisk([small])).toBe(`No disk is chosen: ${small.id} is ${what}`)
  })

  test('the default install disk is never read-only, and an empty disk is preferred to a smaller one with content', () => {
    expect(defaultInstallDisk([ssd('sda', { readonly: true })])).toBeNull()
    expect(
      defaultInstallDisk([
        ssd('sda', { size: 10 * gib, content: 'ext4' }),
        ssd('sdb'),
        ssd('sdc', { size: 900 * gib }),
      ])?.id,
    ).toBe('sdb')
    expect(defaultInstallDisk([ssd('sda', { content: 'ext4' })])?.id).toBe('sda')
  })

  test('only empty fixed disks are workload disks by default', () => {
    expect(
      defaultWorkloadDisks([
        ssd('sda'),
        ssd('sdb', { content: 'Ceph OSD' }),
        ssd('sdc', { content: null }),
        ssd('sdd', { transport: 'usb' }),
      ]),
    ).toEqual([ssd('sda')])
  })
})

describe('a disk with content', () => {
  const full = ssd('sda', { content: 'ext4 "data"' })

  test('a disk with content is refused until its model or serial and its content are confirmed', () => {
    expect(notConfirmed(chosen([full]), [])).toEqual([
      '/dev/sda of web-1 (Samsung PM9A3, serial S-sda, WWID naa.sda): it holds ext4 "data". The disk is wiped only after it is named and confirmed',
    ])
    expect(canWipe(chosen([full]), [{ serial: 'S-sda', content: 'ext4 "data"' }])).toEqual({
      ok: true,
    })
    expect(canWipe(chosen([full]), [{ wwid: 'naa.sda', content: 'ext4 "data"' }])).toEqual({
      ok: true,
    })
    expect(canWipe(chosen([full]), [disksToConfirm(chosen([full]))[0]!.by!])).toEqual({ ok: true })
  })

  test('a disk needs a new confirmation if its content has changed or another disk was confirmed', () => {
    expect(notConfirmed(chosen([full]), [{ serial: 'S-sda', content: 'empty' }])).toEqual([
      expect.stringContaining('confirmed as "empty", which has changed since'),
    ])
    expect(notConfirmed(chosen([full]), [{ serial: 'S-old', content: 'ext4 "data"' }])).toEqual([
      expect.stringContaining('only after it is named'),
      'The disk with serial S-old that was confirmed is none of the chosen disks: it may be gone',
    ])
    expect(
      canWipe(chosen([full]), [{ wwid: 'naa.sda', serial: 'S-other', content: 'ext4 "data"' }]).ok,
    ).toBe(false)
  })

  test('a disk is confirmed by its WWID if another disk has the same serial', () => {
    const twins = [
      ssd('sda', { serial: 'SAME', content: 'xfs' }),
      ssd('sdb', { serial: 'SAME', content: 'xfs' }),
    ]
    expect(notConfirmed(chosen(twins), [{ serial: 'SAME', content: 'xfs' }])).toEqual([
      expect.stringContaining('Several disks have the serial SAME: name the disk by its WWID'),
      expect.stringContaining('Several disks have the serial SAME: name the disk by its WWID'),
    ])
    expect(
      canWipe(
        chosen(twins),
        disksToConfirm(chosen(twins)).map((d) => d.by!),
      ),
    ).toEqual({ ok: true })
  })

  test('a disk that the server reaches over two paths is confirmed by its WWID', () => {
    const paths = ['sda', 'sdb'].map((id) =>
      ssd(id, { serial: 'S-1', wwid: 'naa.1', content: 'xfs' }),
    )
    const one = chosen(paths, { devices: ['/dev/sdb'] })
    const by = { wwid: 'naa.1', serial: 'S-1', content: 'xfs' }
    expect(disksToConfirm(one).map((d) => d.by)).toEqual([by])
    expect(canWipe(one, [by])).toEqual({ ok: true })
  })

  test('a disk with content is never wiped if it has no unique serial or WWID', () => {
    const nameless = ssd('vda', { serial: null, wwid: null, content: 'xfs' })
    expect(notConfirmed(chosen([nameless]), [])).toEqual([
      expect.stringContaining('no WWID and no serial of its own'),
    ])
    const clones = [
      ssd('sda', { serial: '0', wwid: 'naa.0', content: 'xfs' }),
      ssd('sdb', { serial: '0', wwid: 'naa.0' }),
    ]
    expect(notConfirmed(chosen(clones), [{ wwid: 'naa.0', serial: '0', content: 'xfs' }])).toEqual([
      expect.stringContaining('no WWID and no serial of its own'),
    ])
  })

  test('a disk needs no confirmation if it is not selected or already has Talos', () => {
    expect(notConfirmed(chosen([full], { devices: [] }), [])).toEqual([])
    expect(notConfirmed(chosen([full], { kept: '/dev/sda' }), [])).toEqual([])
    expect(notConfirmed(chosen([ssd('sdb')]), [])).toEqual([])
  })
})

test('disks with unknown content and empty removable media need a confirmation too', () => {
  expect(notConfirmed(chosen([ssd('sda', { content: null })]), [])).toEqual([
    expect.stringContaining('its content is not known'),
  ])
  const stick = ssd('sdb', { transport: 'usb' })
  expect(notConfirmed(chosen([stick]), [])).toEqual([
    expect.stringContaining('it is a USB disk, and it is empty'),
  ])
  expect(canWipe(chosen([stick]), [{ serial: 'S-sdb', content: 'empty' }])).toEqual({ ok: true })
})

test('a confirmation must name a disk', () => {
  expect(z.safeParse(ConfirmedDisk, { content: 'xfs' }).success).toBe(false)
  expect(z.safeParse(ConfirmedDisk, { serial: '', content: 'xfs' }).success).toBe(false)
  expect(z.safeParse(ConfirmedDisk, { serial: 'S', content: 'xfs' }).success).toBe(true)
})

test('26 install-and-workload-disk-are-the-same-disk: a disk with two paths is offered and counted once', () => {
  const disks = [
    { id: 'sda', size: 500e9, wwid: 'naa.1', content: 'empty' },
    { id: 'sdb', size: 500e9, wwid: 'naa.1', content: 'empty' },
    { id: 'sdc', size: 500e9, serial: 'C', content: 'empty' },
    { id: 'sdd', size: 500e9, serial: 'C', content: 'empty' },
    { id: 'sde', size: 500e9, content: 'empty' },
    { id: 'sdf', size: 500e9, content: 'empty' },
  ]
  expect(withoutPaths(disks).map((d) => d.id)).toEqual(['sda', 'sdc', 'sde', 'sdf'])
  expect(installable(disks).map((d) => d.id)).toEqual(['sda', 'sdc', 'sde', 'sdf'])
  expect(defaultWorkloadDisks(disks).map((d) => d.id)).toEqual(['sda', 'sdc', 'sde', 'sdf'])
  expect(disksBeside(disks, '/dev/sdb').map((d) => d.id)).toEqual(['sdc', 'sde', 'sdf'])
  expect(disksBeside(disks, 'sdd').map((d) => d.id)).toEqual(['sda', 'sde', 'sdf'])
  expect(defaultInstallDisk(disks, ['/dev/sda'])?.id).toBe('sdc')
  expect(capacityOf({ processors: [], memory: [], disks }).disk_bytes).toBe(4 * 500e9)
})
