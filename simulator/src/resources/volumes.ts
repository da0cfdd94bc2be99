/** Contents of disks as Talos discovers and names them (go-blockdevice `blkid`). */
import type { Disk } from '../fleet/hardware.ts'
import type { DiskContent } from '../fleet/media.ts'

export interface Partition {
  name: string
  label: string
  /** If it differs from the file system's label. */
  partitionLabel?: string
  filesystem: string
  size: number
  index: number
}

export const partitionName = (disk: string, index: number): string => `${disk}${/\d$/.test(disk) ? 'p' : ''}${index}`

interface Found {
  name: string
  label: string
  parts: Partition[]
}

const whole = (name: string, label = ''): ((disk: Disk) => Found) => {
  return () => ({ name, label, parts: [] })
}

const partitioned =
  (...parts: readonly Pick<Partition, 'label' | 'filesystem' | 'partitionLabel'>[]) =>
  (disk: Disk): Found => ({
    name: 'gpt',
    label: '',
    parts: parts.map((part, i) => ({
      ...part,
      name: partitionName(disk.name, i + 1),
      size: i < parts.length - 1 ? 1_073_741_824 : disk.sizeBytes - (parts.length - 1) * 1_073_741_824 - 2_097_152,
      index: i + 1,
    })),
  })

const contents: Record<Exclude<DiskContent, 'unreadable'>, (disk: Disk) => Found> = {
  ext4: whole('extfs', 'data'),
  xfs: whole('xfs', 'backup'),
  system: partitioned(
    { label: '', partitionLabel: 'EFI System Partition', filesystem: 'vfat' },
    { label: '', partitionLabel: 'swap', filesystem: 'swap' },
    { label: 'root', partitionLabel: 'Linux filesystem', filesystem: 'extfs' },
  ),
  raid: whole('linux_raid_member', 'nas:0'),
  lvm: whole('lvm2-pv'),
  ceph: whole('bluestore'),
  zfs: partitioned({ label: 'tank', partitionLabel: 'zfs-1f', filesystem: 'zfs' }, { label: '', filesystem: '' }),
  swap: whole('swap'),
  luks: whole('luks'),
  talos: partitioned(
    { label: 'EFI', filesystem: 'vfat' },
    { label: 'META', filesystem: 'talosmeta' },
    { label: 'STATE', filesystem: 'xfs' },
    { label: 'EPHEMERAL', filesystem: 'xfs' },
  ),
  table: partitioned(),
}

export const volumesOf = (content: Exclude<DiskContent, 'unreadable'> | undefined, disk: Disk): Found =>
  content === undefined ? { name: '', label: '', parts: [] } : contents[content](disk)
