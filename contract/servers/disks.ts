/**
 * Rules for servers' disks: where Talos is installed by default, and which disks are wiped only
 * after a user has confirmed their name and content. A confirmation may be needed for the install
 * disk and for workload disks, because a reset wipes workload disks.
 */
import * as z from 'zod/mini'
import { no, type Verdict, yes } from '../rule.ts'
import { isSharedSerial } from './identity.ts'

const text = z.optional(z.string())

/** A disk as the server reports it. Unknown fields are omitted. Sizes in bytes. */
export const Disk = z.object({
  /** The kernel's name: `nvme0n1`. */
  id: z.string(),
  size: z.optional(z.number()),
  io_size: z.optional(z.number()),
  pretty_size: text,
  type: text,
  model: text,
  serial: text,
  wwid: text,
  /** The kernel's name of the transport: `nvme`, `sata`, `usb`, … */
  transport: text,
  readonly: z.optional(z.boolean()),
  /** The disk's content in one line; omitted if unknown. */
  content: text,
})
export type Disk = z.infer<typeof Disk>

/** The fields that the rules for choosing a disk use. All but `id` may be missing. */
export type DiskFacts = Pick<Disk, 'id'> & {
  readonly [K in Exclude<keyof Disk, 'id' | 'io_size' | 'pretty_size'>]?: Disk[K] | null
}

/** What tells two disks apart. */
type DiskIdentity = Pick<DiskFacts, 'size' | 'wwid' | 'serial' | 'model'>

/**
 * Whether two entries are one disk that the machine reaches over two paths: they have the same WWID,
 * or without WWIDs the same serial and model, and the same size.
 */
export function isSameDisk(a: DiskIdentity, b: DiskIdentity): boolean {
  if ((a.size ?? null) !== (b.size ?? null)) return false
  const isUnequal = (x?: string | null, y?: string | null) => !!x && !!y && x !== y
  const [one, other] = [wwidOf(a), wwidOf(b)]
  if (one && other) return one === other && !isUnequal(a.serial, b.serial)
  const isNamed = !!a.serial && (/^[a-z]$/i.test(a.serial) || !isSharedSerial(a.serial))
  return !one && !other && isNamed && a.serial === b.serial && !isUnequal(a.model, b.model)
}
/** The WWID without case; null for one of zeros, which names no disk (NVM Express Base, EUI64). */
const wwidOf = ({ wwid }: DiskIdentity): string | null =>
  wwid && !/^(?:[a-z\d]+\.)?0+$/i.test(wwid) ? wwid.toLowerCase() : null

/** The disks without further paths to the same disk. The first path stays. */
export const withoutPaths = <T extends DiskIdentity>(disks: readonly T[]): T[] => {
  const kept = new Map<string, T[]>()
  return disks.filter((disk) => {
    // Only entries of one size can be one disk.
    const key = `${disk.size} ${wwidOf(disk) ?? ''}`
    const alike = kept.get(key) ?? []
    if (alike.some((other) => isSameDisk(other, disk))) return false
    kept.set(key, [...alike, disk])
    return true
  })
}

/** The disks beside one (by id or path), each once: no further paths to it or to another disk. */
export function disksBeside<T extends DiskFacts>(disks: readonly T[], device: string): T[] {
  const used = disks.find((d) => devicePath(d.id) === devicePath(device))
  return withoutPaths(
    used === undefined ? disks : disks.filter((d) => d !== used && !isSameDisk(d, used)),
  )
}

export const emptyContent = 'empty'
/**
 * Content of a disk that was wiped since the server's last boot: the kernel still lists its old
 * partitions.
 */
const wipedContent = 'wiped'
const unknownContent = 'not known'
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

/** Path of a disk, `/dev/nvme0n1`, from its id `nvme0n1` or its path. */
export const devicePath = (disk: string): string => (disk.startsWith('/') ? disk : `/dev/${disk}`)

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
const mustBeConfirmed = (disk: DiskFacts): boolean => !isBlank(disk) || mediaOf(disk) !== null

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

/** A disk that a user agreed to wipe: its identifiers, and its content at that time. */
export const ConfirmedDisk = z
  .strictObject({
    wwid: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
    serial: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
    content: z.string().check(z.maxLength(1024)),
  })
  .check(
    z.refine((d) => d.wwid !== undefined || d.serial !== undefined, {
      error: 'Name the disk by its WWID or its serial',
    }),
  )
export type ConfirmedDisk = z.infer<typeof ConfirmedDisk>
export const ConfirmedDisks = z._default(z.array(ConfirmedDisk).check(z.maxLength(10_000)), [])

/** The disks of one server, and which of them are chosen. */
export interface ChosenDisks {
  readonly server: string
  readonly disks: readonly DiskFacts[]
  /** Paths of the disks to wipe. */
  readonly devices: readonly string[]
  /** Path of the disk with an installed Talos, which is not wiped. */
  readonly kept: string | null
}

/** A disk whose wipe needs a confirmation. */
export const DiskToConfirm = z.object({
  server: z.string(),
  /** `/dev/sda` */
  device: z.string(),
  disk: Disk,
  content: z.string(),
  /** "a USB disk"; null for a fixed one. */
  media: z.nullable(z.string()),
  /** The confirmation; null if the disk has no unique identifier. */
  by: z.nullable(ConfirmedDisk),
})
export type DiskToConfirm = Omit<z.infer<typeof DiskToConfirm>, 'disk'> & {
  readonly disk: DiskFacts
}

