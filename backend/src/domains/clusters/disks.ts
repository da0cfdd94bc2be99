/**
 * The disks that were chosen for a server. The kernel gives them their names (`/dev/sda`) anew at each boot, not always to the same ones; so what was
 * chosen is remembered by WWID, and looked up by it before anything is installed or wiped.
 */
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
