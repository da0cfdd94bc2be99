/**
 * Content of a disk in one line, from Talos's discovered volumes. Talos recognises the signatures
 * of go-blockdevice's `blkid`; other content looks like an empty disk, in Talos's own tools too.
 */

/** A block device with what Talos found on it (`DiscoveredVolumes.block.talos.dev`). */
export interface Volume {
  readonly id: string
  /** The disk that a partition lies on; empty for a disk. */
  readonly parent: string
  /** Talos's name of the signature: `extfs`, `lvm2-pv`, `gpt`; empty if none. */
  readonly kind: string
  readonly label: string
  readonly partitionLabel: string
  /**
   * From 1; 0 if the kernel lists the partition, but the disk has no GPT, the only partition table
   * that Talos reads.
   */
  readonly partition: number
  readonly isPartition: boolean
}

/** A device and the disks that it consists of, such as a RAID or an LVM volume. */
interface Assembled {
  readonly id: string
  readonly parts: readonly string[]
}

const nothing = 'empty'
/** A disk that was wiped in this boot. The kernel lists its old partitions until the next boot. */
const wiped = 'wiped'
/** Maximum number of partitions listed by name; the others are only counted. */
const mostNamed = 8

const words: Readonly<Record<string, string>> = {
  extfs: 'ext4',
  ext: 'ext4',
  bluestore: 'Ceph OSD',
  'lvm2-pv': 'LVM physical volume',
  linux_raid_member: 'member of a Linux RAID',
  zfs: 'ZFS member',
  zfs_member: 'ZFS member',
  luks: 'encrypted (LUKS)',
  vmfs: 'VMware file system (VMFS)',
  gpt: 'GPT partition table',
  dos: 'MBR partition table',
  mbr: 'MBR partition table',
  talosmeta: 'Talos META',
}

const cut = (label: string): string => (label.length > 40 ? `${label.slice(0, 39)}…` : label)
const labelled = (what: string, label: string): string =>
  label === '' ? what : `${what} "${cut(label)}"`

/** Names that the installer gives its partitions (Talos `pkg/machinery/constants`). */
const talosLabels: ReadonlySet<string> = new Set([
  'EFI',
  'BIOS',
  'BOOT',
  'META',
  'STATE',
  'EPHEMERAL',
])
const ownLabels: ReadonlySet<string> = new Set(['META', 'STATE', 'EPHEMERAL'])

/** Whether all partitions are from the Talos installer. */
const isTalos = (partitions: readonly Volume[]): boolean =>
  partitions.every((p) => talosLabels.has(p.partitionLabel)) &&
  partitions.some((p) => ownLabels.has(p.partitionLabel))

export const talosContent = 'Talos'

function partitionText({ partition, kind, label, partitionLabel }: Volume): string {
  const what = labelled(
    kind === '' ? 'unknown content' : (words[kind] ?? kind),
    label || partitionLabel,
  )
  return partition === 0 ? what : `${partition} ${what}`
}

/**
 * Whether the kernel lists partitions of a disk on which Talos finds no partition table: the disk
 * was wiped in this boot, or it has another table than GPT.
 */
const isWithoutTable = (disk: Volume, partitions: readonly Volume[]): boolean =>
  disk.kind === '' && partitions.every((p) => p.partition === 0)

/** The kernel's name of a RAID of disks. */
const isArray = /^md\d/

function contentOf(
  disk: Volume,
  partitions: readonly Volume[],
  assembled: readonly string[],
  hadTalos: boolean,
): string {
  const what = foundOn(disk, partitions, hadTalos)
  const inOrder = assembled.toSorted().slice(0, mostNamed)
  if (what === nothing) return inOrder.length === 0 ? what : `part of ${inOrder.join(', ')}`
  // Mapped volumes come and go while a server runs: of LVM, and of Talos's own encrypted ones.
  const arrays = inOrder.filter((id) => isArray.test(id))
  return arrays.length === 0 || what === talosContent || what === wiped
    ? what
    : `${what}, in use by ${arrays.join(', ')}`
}

function foundOn(disk: Volume, partitions: readonly Volume[], hadTalos: boolean): string {
  if (partitions.length > 0) {
    const withoutTable = isWithoutTable(disk, partitions)
    if (withoutTable && hadTalos) return wiped
    if (isTalos(partitions)) return talosContent
    const inOrder = partitions.toSorted(
      (a, b) => a.partition - b.partition || (a.id < b.id ? -1 : 1),
    )
    const named = inOrder.slice(0, mostNamed).map(partitionText)
    const more = inOrder.length > mostNamed ? `, and ${inOrder.length - mostNamed} more` : ''
    return `${inOrder.length} partition${inOrder.length === 1 ? '' : 's'}${withoutTable ? ' without GPT' : ''}: ${named.join(', ')}${more}`
  }
  if (disk.kind === 'gpt' || disk.kind === 'dos' || disk.kind === 'mbr')
    return `${words[disk.kind]} without partitions`
  return disk.kind === '' ? nothing : labelled(words[disk.kind] ?? disk.kind, disk.label)
}

/**
 * Content by disk. Disks that Talos could not read are omitted. `formerSystemDisk`: the disk on
 * which Talos has found META in this boot, or null.
 */
export function contentsOf(
  volumes: readonly Volume[],
  devices: readonly Assembled[],
  formerSystemDisk: string | null = null,
): Map<string, string> {
  const partitions = Map.groupBy(
    volumes.filter((v) => v.isPartition),
    (v) => v.parent,
  )
  const assembled = new Map<string, string[]>()
  for (const { id, parts } of devices)
    for (const part of parts) assembled.set(part, [...(assembled.get(part) ?? []), id])
  return new Map(
    volumes
      .filter((v) => !v.isPartition)
      .map((v) => {
        const own = partitions.get(v.id) ?? []
        const users = new Set([v, ...own].flatMap(({ id }) => assembled.get(id) ?? []))
        return [v.id, contentOf(v, own, [...users], v.id === formerSystemDisk)]
      }),
  )
}
