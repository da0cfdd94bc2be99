/**
 * The chosen disks of a server. The kernel may assign other names (`/dev/sda`) at each boot, so the
 * chosen disks are stored by WWID, and by serial, and looked up by it before an installation or a
 * wipe.
 */
import { contentOf, emptyContent, isBlank, mediaOf } from '#contract/disks/choice.ts'
import { devicePath, type DiskFacts, isSameDisk } from '#contract/disks/disks.ts'
import { diskName, diskSentence } from '#contract/disks/wipe.ts'
import { talosContent } from '#talos/client/disk-content.ts'
import type { Disk } from '#talos/client/inventory.ts'
import type { Agreed, AgreedDisks, DiskWwids } from '../../db/columns.ts'
import type { PlannedDisk } from '../servers/api.ts'
import type { MemberRow } from './store.ts'

/**
 * WWIDs of the chosen devices, if unique among the server's disks (multiple paths to one disk share
 * its WWID).
 */
export function wwidsOf(disks: readonly PlannedDisk[], devices: readonly string[]): DiskWwids {
  const own = (wwid: string) => disks.filter((d) => d.wwid === wwid).length === 1
  return Object.fromEntries(
    disks.flatMap(({ device, wwid }) =>
      wwid !== null && devices.includes(device) && own(wwid) ? [[device, wwid]] : [],
    ),
  )
}

/**
 * The WWID by which Talos selects the disk, so that a changed disk name doesn't matter; null if
 * Talos must select by path. Talos's selector accepts no disk with an unknown transport, such as
 * behind some RAID controllers, and treats the WWID as a pattern (`DiskMatchExpression` in
 * `v1alpha1_provider.go`).
 */
export function selectorWwid(disks: readonly PlannedDisk[], device: string): string | null {
  const wwid = wwidsOf(disks, [device])[device]
  const type = disks.find((d) => d.device === device)?.type
  return wwid !== undefined && /^[\w.:-]{1,128}$/.test(wwid) && (type === 'NVME' || type === 'SSD')
    ? wwid
    : null
}

export const agreedOf = (disks: readonly DiskFacts[], devices: readonly string[]): AgreedDisks =>
  Object.fromEntries(
    disks
      .filter((d) => devices.includes(devicePath(d.id)))
      .map((d) => [
        devicePath(d.id),
        {
          model: d.model ?? null,
          serial: d.serial ?? null,
          wwid: d.wwid ?? null,
          content: contentOf(d),
        },
      ]),
  )

/** Column values for the chosen disks of a server. */
export const diskColumns = (
  disks: readonly PlannedDisk[],
  install: string,
  workload: readonly string[] = [],
) => ({
  install_disk: install,
  workload_disks: [...workload],
  install_wwid: selectorWwid(disks, install),
  disk_wwids: JSON.stringify(wwidsOf(disks, [install, ...workload])),
})

type Chosen = Pick<
  MemberRow,
  'name' | 'install_disk' | 'install_wwid' | 'disk_wwids' | 'agreed_disks'
> & { readonly workload_disks: readonly string[] }

type Present = Pick<DiskFacts, 'id' | 'wwid' | 'serial' | 'model' | 'size'>

/**
 * The current disks that have the identifier of a chosen disk: its WWID, or its serial if it has no
 * WWID of its own, such as a virtual disk. `by`: null without one.
 */
export function bearersOf<T extends Present>(
  { disk_wwids, agreed_disks }: Pick<Chosen, 'disk_wwids' | 'agreed_disks'>,
  device: string,
  now: readonly T[],
) {
  const wwid = disk_wwids[device]
  if (wwid !== undefined) return { by: `WWID ${wwid}`, disks: now.filter((d) => d.wwid === wwid) }
  const serial = agreed_disks[device]?.serial
  return serial
    ? { by: `serial ${serial}`, disks: now.filter((d) => d.serial === serial) }
    : { by: null, disks: [] }
}

/**
 * The current disk that was chosen under this path. Undefined if it is gone: another disk may have
 * taken its path since, which nobody has named. Only a disk without identifier is found by its path.
 */
export function found<T extends Present>(
  chosen: Pick<Chosen, 'disk_wwids' | 'agreed_disks'>,
  device: string,
  now: readonly T[],
): T | undefined {
  const { by, disks } = bearersOf(chosen, device, now)
  const isAt = (d: T) => devicePath(d.id) === device
  if (by === null) {
    const agreed = chosen.agreed_disks[device]
    // The chosen disk had no serial, or else it would be found by it.
    const isOther = (d: T) =>
      agreed !== undefined && (!!d.serial || (!!agreed.wwid && !!d.wwid && agreed.wwid !== d.wwid))
    return now.find((d) => isAt(d) && !isOther(d))
  }
  const [first] = disks
  return disks.find(isAt) ?? (disks.every((d) => isSameDisk(d, first!)) ? first : undefined)
}

/**
 * Returns why Talos must not be installed now (another disk has the install disk's name), else
 * null. `wipeProblem` reports missing disks.
 */
