/** What firmware of public reports says about itself, beside the case 27 zero-uuid-boards. */
import { expect, test } from 'vitest'
import { isSharedSerial, isSharedUuid, needsMac, ownMacs } from './identity.ts'
import { isSameDisk, withoutPaths } from '../disks/disks.ts'

test.each([
  ['zeros', '00000000-0000-0000-0000-000000000000'],
  ['talos#8804: ones', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'],
  ['half of it ones', '03aa02fc-ffff-ffff-ffff-ffffffffffff'],
  ['the default of AMI', '03000200-0400-0500-0006-000700080009'],
  ['a Dell board without a service tag', '4C4C4544-0000-2010-8020-80C04F202020'],
  ['typed by hand', '11111111-2222-3333-4444-555555555555'],
  ['X over and over', '58585858-5858-5858-5858-585858585858'],
  ['digits in order', '00112233-4455-6677-8899-AABBCCDDEEFF'],
  ['digits in order, in the other byte order', '33221100-5544-7766-8899-aabbccddeeff'],
  ['hexadecimal digits in order', '01234567-89ab-cdef-0123-456789abcdef'],
  ['half of it zeros', '00000001-0000-0000-0000-000000000000'],
])('no identity: %s', (_, uuid) => {
  expect(isSharedUuid(uuid)).toBe(true)
})

test.each([
  ['a Dell board with its tag', '4c4c4544-0036-5210-8058-b8c04f4d3833'],
  ['zeros and the MAC address of a Supermicro board', '00000000-0000-0000-0000-ac1f6b220c44'],
  ['a random UUID', '9f1c1c0e-6d0c-4c5e-9a61-0f5d7b2f8a11'],
])('an identity: %s', (_, uuid) => {
  expect(isSharedUuid(uuid)).toBe(false)
})

test.each([
  'To Be Filled By O.E.M.',
  'Default string',
  'SYS-1234567890',
  'SN-12345',
  '0123456789ABCDEF',
  '123456789012345678',
  '01234567890123456789',
  'BSN12345678901234567',
  'MSS-0123456789',
  'To Be Filled',
  'TBD by OEM',
  'System Serial Number',
  'Not Specified',
  'INVALID',
  'EVAL',
  'xxxxxxxxxxx',
  '........',
  ' ',
])('no serial number: %s', (serial) => {
  expect(isSharedSerial(serial)).toBe(true)
  expect(needsMac({ uuid: '00000000-0000-0000-0000-000000000000', serial })).toBe(true)
})

test.each(['C91S85J', 'S4EVNX0M123456', '1234567891', 'CZ12345678', '2102312XYZ', '12344321'])(
  'a serial number: %s',
  (serial) => {
    expect(isSharedSerial(serial)).toBe(false)
  },
)

test('the port of a management controller and empty MAC addresses tell no boards apart', () => {
  const port = 'b8:ce:f6:b2:db:c4'
  expect(ownMacs(['be:3a:f2:b6:05:9f', '00:00:00:00:00:00', port])).toEqual([port])
  expect(ownMacs(['be:3a:f2:b6:05:9f', 'ff:ff:ff:ff:ff:ff'])).toEqual(['be:3a:f2:b6:05:9f'])
  expect(ownMacs(['00:00:00:00:00:00'])).toEqual([])
})

test('disks with a worthless WWID or serial number are two disks', () => {
  const disk = { size: 2e12, model: 'QEMU HARDDISK', wwid: null, serial: null }
  const pairs = [
    [
      { wwid: 'eui.0000000000000000', serial: 'A1' },
      { wwid: 'eui.0000000000000000', serial: 'A2' },
    ],
    [{ wwid: 'naa.0000000000000000' }, { wwid: 'naa.0000000000000000' }],
    [{ serial: '0123456789ABCDEF' }, { serial: '0123456789ABCDEF' }],
    [{ serial: '00000000' }, { serial: '00000000' }],
    // One namespace of a drive is not another.
    [
      { wwid: 'eui.1', serial: 'A1' },
      { wwid: 'eui.2', serial: 'A1' },
    ],
  ]
  for (const [one, other] of pairs)
    expect(isSameDisk({ ...disk, ...one }, { ...disk, ...other })).toBe(false)
})

test('two paths to one disk differ in the case of the WWID at most', () => {
  const [one, other] = [
    { id: 'sda', size: 2e12, wwid: 'naa.5000C500A1B2C3D4', serial: 'ZL2' },
    { id: 'sdb', size: 2e12, wwid: 'naa.5000c500a1b2c3d4', serial: 'ZL2' },
  ]
  expect(isSameDisk(one, other)).toBe(true)
  expect(withoutPaths([one, other])).toEqual([one])
})
