import { expect, test } from 'vitest'
import { installationOn } from './installation.ts'

const part = (partitionLabel: string, name = '', parent = 'sda') => ({
  partitionLabel,
  name,
  parent,
})

test.each([
  ['a boot partition without a file system', [part('EFI'), part('META', 'talosmeta')], 'half'],
  ['META alone', [part('META'), part('EFI', 'vfat', 'sdb')], 'half'],
  ['EFI with its file system', [part('EFI', 'vfat'), part('META', 'talosmeta')], 'whole'],
  [
    'the BOOT partition of older versions',
    [part('EFI'), part('BIOS'), part('BOOT', 'xfs'), part('META')],
    'whole',
  ],
  ['no reported partitions', [part('EFI', 'vfat', 'sdb')], 'whole'],
] as const)(
  'an installation with %s is recognised as complete or half done',
  (_, volumes, state) => {
    expect(installationOn('sda', volumes)).toEqual({ state, disk: 'sda' })
  },
)
