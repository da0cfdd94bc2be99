import { expect, test } from 'vitest'
import { mendTarget, wipeByHand } from './mending.ts'

const chosen = {
  name: 'web-1',
  install_disk: '/dev/sda',
  disk_wwids: { '/dev/sda': 'naa.1', '/dev/sdb': 'naa.2' },
  agreed_disks: {},
  trouble: null,
}
const address = '10.0.0.7'
const disk = (id: string, wwid: string, serial = '') => ({ id, wwid, serial })
const swapped = [disk('sda', 'naa.2'), disk('sdb', 'naa.1')]

test('the chosen disk is identified by its WWID and wiped even if its name has changed', () => {
  expect(mendTarget(chosen, [disk('sda', 'naa.1')], 'sda', address)).toEqual({ disk: 'sda' })
  expect(mendTarget(chosen, swapped, 'sdb', address)).toEqual({ disk: 'sdb' })
})

test('a disk without a WWID, such as a virtual one, is identified by its serial', () => {
  const agreed_disks = { '/dev/vda': { model: null, serial: 'V1', wwid: null, content: 'empty' } }
  const virtual = { ...chosen, install_disk: '/dev/vda', agreed_disks }
  expect(
    mendTarget(virtual, [disk('vda', '', 'V2'), disk('vdb', '', 'V1')], 'vdb', address),
  ).toEqual({ disk: 'vdb' })
  const refused = (disks: ReturnType<typeof disk>[]) =>
    expect(mendTarget(virtual, disks, 'vda', address)).toHaveProperty('problem')
  refused([disk('vda', '', 'V2'), disk('vdb', '', 'V1')])
  refused([disk('vda', '', 'V1'), disk('vdb', '', 'V1')])
  refused([disk('vda', '')])
})

test('another disk that now has the chosen name is not wiped, and the problem has the cause and commands that Talos accepts', () => {
  expect(
    mendTarget(
      { ...chosen, trouble: 'failed to install grub: exit status 1' },
      swapped,
      'sda',
      address,
    ),
  ).toEqual({
    problem:
      'The installation failed: failed to install grub: exit status 1. web-1 has a half-installed Talos on /dev/sda, which is not the disk that was chosen, WWID naa.1. Steelyard does not wipe this disk: wipe it with talosctl wipe disk sda --skip-volume-check --insecure --nodes 10.0.0.7, turn the server off and on, then retry',
  })
})

test.each([
  [
    'neither WWID nor serial of the chosen disk are known',
    { ...chosen, disk_wwids: {} },
    [disk('sda', 'naa.1')],
  ],
  ['two disks have the WWID', chosen, [disk('sda', 'naa.1'), disk('sdb', 'naa.1')]],
  ['the chosen disk is gone', chosen, [disk('sda', 'naa.3')]],
] as const)('nothing is wiped if %s', (_, m, disks) => {
  const problem = expect.stringContaining(
    `Steelyard does not wipe this disk: ${wipeByHand('sda', address)}`,
  ) as string
  expect(mendTarget(m, disks, 'sda', address)).toEqual({ problem })
})
