/**
 * Which disks are wiped only after a user has confirmed their name and content. A confirmation may be
 * needed for the install disk and for workload disks, because a reset wipes workload disks.
 */
import { no, type Verdict, yes } from '../rule.ts'
import { contentOf, isBlank, mediaOf, mustBeConfirmed, unknownContent } from './choice.ts'
import {
  type ConfirmedDisk,
  type DiskFacts,
  type DiskToConfirm,
  devicePath,
  withoutPaths,
} from './disks.ts'

/** The disks of one server, and which of them are chosen. */
export interface ChosenDisks {
  readonly server: string
  readonly disks: readonly DiskFacts[]
  /** Paths of the disks to wipe. */
  readonly devices: readonly string[]
  /** Path of the disk with an installed Talos, which is not wiped. */
  readonly kept: string | null
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
