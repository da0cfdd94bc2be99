/** What is known of a server, for plans and rendering. */
import type { Quarantine, Server } from '#contract/servers/server.ts'
import type { Placement } from '#contract/racks/placement.ts'
import type { DiskFacts } from '#contract/disks/disks.ts'
import { counted } from '#contract/words.ts'
import type { Hardware, HardwareLink } from '../../db/columns.ts'

export interface PlannedDisk extends DiskFacts {
  /** `/dev/nvme0n1` */
  readonly device: string
  /** Bytes; null if unknown. */
  readonly size: number | null
  /** NVME, SSD, HDD, …; null if unknown. */
  readonly type: string | null
  /** The disk's own stable identifier, or null. */
  readonly wwid: string | null
  /** Talos is installed on the disk. */
  readonly system: boolean
}

export interface FailedInstalls {
  readonly count: number
  readonly since: string
  /** Of the last one; null if unknown. */
  readonly reason: string | null
}

/** "5 installations failed here: input/output error" */
export const failedInstallsSaid = ({ count, reason }: FailedInstalls): string =>
  `${counted(count, 'installation')} failed here${reason === null ? '' : `: ${reason}`}`

export interface ServerFacts {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly status: Server['status']
  readonly datacenter_id: string | null
  readonly cluster: { readonly id: string; readonly name: string } | null
  readonly operation_id: string | null
  readonly uuid: string | null
  readonly serial: string | null
  readonly identity: Server['identity']['state']
  /** The dialled address, without prefix. */
  readonly address: string
  /** The link with the dialled address; null if unknown. */
  readonly link: string | null
  /** Every address with its prefix where known (`10.1.2.3/24`). */
  readonly addresses: readonly string[]
  readonly links: readonly HardwareLink[]
  readonly disks: readonly PlannedDisk[]
  readonly memory_bytes: number | null
  /** The running version, `v1.13.9`. */
  readonly talos_version: string | null
  /** The installed version: the running version if there is a system disk, else null. */
  readonly installed_version: string | null
  /** `/dev/…` of the disk that Talos is installed on. */
  readonly system_disk: string | null
  readonly schematic: string | null
  readonly secure_boot: boolean
  readonly reachable: boolean | null
  readonly last_contact_at: Date | null
  readonly has_user_patch: boolean
  /** Links configured by documents of its patches. */
  readonly patch_links: readonly string[]
  readonly hardware: Hardware | null
  /** Talos's stage. */
  readonly stage: Server['talos']['stage']
  /** Why the last contact failed. */
  readonly reason: string | null
  /** The reason with the change after which the server has fallen silent; null if there is none. */
  readonly silence: string | null
  /** Whether its Kubernetes node is Ready; null if unknown. */
  readonly node_ready: boolean | null
  /** Why its newest configuration is not sent yet; null if nothing prevents that. */
  readonly pending: string | null
  /** Installations that failed since the last that succeeded; null if none did. */
  readonly failed_installs: FailedInstalls | null
  /** Since when the configuration differs from the one that Steelyard sent; null if it doesn't. */
  readonly drift_since: Date | null
  /** Set while it is not to be used. */
  readonly quarantine?: Quarantine | null
  /** Where it stands; null if that isn't known. */
  readonly placement?: Placement | null
}
