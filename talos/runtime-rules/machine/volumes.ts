/** Volumes beside EPHEMERAL on the system disk, laid out with their sizes. */
import type { InventoryRule } from '../known.ts'
import { bytesOf } from '../services.ts'
import { selects } from '../volumes.ts'

const size = (bytes: number): string => `${Math.round((bytes / 1024 ** 3) * 10) / 10} GiB`

export const systemDiskRules: readonly InventoryRule[] = [
  {
    id: 'volumes-of-system-disk',
    source:
      'Talos internal/app/machined/pkg/controllers/block/volume_config.go: EPHEMERAL is made first and grows to its maxSize; internal/volumes/disk.go, CheckDiskForProvisioning: a disk without room for minSize is left out, and the volume waits',
    level: 'warn',
    *find(config, inventory) {
      const { disks, systemDisk, server } = inventory
      const disk = disks?.find(({ path }) => path === systemDisk)
      const ephemeral = config.of('VolumeConfig').find((one) => one.text('name') === 'EPHEMERAL')
      if (!disk?.size || ephemeral === undefined) return
      // What fills another disk, or the whole one, is another rule's.
      if (ephemeral.has('provisioning', 'diskSelector')) return
      const most = bytesOf(ephemeral.text('provisioning', 'maxSize'))
      if (most === null || most >= disk.size) return
      let left = disk.size - most
      for (const document of config.of('UserVolumeConfig', 'RawVolumeConfig', 'SwapVolumeConfig')) {
        if (['disk', 'directory'].includes(document.text('volumeType'))) continue
        const path = ['provisioning', 'diskSelector', 'match']
        const least = bytesOf(document.text('provisioning', 'minSize'))
        const expression = document.text(...path)
        if (expression === '' || least === null) continue
        const chosen = (disks ?? []).filter((one) => selects(expression, one, inventory) !== false)
        if (chosen.length !== 1 || chosen[0] !== disk) continue
        if (least > left)
          yield {
            document,
            path: ['provisioning', 'minSize'],
            sentence: `The volume ${document.text('name')} needs ${size(least)}, and beside EPHEMERAL (${size(most)}) the system disk of ${server} has ${size(left)} of ${size(disk.size)} left, so it is never created`,
          }
        else left -= least
      }
    },
  },
]