/** Number of disks with each WWID and each serial. Paths to one disk count once. */
function bearers(chosen: readonly ChosenDisks[]): Record<'wwid' | 'serial', Map<string, number>> {
  const count = (key: 'wwid' | 'serial') => {
    const counts = new Map<string, number>()
    for (const { disks } of chosen)
      for (const d of withoutPaths(disks))
        if (d[key]) counts.set(d[key], (counts.get(d[key]) ?? 0) + 1)
    return counts
  }
  return { wwid: count('wwid'), serial: count('serial') }
}

/** The chosen disks that need a confirmation, in the order of the servers. */
export function disksToConfirm(chosen: readonly ChosenDisks[]): DiskToConfirm[] {
  const { wwid, serial } = bearers(chosen)
  return chosen.flatMap(({ server, disks, devices, kept }) =>
    disks
      .filter(
        (d) =>
          devices.includes(devicePath(d.id)) && devicePath(d.id) !== kept && mustBeConfirmed(d),
      )
      .map((disk) => {
        const content = contentOf(disk)
        const by =
          disk.wwid && wwid.get(disk.wwid) === 1
            ? { wwid: disk.wwid, ...(disk.serial && { serial: disk.serial }), content }
            : disk.serial && serial.get(disk.serial) === 1
              ? { serial: disk.serial, content }
              : null
        return { server, device: devicePath(disk.id), disk, content, media: mediaOf(disk), by }
      }),
  )
}

/** "Samsung PM9A3, serial S6XY, WWID eui.00": identifies the disk in the rack. */
export const diskName = ({
  model,
  serial,
  wwid,
}: Pick<DiskFacts, 'model' | 'serial' | 'wwid'>): string =>
  [
    model || 'unknown model',
    serial ? `serial ${serial}` : 'no serial',
    ...(wwid ? [`WWID ${wwid}`] : []),
  ].join(', ')

/** "it holds ext4", "it is a USB disk, and it is empty" */
export function diskHolding({ media, content }: Pick<DiskToConfirm, 'media' | 'content'>): string {
  const what =
    content === unknownContent
      ? 'its content is not known'
      : isBlank({ content })
        ? `it is ${content}`
        : `it holds ${content}`
  return media === null ? what : `it is ${media}, and ${what}`
}

/** The reason why a disk is not wiped, with the disk's identity and content. */
export const diskSentence = (
  one: Pick<DiskToConfirm, 'server' | 'device' | 'disk' | 'media' | 'content'>,
): string => `${one.device} of ${one.server} (${diskName(one.disk)}): ${diskHolding(one)}`

const isNamed = (by: ConfirmedDisk, disk: DiskFacts) =>
  (by.wwid === undefined || by.wwid === disk.wwid) &&
  (by.serial === undefined || by.serial === disk.serial)

/** Why the chosen disks must not be wiped with these confirmations, one sentence per problem. */
export function notConfirmed(
  chosen: readonly ChosenDisks[],
  confirmed: readonly ConfirmedDisk[],
): string[] {
  const asked = disksToConfirm(chosen)
  const { wwid, serial } = bearers(chosen)
  const byWwid = new Map<string, ConfirmedDisk[]>()
  const bySerial = new Map<string, ConfirmedDisk[]>()
  for (const c of confirmed) {
    const [map, key] = c.wwid === undefined ? [bySerial, c.serial!] : [byWwid, c.wwid]
    map.set(key, [...(map.get(key) ?? []), c])
  }
  const sentences = asked.flatMap((one) => {
    const { disk, by } = one
    if (by === null)
      return [
        `${diskSentence(one)}. It has no WWID and no serial of its own to name it by: empty it first, or choose another disk`,
      ]
    const named = [
      ...(wwid.get(disk.wwid ?? '') === 1 ? (byWwid.get(disk.wwid!) ?? []) : []),
      ...(serial.get(disk.serial ?? '') === 1 ? (bySerial.get(disk.serial!) ?? []) : []),
    ].filter((c) => isNamed(c, disk))
    if (named.some((c) => c.content === one.content)) return []
    if (named.length > 0)
      return [
        `${diskSentence(one)}. It was confirmed as "${named[0]!.content}", which has changed since: check the content and confirm the disk again`,
      ]
    if ((bySerial.get(disk.serial ?? '') ?? []).length > 0)
      return [
        `${diskSentence(one)}. Several disks have the serial ${disk.serial}: name the disk by its WWID`,
      ]
    return [`${diskSentence(one)}. The disk is wiped only after it is named and confirmed`]
  })
  const wiped = { wwid: new Set<string>(), serial: new Set<string>() }
  for (const { disks, devices } of chosen)
    for (const d of disks.filter((one) => devices.includes(devicePath(one.id)))) {
      if (d.wwid) wiped.wwid.add(d.wwid)
      if (d.serial) wiped.serial.add(d.serial)
    }
  const gone = confirmed.filter(
    (c) => !(c.wwid === undefined ? wiped.serial.has(c.serial!) : wiped.wwid.has(c.wwid)),
  )
  return [
    ...sentences,
    ...gone.map(
      (c) =>
        `The disk ${c.wwid === undefined ? `with serial ${c.serial}` : `with WWID ${c.wwid}`} that was confirmed is none of the chosen disks: it may be gone`,
    ),
  ]
}

/** Whether the confirmations cover the chosen disks. */
export function canWipe(
  chosen: readonly ChosenDisks[],
  confirmed: readonly ConfirmedDisk[],
): Verdict {
  const [first, ...more] = notConfirmed(chosen, confirmed)
  if (first === undefined) return yes
  return no(more.length === 0 ? first : `${first} (and ${more.length} more)`)
}
