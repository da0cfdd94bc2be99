/** Volumes that a machine's disks can't hold. */
import { celSelects, type CelFacts } from '../config/cel.ts'
import { type Inventory, type InventoryRule, some } from './known.ts'
import type { Configuration } from './rule.ts'
import { bytesOf } from './services.ts'

export type Disk = NonNullable<Inventory['disks']>[number]

export function celFacts(disk: Disk): CelFacts {
  const known = {
    dev_path: disk.path,
    size: disk.size === null ? null : BigInt(disk.size),
    model: disk.model,
    serial: disk.serial,
    wwid: disk.wwid,
    transport: disk.transport,
    rotational: disk.rotational,
    readonly: disk.readonly,
    cdrom: false,
  }
  return Object.fromEntries(
    Object.entries(known).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  )
}

const diskSelectors = (config: Configuration) =>
  config
    .of('VolumeConfig', 'UserVolumeConfig', 'RawVolumeConfig', 'SwapVolumeConfig')
    .map((document) => ({ document, path: ['provisioning', 'diskSelector', 'match'] }))
    .filter(({ document, path }) => document.has(...path))

/** Whether an expression selects a disk; null if that can't be told. */
export const selects = (
  expression: string,
  disk: Disk,
  { systemDisk }: Inventory,
): boolean | null =>
  celSelects(expression, 'disk', celFacts(disk), { system_disk: disk.path === systemDisk })

/** Space of a disk that a partition table and its alignment need, in bytes. */
const overhead = 2 * 1024 ** 2

export const volumeRules: readonly InventoryRule[] = [
  {
    id: 'volume-on-no-disk',
    source:
      'Talos internal/app/machined/pkg/controllers/block/internal/volumes/locate.go: "no disks matched selector for volume"; the volume waits, and an installation with it',
    level: 'warn',
    *find(config, { server, disks, systemDisk }) {
      if (disks === null) return
      for (const { document, path } of diskSelectors(config)) {
        const expression = document.text(...path)
        const matches = disks.map((disk) =>
          celSelects(expression, 'disk', celFacts(disk), {
            system_disk: disk.path === systemDisk,
          }),
        )
        if (matches.every((match) => match === false))
          yield {
            document,
            path,
            sentence: `The expression matches no disk of ${server}, so the volume ${document.text('name')} is never created. It has ${some(disks.map((disk) => disk.path))}`,
          }
      }
    },
  },
  {
    id: 'install-on-one-disk',
    source:
      'Talos internal/app/machined/pkg/controllers/runtime/unattended_install.go (v1.14.0-rc.1): the first disk that matches is taken; without one the installation stays pending',
    level: 'warn',
    *find(config, inventory) {
      const { disks, server } = inventory
      if (disks === null) return
      for (const document of config.of('UnattendedInstallConfig')) {
        const path = ['provisioning', 'diskSelector', 'match']
        if (!document.has(...path)) continue
        const answers = disks.map((disk) => selects(document.text(...path), disk, inventory))
        const chosen = disks.filter((_, i) => answers[i] === true)
        if (answers.every((answer) => answer === false))
          yield {
            document,
            path,
            sentence: `The expression matches no disk of ${server}, so that Talos is never installed. It has ${some(disks.map((disk) => disk.path))}`,
          }
        else if (chosen.length > 1)
          yield {
            document,
            path,
            sentence: `The expression matches ${chosen.length} disks of ${server} (${some(chosen.map((disk) => disk.path))}), and Talos takes the first of them`,
          }
      }
    },
  },
  {
    id: 'volume-larger-than-disks',
    source:
      'Talos internal/app/machined/pkg/controllers/block/internal/volumes/disk.go, CheckDiskForProvisioning: a disk without room for minSize is left out, and the volume waits',
    level: 'warn',
    *find(config, inventory) {
      const { disks, server } = inventory
      for (const { document, path } of diskSelectors(config)) {
        const text = document.text('provisioning', 'minSize')
        const least = bytesOf(text)
        const chosen = (disks ?? []).filter(
          (disk) => selects(document.text(...path), disk, inventory) === true,
        )
        if (least === null || chosen.length === 0) continue
        if (chosen.every(({ size }) => size !== null && size - overhead < least))
          yield {
            document,
            path: ['provisioning', 'minSize'],
            sentence: `No disk of ${server} that the expression matches has ${text} (${some(chosen.map((disk) => disk.path))}), so the volume ${document.text('name')} is never created`,
          }
      }
    },
  },
  {
    id: 'volume-beside-ephemeral',
    source:
      'Talos internal/app/machined/pkg/controllers/block/volume_config.go: EPHEMERAL grows to the end of the system disk unless it has a maxSize',
    level: 'warn',
    *find(config, inventory) {
      const { disks, systemDisk, server } = inventory
      const ephemeral = config.of('VolumeConfig').find((one) => one.text('name') === 'EPHEMERAL')
      const isBounded =
        ephemeral?.has('provisioning', 'maxSize') === true ||
        ephemeral?.has('provisioning', 'diskSelector') === true
      if (isBounded || disks === null || systemDisk === null) return
      for (const { document, path } of diskSelectors(config)) {
        if (document === ephemeral || document.text('name') === 'STATE') continue
        if (document.text('volumeType') === 'disk') continue
        const expression = document.text(...path)
        const chosen = disks.filter((disk) => selects(expression, disk, inventory) !== false)
        if (chosen.length > 0 && chosen.every((disk) => disk.path === systemDisk))
          yield {
            document,
            path,
            sentence: `The volume ${document.text('name')} is to be on the system disk of ${server}, which EPHEMERAL fills: give EPHEMERAL a maxSize (VolumeConfig) before Talos is installed`,
          }
      }
    },
  },
]
