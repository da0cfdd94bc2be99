import { expect, test } from 'vitest'
import { mendTarget } from './mending.ts'

const chosen = { name: 'web-1', install_disk: '/dev/sda', disk_wwids: { '/dev/sda': 'naa.1', '/dev/sdb': 'naa.2' } }

test('the chosen disk is identified by its WWID and wiped even if its name has changed', () => {
  expect(mendTarget(chosen, [{ id: 'sda', wwid: 'naa.1' }], 'sda')).toEqual({ disk: 'sda' })
  const swapped = [
    { id: 'sda', wwid: 'naa.2' },
    { id: 'sdb', wwid: 'naa.1' },
  ]
  expect(mendTarget(chosen, swapped, 'sdb')).toEqual({ disk: 'sdb' })
})

test('another disk that now has the chosen name is not wiped', () => {
  const swapped = [
    { id: 'sda', wwid: 'naa.2' },
    { id: 'sdb', wwid: 'naa.1' },
  ]
  expect(mendTarget(chosen, swapped, 'sda')).toEqual({
    problem:
      'web-1 has a half-installed Talos on /dev/sda, which is not the disk that was chosen, WWID naa.1. Steelyard does not wipe the half-installed disk: wipe it with talosctl wipe disk, then retry',
  })
})

test.each([
  ['the WWID of the chosen disk is unknown', { ...chosen, disk_wwids: {} }, [{ id: 'sda', wwid: 'naa.1' }]],
  [
    'two disks have the WWID',
    chosen,
    [
      { id: 'sda', wwid: 'naa.1' },
      { id: 'sdb', wwid: 'naa.1' },
    ],
  ],
  ['the chosen disk is gone', chosen, [{ id: 'sda', wwid: 'naa.3' }]],
] as const)('nothing is wiped if %s', (_, m, disks) => {
  expect(mendTarget(m, disks, 'sda')).toEqual({ problem: expect.stringContaining('Steelyard does not wipe') as string })
})
