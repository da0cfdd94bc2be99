import type { DiscoveredVolumeSpec } from '../proto/gen/definitions/block_pb.ts'
import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { resources } from './resources.ts'
import { text } from './text.ts'

/**
 * Whether Talos is installed on a disk. Talos itself only checks for a partition META (`v1alpha1_state.go`, `Installed`), which the installer creates before
 * it writes the boot loader. `half`: the disk has META but nothing that a firmware could boot from.
 */
export interface Installation {
  readonly state: 'none' | 'half' | 'whole'
  /** The kernel's name of the disk with META, without `/dev/`, or null. */
  readonly disk: string | null
}

export async function readInstallation(client: TalosClient, options: CallOptions = {}): Promise<Installation> {
  const system = await client.get(resources.systemDisk, 'system-disk', options)
  if (system === undefined) return { state: 'none', disk: null }
  const disk = text(system.spec.diskId)
  const { items, truncated } = await client.list(resources.discoveredVolume, { ...options, keep: ({ spec }) => spec.parent === disk })
  return truncated
    ? { state: 'whole', disk }
    : installationOn(
        disk,
        items.map((v) => v.spec),
      )
}

/**
 * The state of the installation on the disk with META, derived from its partitions: EFI has a file system if the boot loader was written;
 * older installations boot from BOOT (Talos `internal/pkg/partition/format.go`).
 */
export function installationOn(disk: string, volumes: readonly Pick<DiscoveredVolumeSpec, 'name' | 'partitionLabel' | 'parent'>[]): Installation {
  const own = volumes.filter((v) => v.parent === disk)
  // A list without META is incomplete, so a missing boot partition proves nothing.
  const isKnown = own.some((v) => v.partitionLabel === 'META')
  const boots = own.some((v) => (v.partitionLabel === 'EFI' || v.partitionLabel === 'BOOT') && v.name !== '')
  return { state: isKnown && !boots ? 'half' : 'whole', disk }
}
