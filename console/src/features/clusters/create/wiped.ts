/** The disks of a new cluster's servers that are wiped. The form loads this first. */
import { type ConfirmedDisk, devicePath, type DiskToConfirm } from '#contract/disks/disks.ts'
import { type ChosenDisks, disksToConfirm } from '#contract/disks/wipe.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { Draft } from './draft.ts'

type Known = Pick<Server, 'id' | 'name' | 'resources'> & {
  talos: Pick<Server['talos'], 'installed'>
}

/** The disks of the selected servers, and which of them are to be wiped. */
export const chosenDisks = (draft: Draft, servers: readonly Known[]): ChosenDisks[] =>
  servers.flatMap((s) => {
    const how = draft.servers[s.id]
    return how === undefined
      ? []
      : [
          {
            server: s.name,
            disks: s.resources.disks,
            devices: [how.installDisk, ...how.workloadDisks].map(devicePath),
            kept: s.talos.installed?.disk ?? null,
          },
        ]
  })

/**
 * Key of a disk that includes the disk's current content, so that a change of content needs a new
 * confirmation.
 */
export const keyOf = ({ server, device, by }: DiskToConfirm): string =>
  JSON.stringify([server, device, by])

/** The confirmed disks among the disks that are selected now. */
export const confirmedOf = (
  chosen: readonly ChosenDisks[],
  ticked: ReadonlySet<string>,
): ConfirmedDisk[] =>
  disksToConfirm(chosen).flatMap((one) =>
    one.by !== null && ticked.has(keyOf(one)) ? [one.by] : [],
  )
