/**
 * What identifies a machine. SMBIOS's UUID and serial number do, unless the maker left a default
 * in them, which thousands of boards share. Then MAC addresses tell machines apart.
 */

/**
 * UUIDs of whole series of boards: the default of AMI's firmware, in both byte orders in which it
 * is read (SMBIOS 3.7, 7.2.1), what inventory programs keep from their databases (the default
 * blacklist of FusionInventory and GLPI), and what FreeBSD takes for no host id (`rc.d/hostid`).
 */
const sharedUuids: ReadonlySet<string> = new Set([
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '00010203-0405-0607-0809-0a0b0c0d0e0f',
  '00112233-4455-6677-8899-aabbccddeeff',
  '33221100-5544-7766-8899-aabbccddeeff',
  '01234567-89ab-cdef-0123-456789abcdef',
  '67452301-ab89-efcd-0123-456789abcdef',
  '03020100-0504-0706-0809-0a0b0c0d0e0f',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '12345678-1234-1234-1234-123456789abc',
  '6ab5b300-538d-1014-9fb5-b0684d007b53',
  'deadbeef-dead-beef-dead-beefdeadbeef',
  // Dell writes the service tag into it, and spaces as long as a board has none.
  '4c4c4544-0000-2010-8020-80c04f202020',
  '4c4c4544-0020-2010-8020-80c04f202020',
  '07090201-0103-0301-0807-060504030201',
  '11111111-2222-3333-4444-555555555555',
  '890e2d14-cacd-45d1-ae66-bc80e8bfeb0f',
  '8e275844-178f-44a8-aceb-a7d7e5178c63',
  'dc698397-fa54-4cf2-82c8-b1b5307a6a7f',
])
/**
 * One byte sixteen times. Zeros mean "not present", ones "not present, but may be set" (SMBIOS 3.7,
 * 7.2.1).
 */
const oneByte = /^(?<byte>[0-9a-f]{2})\k<byte>{15}$/

/** The UUID of a machine without one: "not present" (SMBIOS 3.7, 7.2.1). */
export const noUuid = '00000000-0000-0000-0000-000000000000'

/** Whether boards share this UUID, so that it identifies none of them. In any case. */
export function isSharedUuid(uuid: string): boolean {
  const lower = uuid.toLowerCase()
  return (
    sharedUuids.has(lower) ||
    oneByte.test(lower.replaceAll('-', '')) ||
    // Half of it was never written.
    /-(?:ffff-ffff-ffff-ffffffffffff|0000-0000-0000-000000000000)$/.test(lower)
  )
}

/** Makers' defaults, in lower case and without anything but letters and digits. */
const sharedSerials: ReadonlySet<string> = new Set([
  '',
  '0123456789',
  '1234567890',
  '123456789',
  '12345678',
  'baseboardserialnumber',
  'chassisserialnumber',
  'default',
  'eval',
  'iatpass',
  'defaultstring',
  'empty',
  'invalid',
  'na',
  'none',
  'notapplicable',
  'notavailable',
  'notset',
  'notspecified',
  'null',
  'nosn',
  'oem',
  'oemdefault',
  'serial',
  'serialnumber',
  'standard',
  'systemserialnumber',
  'tbdbyoem',
  'tobefilled',
  'tobefilledbyoem',
  'tobefilledbyoembymorestring',
  'unknow',
  'unknown',
  'unspecified',
])
/** Digits in their order, as makers' examples have them: 12345, SYS-1234567890, 0123456789ABCDEF. */
function isInOrder(plain: string): boolean {
  const digits = plain.replace(/^(?:sys|sn|mb|bb|b?ss|mss|bsn)(?=\d)/, '')
  return (
    digits === '9876543210' ||
    (digits.length >= 5 &&
      ['0123456789abcdef', '0123456789'.repeat(3), '1234567890'.repeat(3)].some((order) =>
        order.startsWith(digits),
      ))
  )
}

/** One character over and over: "0000000", "xxxx". */
const oneCharacter = /^(?<one>.)\k<one>*$/

/** Whether boards share this serial number, so that it identifies none of them. */
export function isSharedSerial(serial: string): boolean {
  const plain = serial.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return sharedSerials.has(plain) || oneCharacter.test(plain) || isInOrder(plain)
}

/** Whether neither the UUID nor the serial number identifies the machine. */
export const needsMac = ({ uuid, serial }: { uuid: string; serial: string }): boolean =>
  isSharedUuid(uuid) && isSharedSerial(serial)

/**
 * The MAC addresses that tell a machine apart. Boards share zeros and ones, and the ports that lead
 * to the management controller over USB, whose addresses are made up (locally administered, IEEE
 * 802-2014, 8.2.2). Those stay if there are no others.
 */
export function ownMacs(macs: readonly string[]): string[] {
  const real = macs.filter((mac) => !/^(?:00[:-]?){6}$|^(?:ff[:-]?){6}$/i.test(mac))
  const universal = real.filter((mac) => !/^[0-9a-f][2367abef]/i.test(mac))
  return universal.length > 0 ? universal : real
}
