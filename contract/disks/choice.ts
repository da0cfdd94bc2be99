/** Which disks Talos is installed on and which hold workloads, unless a user chooses others. */
import { type DiskFacts, devicePath, isSameDisk, withoutPaths } from './disks.ts'

export const emptyContent = 'empty'
/**
 * Content of a disk that was wiped since the server's last boot: the kernel still lists its old
 * partitions.
 */
const wipedContent = 'wiped'
/** The content of a disk of which the server reports none. */
export const unknownContent = 'not known'
export const contentOf = ({ content }: Pick<DiskFacts, 'content'>): string =>
  content ?? unknownContent

/** Whether a disk holds nothing. */
export const isBlank = (disk: Pick<DiskFacts, 'content'>): boolean =>
  disk.content === emptyContent || disk.content === wipedContent

/**
 * The RAID that uses the disk while the machine runs, `md127`; null if none does. A disk in use can't
 * be written to by Talos's installer (siderolabs/talos#14399).
 */
export const arrayOn = ({ content }: Pick<DiskFacts, 'content'>): string | null =>
  /(?:^part of|, in use by) (md\d+)/.exec(content ?? '')?.[1] ?? null

/** Talos requires a system disk of 6 GiB (its own check). */
export const leastDiskBytes = 6 * 1024 ** 3

/** Model names of the virtual media of management controllers, which mostly appear as USB disks. */
const virtualMedia =
  /\b(?:virtual\s*(?:floppy|cd|cdrom|dvd|disk\s*image|media|hdisk|usb|keyboard)\d*|ami\s+virtual|idrac\s+virtual|ilo\s+virtual|lcdrive|oemdrv)\b/i
const networkTransports: ReadonlySet<string> = new Set([
  'iscsi',
  'nbd',
  'rbd',
  'drbd',
  'fc',
  'fcoe',
  'nvme-of',
])

/** The kind of a disk that is not fixed: "a USB stick". null: a fixed disk. */
export function mediaOf({ id, type, model, transport }: DiskFacts): string | null {
  if (virtualMedia.test(model ?? '')) return 'virtual media of the management controller'
  if (transport === 'usb') return 'a USB disk'
  if (transport === 'mmc' || type === 'SD' || id.startsWith('mmcblk')) return 'an SD card or eMMC'
  if (networkTransports.has(transport ?? '') || /^(?:nbd|rbd|drbd)\d/.test(id))
    return 'a network disk'
  if (/^(?:loop|ram|zram|dm-|md|zd|bcache)\d/.test(id)) return 'a virtual block device'
  return null
}

/** Why this disk can't be the default install disk; null if it can. */
export function notByDefault(disk: DiskFacts): string | null {
  const media = mediaOf(disk)
  if (media !== null) return media
  return disk.readonly ? 'read-only' : null
}

/**
 * Whether wiping the disk needs a confirmation: it has content, its content is unknown, or it is
 * not a fixed disk.
 */
export const mustBeConfirmed = (disk: DiskFacts): boolean =>
  !isBlank(disk) || mediaOf(disk) !== null

const isLarge = ({ size }: DiskFacts): boolean => (size ?? 0) >= leastDiskBytes

/**
 * Disks on which Talos can be installed, the default first: fixed disks before others, empty disks
 * before those with content, those in use last, then by size.
 */
export const installable = <T extends DiskFacts>(disks: readonly T[]): T[] =>
  withoutPaths(disks)
    .filter((d) => isLarge(d) && !d.readonly)
    .toSorted(
      (a, b) =>
        Number(notByDefault(a) !== null) - Number(notByDefault(b) !== null) ||
        Number(mustBeConfirmed(a)) - Number(mustBeConfirmed(b)) ||
        Number(arrayOn(a) !== null) - Number(arrayOn(b) !== null) ||
        (a.size ?? 0) - (b.size ?? 0) ||
        (a.id < b.id ? -1 : 1),
    )

/**
 * The default install disk; null if no disk qualifies. `taken`: paths of disks that have another
 * use.
 */
export function defaultInstallDisk<T extends DiskFacts>(
  disks: readonly T[],
  taken: readonly string[] = [],
): T | null {
  const used = disks.filter((d) => taken.includes(devicePath(d.id)))
  const first = installable(disks.filter((d) => !used.some((u) => u === d || isSameDisk(u, d))))[0]
  return first === undefined || notByDefault(first) !== null ? null : first
}

/** Default workload disks: fixed and empty. */
export const defaultWorkloadDisks = <T extends DiskFacts>(disks: readonly T[]): T[] =>
  withoutPaths(disks).filter((d) => !mustBeConfirmed(d) && !d.readonly)

/** Why a server has no default install disk; null if it has one. */
export function noDefaultDisk(disks: readonly DiskFacts[]): string | null {
  if (disks.length === 0) return 'The server has no disk'
  if (defaultInstallDisk(disks) !== null) return null
  const large = disks.filter(isLarge)
  if (large.length === 0)
    return `No disk has the ${(leastDiskBytes / 1024 ** 3).toFixed(1)} GiB that Talos needs`
  return `No disk is chosen: ${large.map((d) => `${d.id} is ${notByDefault(d)!}`).join(', ')}`
}
