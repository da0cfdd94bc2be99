/** Volumes of whole disks, and disks of the old form. */
import { sizeBytes } from '../../config/formats.ts'
import type { Report } from '../../config/report.ts'
import { type Inventory, type InventoryRule, some } from '../known.ts'
import { type Configuration, quoted, type RuntimeRule } from '../rule.ts'
import { selects } from '../volumes.ts'

const match = ['provisioning', 'diskSelector', 'match']
const locate =
  'Talos internal/app/machined/pkg/controllers/block/internal/volumes/locate.go (v1.14.0-rc.1)'

/** Volumes that take a disk whole. */
const wholeDisks = (config: Configuration): Report[] =>
  config
    .of('UserVolumeConfig')
    .filter((one) => one.text('volumeType') === 'disk' && one.has(...match))

/** Volumes that get a partition. */
const partitions = (config: Configuration): Report[] =>
  config
    .of('UserVolumeConfig', 'RawVolumeConfig', 'SwapVolumeConfig', 'VolumeConfig')
    .filter((one) => !['disk', 'directory'].includes(one.text('volumeType')) && one.has(...match))

/**
 * Whether a folder can be made, or is in Talos's read-only image. Talos lays writable folders over
 * some (`pkg/machinery/constants`, Overlays).
 */
const isMountable = (folder: string): boolean =>
  /^\/(var|run|tmp|system)\/+[^/]/.test(folder) ||
  /^\/(mnt\/?$|opt(\/|$)|etc\/(cni|kubernetes)(\/|$)|usr\/libexec\/kubernetes(\/|$))/.test(folder)

export const volumeLimitRules: readonly RuntimeRule[] = [
  {
    id: 'disk-volume-expression',
    source: `${locate}, locateDiskByDiskMatch: the expression gets disk only; "no such attribute(s): system_disk"`,
    level: 'refuse',
    *find(config) {
      for (const document of wholeDisks(config))
        if (/\bsystem_disk\b/.test(document.text(...match)))
          yield {
            document,
            path: match,
            sentence: `A volume of a whole disk can’t use system_disk, which Talos doesn’t know there: name the disk, such as by disk.serial == '…'`,
          }
    },
  },
  {
    id: 'user-disk',
    source:
      'Talos internal/app/machined/pkg/controllers/block/user_disk_config.go: one volume for each device and number, of which the last wins; it checks no mount point, and a mount outside of /var needs a folder on the read-only root',
    level: 'warn',
    *find({ main }) {
      const devices = new Set<string>()
      const mounts = new Set<string>()
      for (const { path } of main.items('machine', 'disks')) {
        const device = main.text(...path, 'device')
        if (devices.has(device))
          yield {
            document: main,
            path: [...path, 'device'],
            sentence: `The disk ${device} is there twice, also by lists of several patches, and of each partition the last one counts: write its partitions into one`,
          }
        devices.add(device)
        for (const { path: part } of main.items(...path, 'partitions')) {
          const mount = main.text(...part, 'mountpoint')
          const problem = !isMountable(mount)
            ? `${quoted(mount)} is no folder below /var, and others are read-only, so the disk may not be mounted: use /var/mnt/…`
            : mounts.has(mount)
              ? `${mount} is mounted twice`
              : null
          mounts.add(mount)
          if (problem !== null)
            yield { document: main, path: [...part, 'mountpoint'], sentence: problem }
        }
      }
    },
  },
]

/** The only disk that an expression may mean; null if there are several, or none. */
function onlyDisk(document: Report, inventory: Inventory) {
  const possible = (inventory.disks ?? []).filter(
    (disk) => selects(document.text(...match), disk, inventory) !== false,
  )
  return possible.length === 1 ? possible[0]! : null
}

