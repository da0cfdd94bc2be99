import type { DiscoveredVolumeSpec, VolumeStatusSpec } from '../proto/gen/definitions/block_pb.ts'
import { BlockVolumePhase } from '../proto/gen/definitions/enums_pb.ts'
import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { resources } from './resources.ts'
import { text } from './text.ts'

/**
 * Whether Talos is installed on a disk. Talos itself only checks for a partition META
 * (`v1alpha1_state.go`, `Installed`), which the installer creates before it writes the boot loader.
 * `half`: the disk has META but nothing that a firmware could boot from. `wiped`: the disk was
 * wiped in this boot, but Talos, which looks for META once in a boot, counts as installed until the
 * next one.
 */
export interface Installation {
  readonly state: 'none' | 'wiped' | 'half' | 'whole'
  /**
   * The kernel's name of the disk that has META, or had it before it was wiped, without `/dev/`;
   * null without one.
   */
  readonly disk: string | null
}

export async function readInstallation(
  client: TalosClient,
  options: CallOptions = {},
): Promise<Installation> {
  const system = await client.get(resources.systemDisk, 'system-disk', options)
  if (system === undefined) return withoutSystemDisk(client, options)
  const disk = text(system.spec.diskId)
  const { items, truncated } = await client.list(resources.discoveredVolume, {
    ...options,
    keep: ({ spec }) => spec.parent === disk,
  })
  return truncated
    ? { state: 'whole', disk }
    : installationOn(
        disk,
        items.map((v) => v.spec),
      )
}

async function withoutSystemDisk(client: TalosClient, options: CallOptions): Promise<Installation> {
  const disk = formerSystemDisk(
    (await client.get(resources.volumeStatus, metaVolume, options))?.spec,
  )
  if (disk === null) return { state: 'none', disk: null }
  // Early in a boot the volume may be known before the system disk is.
  const { items, truncated } = await client.list(resources.discoveredVolume, {
    ...options,
    keep: ({ spec }) => spec.partitionLabel === metaVolume,
  })
  return items.length > 0 || truncated ? { state: 'whole', disk } : { state: 'wiped', disk }
}

export const metaVolume = 'META'

/**
 * The disk on which Talos has found META in this boot, by the status of that volume, or null. It
 * keeps this status even if the disk is wiped.
 */
export function formerSystemDisk(
  meta: Pick<VolumeStatusSpec, 'phase' | 'parentLocation'> | undefined,
): string | null {
  const disk =
    meta?.phase === BlockVolumePhase.VOLUME_PHASE_READY
      ? /^\/dev\/([\w-]{1,64})$/.exec(meta.parentLocation)?.[1]
      : undefined
  return disk ?? null
}

/**
 * The state of the installation on the disk with META, derived from its partitions: EFI has a file
 * system if the boot loader was written; older installations boot from BOOT (Talos
 * `internal/pkg/partition/format.go`).
 */
export function installationOn(
  disk: string,
  volumes: readonly Pick<DiscoveredVolumeSpec, 'name' | 'partitionLabel' | 'parent'>[],
): Installation {
  const own = volumes.filter((v) => v.parent === disk)
  // A list without META is incomplete, so a missing boot partition proves nothing.
  const isKnown = own.some((v) => v.partitionLabel === 'META')
  const boots = own.some(
    (v) => (v.partitionLabel === 'EFI' || v.partitionLabel === 'BOOT') && v.name !== '',
  )
  return { state: isKnown && !boots ? 'half' : 'whole', disk }
}