export function installProblem(chosen: Chosen, now: readonly Present[]): string | null {
  const { name, install_disk: device } = chosen
  const disk = found(chosen, device, now)
  const at = disk && devicePath(disk.id)
  if (at === undefined || at === device || chosen.install_wwid !== null) return null
  return `The disks of ${name} have other device names since its restart: ${device} is now ${at}. Restart the server again, or replace it`
}

/**
 * An empty confirmation, for servers that were chosen by a version of Steelyard without disk
 * confirmations.
 */
const nobodyAgreed: Agreed = { model: null, serial: null, wwid: null, content: emptyContent }

interface Wiping {
  /** Talos is installed on the install disk and stays. */
  readonly isInstalled: boolean
  /**
   * The configuration was sent before, so the installer and the workload may have written to the
   * disks.
   */
  readonly isAgain: boolean
}
type Told = DiskFacts & { readonly wwid?: string | null | undefined }

const devicesOf = (chosen: Chosen, { isInstalled, isAgain }: Wiping): readonly string[] => [
  ...(isInstalled ? [] : [chosen.install_disk]),
  ...(isAgain ? [] : chosen.workload_disks),
]

/**
 * The disk that an installation or a wipe before it would meet: the chosen one, or if that is gone,
 * the one at its path, which must be confirmed first.
 */
const met = <T extends Present>(chosen: Chosen, device: string, now: readonly T[]): T | undefined =>
  found(chosen, device, now) ?? now.find((d) => devicePath(d.id) === device)

/** A content without the RAIDs that have the disk in use: their numbers may change at each boot. */
const apart = (content: string): string => content.replace(/, in use by md[md\d, ]+$/, '')

/**
 * The chosen disks that are present but whose identity or content differs from the confirmation,
 * with their chosen and current paths. Empty disks need no confirmation.
 */
export function notAgreed(chosen: Chosen, disks: readonly Told[], wiping: Wiping) {
  return devicesOf(chosen, wiping).flatMap((device) => {
    const agreed = chosen.agreed_disks[device] ?? nobodyAgreed
    const disk = met(chosen, device, disks)
    if (disk === undefined) return []
    const wwid = agreed.wwid ?? chosen.disk_wwids[device]
    const hasOtherSerial = (agreed.serial ?? '') !== (disk.serial ?? '') && agreed !== nobodyAgreed
    // Without a serial, only the WWID tells apart the twins of a mirror.
    const hasOtherWwid = !agreed.serial && !!wwid && !!disk.wwid && wwid !== disk.wwid
    const isAnother = hasOtherSerial || hasOtherWwid
    const isOurs = wiping.isAgain && contentOf(disk) === talosContent
    const isSame = apart(contentOf(disk)) === apart(agreed.content)
    if (!isAnother && (isSame || isBlank(disk) || isOurs)) return []
    return [{ device, now: devicePath(disk.id), disk, agreed, isAnother }]
  })
}

/**
 * Returns why the chosen disks must not be wiped now (one is missing or was replaced, or its
 * content isn't the confirmed content), else null.
 */
export function wipeProblem(chosen: Chosen, now: readonly Disk[], wiping: Wiping): string | null {
  const disks = now.map(({ content, ...disk }) => ({ ...disk, content: content || null }))
  const gone = devicesOf(chosen, wiping).find((device) => met(chosen, device, disks) === undefined)
  if (gone !== undefined)
    return `${chosen.name} no longer has ${gone} (${diskName(chosen.agreed_disks[gone] ?? nobodyAgreed)}). Nothing was wiped: put the disk back and retry, or replace the server`
  const [first] = notAgreed(chosen, disks, wiping)
  if (first === undefined) return null
  const { disk, agreed } = first
  const sentence = diskSentence({
    server: chosen.name,
    device: first.now,
    disk,
    media: mediaOf(disk),
    content: contentOf(disk),
  })
  const held = agreed.content === emptyContent ? 'was empty' : `held ${agreed.content}`
  if (first.isAnother)
    return `${sentence}, but the disk that was confirmed to be wiped is ${diskName(agreed)}, which ${held}. Nothing was wiped`
  return `${sentence}, but it ${held} when the wipe was confirmed. Nothing was wiped: retry and confirm the disk, empty it and retry, or replace the server`
}

/**
 * Current paths of the workload disks, and the missing workload disks. Never includes the disk with
 * Talos.
 */
export function toWipe(
  chosen: Chosen,
  now: readonly Present[],
  systemDisk: string | undefined,
): { wipe: string[]; gone: string[] } {
  const wipe: string[] = []
  const gone: string[] = []
  const system = now.find((d) => devicePath(d.id) === systemDisk)
  for (const device of chosen.workload_disks) {
    const disk = found(chosen, device, now)
    // A server may reach the disk with Talos over several paths.
    const isSystem =
      disk !== undefined &&
      (devicePath(disk.id) === systemDisk || (system !== undefined && isSameDisk(system, disk)))
    if (disk === undefined || isSystem) gone.push(device)
    else wipe.push(devicePath(disk.id))
  }
  return { wipe, gone }
}