export const volumeLimitInventoryRules: readonly InventoryRule[] = [
  {
    id: 'disk-volume-on-several',
    source: `${locate}, findCandidateDisks: "multiple disks matched locator for disk volume"`,
    level: 'warn',
    *find(config, inventory) {
      for (const document of wholeDisks(config)) {
        const expression = document.text(...match)
        const chosen = (inventory.disks ?? []).filter(
          (disk) => selects(expression, disk, inventory) === true,
        )
        if (chosen.length > 1)
          yield {
            document,
            path: match,
            sentence: `The expression matches ${chosen.length} disks of ${inventory.server} (${some(chosen.map((disk) => disk.path))}), and a volume of a whole disk needs exactly one, so ${document.text('name')} is never mounted`,
          }
      }
    },
  },
  {
    id: 'disk-volume-shared',
    source: `${locate} and disk.go, CheckDiskForProvisioning: a disk with partitions is not taken whole`,
    level: 'warn',
    *find(config, inventory) {
      const owners = new Map<string, string>()
      for (const document of partitions(config)) {
        const disk = onlyDisk(document, inventory)
        if (disk !== null) owners.set(disk.path, document.text('name'))
      }
      for (const document of wholeDisks(config)) {
        const disk = onlyDisk(document, inventory)
        if (disk === null) continue
        const other = disk.path === inventory.systemDisk ? 'Talos itself' : owners.get(disk.path)
        if (other !== undefined)
          yield {
            document,
            path: match,
            sentence: `The volume ${document.text('name')} can’t have ${disk.path} of ${inventory.server} whole, which ${other === 'Talos itself' ? 'is its system disk' : `${other} has as well`}`,
          }
        owners.set(disk.path, document.text('name'))
      }
    },
  },
  {
    id: 'volumes-of-one-disk',
    source: `${locate} and disk.go, CheckDiskForProvisioning: NotEnoughSpace; the volume waits`,
    level: 'warn',
    *find(config, inventory) {
      const sums = new Map<string, number>()
      for (const document of partitions(config)) {
        const disk = onlyDisk(document, inventory)
        const least = sizeBytes(document.text('provisioning', 'minSize'))
        if (disk === null || disk.size === null || least === undefined) continue
        const sum = (sums.get(disk.path) ?? 0) + least
        sums.set(disk.path, sum)
        // One volume alone is another rule's.
        if (sum > disk.size && sum > least)
          yield {
            document,
            path: ['provisioning', 'minSize'],
            sentence: `The volumes of ${disk.path} of ${inventory.server} need ${Math.ceil(sum / 1024 ** 3)} GiB together, and it has ${Math.floor(disk.size / 1024 ** 3)}, so ${document.text('name')} is never created`,
          }
      }
    },
  },
  {
    id: 'volumes-without-end',
    source:
      'Talos internal/app/machined/pkg/controllers/block/internal/volumes/partition.go, CreatePartition: without maxSize a volume takes all that is left; volumes.go, CompareVolumeConfigs',
    level: 'warn',
    *find(config, inventory) {
      const owners = new Map<string, string>()
      // Talos gives the volume of cached images a maxSize itself (cri/image_cache_config.go).
      const own = partitions(config).filter((one) => one.text('name') !== 'IMAGECACHE')
      const known = own.map((document) => ({
        document,
        name: document.text('name'),
        disk: onlyDisk(document, inventory),
        least: sizeBytes(document.text('provisioning', 'minSize')) ?? 0,
      }))
      for (const { document, disk, name } of known) {
        if (disk === null || document.has('provisioning', 'maxSize')) continue
        const sum = known
          .filter((one) => one.disk?.path === disk.path)
          .reduce((all, { least }) => all + least, 0)
        // Volumes that have no room together are another rule's.
        if (sum > (disk.size ?? Infinity)) continue
        const other = owners.get(disk.path)
        if (other !== undefined)
          yield {
            document,
            path: match,
            sentence: `Neither ${other} nor ${name} has a maxSize, and the first of them takes ${disk.path} of ${inventory.server} whole, so the other may never be created: give one a maxSize`,
          }
        owners.set(disk.path, name)
      }
    },
  },
  {
    id: 'user-disk-of-system',
    source:
      'Talos internal/app/machined/pkg/controllers/block/user_disk_config.go: its partitions are looked for by number, and number 1 of the system disk is Talos’s',
    level: 'refuse',
    *find({ main }, { server, disks, systemDisk }) {
      if (disks === null) return
      for (const { path } of main.items('machine', 'disks'))
        if (systemDisk !== null && main.text(...path, 'device') === systemDisk)
          yield {
            document: main,
            path: [...path, 'device'],
            sentence: `${systemDisk} is the system disk of ${server}, whose partitions Talos has itself: use a UserVolumeConfig`,
          }
    },
  },
  {
    id: 'encryption-of-filled',
    source:
      'Talos internal/app/machined/pkg/controllers/block/internal/volumes/encrypt.go: "block dev type mismatch: xfs != luks"; only empty partitions are encrypted (siderolabs/talos#7676, #10653)',
    level: 'warn',
    *find(config, { server, isMember = false }) {
      if (!isMember) return
      const old = ['machine', 'systemDiskEncryption'] as const
      const found = [
        ...config.main
          .entries(...old)
          .map(({ path, key }) => ({ document: config.main, path, name: key.toUpperCase() })),
        ...config
          .of('VolumeConfig')
          .filter((document) => document.has('encryption', 'provider'))
          .map((document) => ({ document, path: ['encryption'], name: document.text('name') })),
      ]
      for (const { document, path, name } of found)
        if (name === 'STATE' || name === 'EPHEMERAL')
          yield {
            document,
            path,
            sentence: `${name} of ${server} has content already, and Talos encrypts only what is empty: with this the server does not boot again. Reset it, and let it join with the patch`,
          }
    },
  },
]
