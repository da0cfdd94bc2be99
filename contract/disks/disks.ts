/** What is known of a disk, what tells two apart, and how one is named in a call. */
import * as z from 'zod/mini'
import { isSharedSerial } from '../servers/identity.ts'

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

/** Path of a disk, `/dev/nvme0n1`, from its id `nvme0n1` or its path. */
export const devicePath = (disk: string): string => (disk.startsWith('/') ? disk : `/dev/${disk}`)

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
