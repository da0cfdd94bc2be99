/** Initial content of disks, and additional removable or remote disks. */
import type { Disk } from './hardware.ts'

export const DISK_CONTENTS = [
  'ext4',
  'xfs',
  'system',
  'raid',
  'lvm',
  'ceph',
  'zfs',
  'swap',
  'luks',
  'talos',
  'table',
  'unreadable',
] as const
export type DiskContent = (typeof DISK_CONTENTS)[number]

export const MEDIA_KINDS = ['usb', 'sd', 'virtual', 'readonly', 'iscsi', 'virtio'] as const
export type MediaKind = (typeof MEDIA_KINDS)[number]

const kinds: Record<MediaKind, Pick<Disk, 'model' | 'sizeBytes' | 'transport'>> = {
  usb: { model: 'SanDisk Ultra', sizeBytes: 30_752_636_928, transport: 'usb' },
  sd: { model: 'SD32G', sizeBytes: 31_914_983_424, transport: 'mmc' },
  // All management controllers of a maker report the same serial.
  virtual: { model: 'Virtual HDisk0', sizeBytes: 8_589_934_592, transport: 'usb' },
  readonly: { model: 'INTEL SSDSC2KB24', sizeBytes: 240_057_409_536, transport: 'sata' },
  iscsi: { model: 'iSCSI Storage', sizeBytes: 107_374_182_400, transport: 'iscsi' },
  // Has a serial and no WWID (seen in QEMU).
  virtio: { model: '', sizeBytes: 21_474_836_480, transport: 'virtio' },
}

/** An additional disk, with a name that a model's own disks never have. */
export const mediaDisk = (kind: MediaKind, slot: number, server: number): Disk => {
  const serial =
    kind === 'virtual'
      ? 'AAAABBBBCCCC3'
      : `${kind.toUpperCase()}${String(server + 1).padStart(6, '0')}${slot}`
  return {
    ...kinds[kind],
    name:
      kind === 'sd'
        ? `mmcblk${slot}`
        : kind === 'virtio'
          ? `vd${String.fromCodePoint(0x61 + slot)}`
          : `sd${String.fromCodePoint(0x75 + (slot % 6))}`,
    serial,
    wwid: kind === 'readonly' || kind === 'iscsi' ? `naa.5${serial.toLowerCase()}` : '',
    rotational: false,
    readonly: kind === 'readonly',
    busPath: `/pci0000:00/0000:00:14.0/${kind}${slot}`,
  }
}
