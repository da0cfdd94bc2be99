/**
 * What identifies a machine. SMBIOS's UUID and serial number do, unless the maker left a default
 * in them, which thousands of boards share. Then MAC addresses tell machines apart.
 */

/**
 * UUIDs of whole series of boards: the default of AMI's firmware, in both byte orders in which it
 * is read (SMBIOS 3.7, 7.2.1), and what inventory programs keep from their databases (the default
 * blacklist of FusionInventory and GLPI).
 */
const sharedUuids: ReadonlySet<string> = new Set([
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '00010203-0405-0607-0809-0a0b0c0d0e0f',
  '03020100-0504-0706-0809-0a0b0c0d0e0f',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '12345678-1234-1234-1234-123456789abc',
  '6ab5b300-538d-1014-9fb5-b0684d007b53',
  'deadbeef-dead-beef-dead-beefdeadbeef',
])
/**
 * One byte sixteen times. Zeros mean "not present", ones "not present, but may be set" (SMBIOS 3.7,
 * 7.2.1).
 */
const oneByte = /^(?<byte>[0-9a-f]{2})\k<byte>{15}$/

/** Whether boards share this UUID, so that it identifies none of them. In any case. */
export function isSharedUuid(uuid: string): boolean {
  const lower = uuid.toLowerCase()
  return sharedUuids.has(lower) || oneByte.test(lower.replaceAll('-', ''))
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
  'oem',
  'serial',
  'serialnumber',
  'systemserialnumber',
  'tobefilledbyoem',
  'unknown',
  'unspecified',
])
/** One character over and over: "0000000", "xxxx". */
const oneCharacter = /^(?<one>.)\k<one>*$/

/** Whether boards share this serial number, so that it identifies none of them. */
export function isSharedSerial(serial: string): boolean {
  const plain = serial.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return sharedSerials.has(plain) || oneCharacter.test(plain)
}

/** Whether neither the UUID nor the serial number identifies the machine. */
export const needsMac = ({ uuid, serial }: { uuid: string; serial: string }): boolean =>
  isSharedUuid(uuid) && isSharedSerial(serial)
