/**
 * The disks that were chosen for a server. The kernel gives them their names (`/dev/sda`) anew at each boot, not always to the same ones; so what was
 * chosen is remembered by WWID, and looked up by it before anything is installed or wiped.
 */
import { contentOf, diskName, diskSentence, emptyContent, mediaOf } from '#contract/disks.ts'
import { talosContent } from '#talos/client/disk-content.ts'
import type { Disk } from '#talos/client/inventory.ts'
import type { PlannedDisk } from '../servers/for-clusters.ts'

/** Device path → WWID. */
export type DiskWwids = Readonly<Record<string, string>>

/** WWIDs of the chosen devices, of those that have one which no other disk of the server shows too (as paths to one disk do). */
export function wwidsOf(disks: readonly PlannedDisk[], devices: readonly string[]): DiskWwids {
  const own = (wwid: string) => disks.filter((d) => d.wwid === wwid).length === 1
  return Object.fromEntries(disks.flatMap(({ device, wwid }) => (wwid !== null && devices.includes(device) && own(wwid) ? [[device, wwid]] : [])))
}

/**
 * The WWID by which Talos finds the install disk itself, whatever its name is when it installs; null where only its path will do. Talos's selector takes no
 * disk whose transport it doesn't know (`DiskMatchExpression` in `v1alpha1_provider.go`), which a RAID controller's may be, and reads the text as a pattern.
 */
export function selectorWwid(disks: readonly PlannedDisk[], device: string): string | null {
  const wwid = wwidsOf(disks, [device])[device]
  const type = disks.find((d) => d.device === device)?.type
  return wwid !== undefined && /^[\w.:-]{1,128}$/.test(wwid) && (type === 'NVME' || type === 'SSD') ? wwid : null
}

/** What a person agreed to wipe: the disk, and what stood on it then. */
interface Agreed {
  readonly model: string | null
  readonly serial: string | null
  readonly wwid: string | null
  readonly content: string
}
/** Device path → what was agreed. */
export type AgreedDisks = Readonly<Record<string, Agreed>>

export const agreedOf = (disks: readonly PlannedDisk[], devices: readonly string[]): AgreedDisks =>
  Object.fromEntries(
    disks
      .filter((d) => devices.includes(d.device))
      .map((d) => [d.device, { model: d.model ?? null, serial: d.serial ?? null, wwid: d.wwid, content: contentOf(d) }]),
  )

interface Chosen {
  readonly name: string
  readonly install_disk: string
  readonly install_wwid: string | null
  readonly workload_disks: readonly string[]
  readonly disk_wwids: DiskWwids
}

type Present = Pick<Disk, 'id' | 'wwid'>

const found = (chosen: Chosen, device: string, now: readonly Present[]): string | undefined => {
  const wwid = chosen.disk_wwids[device]
  const disk = now.find((d) => (wwid === undefined ? `/dev/${d.id}` === device : d.wwid === wwid))
  return disk && `/dev/${disk.id}`
}

/** Why Talos must not be installed now: the install disk is gone, or another one bears its name. */
export function installProblem(chosen: Chosen, now: readonly Present[]): string | null {
  const { name, install_disk: device } = chosen
  const at = found(chosen, device, now)
  if (at === undefined) return `${device} is not in ${name} any more`
  if (at === device || chosen.install_wwid !== null) return null
  return `${name} names its disks anew since it restarted: what was ${device} is ${at} now. Restart it, or put another server in its place`
}

/** What is on a disk that nobody had agreed on, as with servers that were chosen before disks were asked about. */
const nobodyAgreed: Agreed = { model: null, serial: null, wwid: null, content: emptyContent }

/**
 * Why the chosen disks must not be wiped now: one is gone, is another, or holds something else than what was agreed on. What is empty now has nothing to lose.
 * `isInstalled`: Talos stands on the install disk and stays. `isAgain`: the configuration was sent before, so the installer may have begun on the install
 * disk, and the workload on its own.
 */
export function wipeProblem(
  chosen: Chosen & { readonly agreed_disks: AgreedDisks },
  now: readonly Disk[],
  { isInstalled, isAgain }: { isInstalled: boolean; isAgain: boolean },
): string | null {
  const devices = [...(isInstalled ? [] : [chosen.install_disk]), ...(isAgain ? [] : chosen.workload_disks)]
  for (const device of devices) {
    const agreed = chosen.agreed_disks[device] ?? nobodyAgreed
    const at = found(chosen, device, now)
    const told = now.find((d) => `/dev/${d.id}` === at)
    if (!told) return `${device} (${diskName(agreed)}) is not in ${chosen.name} any more: nothing was wiped`
    const disk = { ...told, content: told.content || null }
    const sentence = diskSentence({ server: chosen.name, device: at!, disk, media: mediaOf(disk), content: contentOf(disk) })
    const then = `it was agreed to wipe ${diskName(agreed)}, ${agreed.content === emptyContent ? 'which was empty' : `which held ${agreed.content}`}`
    if ((agreed.serial ?? '') !== told.serial && agreed !== nobodyAgreed) return `${sentence}, but ${then}. Nothing was wiped`
    const isOurs = isAgain && contentOf(disk) === talosContent
    if (contentOf(disk) === agreed.content || contentOf(disk) === emptyContent || isOurs) continue
    return `${sentence}, but ${then}. Nothing was wiped: empty the disk and retry, or put another server in its place`
  }
  return null
}

/** The workload disks as they are called now, and those that are gone. The disk that Talos is on is never one of them. */
export function toWipe(chosen: Chosen, now: readonly Present[], systemDisk: string | undefined): { wipe: string[]; gone: string[] } {
  const wipe: string[] = []
  const gone: string[] = []
  for (const device of chosen.workload_disks) {
    const at = found(chosen, device, now)
    if (at === undefined || at === systemDisk) gone.push(device)
    else wipe.push(at)
  }
  return { wipe, gone }
}
