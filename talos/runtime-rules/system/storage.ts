/** RAID arrays and LVM, which Talos 1.14 builds from the disks that an expression matches. */
import { celSelects } from '../../config/cel.ts'
import { sizeBytes } from '../../config/formats.ts'
import type { Report } from '../../config/report.ts'
import { type Inventory, type InventoryRule, some } from '../known.ts'
import type { Configuration, RuntimeRule } from '../rule.ts'
import { celFacts, type Disk } from '../volumes.ts'

const folder = 'Talos internal/app/machined/pkg/controllers/storage'

/** What LVM keeps for itself (LVM2 `lib/misc/lvm-string.c`, apply_lvname_restrictions). */
const ownPrefixes = ['pvmove', 'snapshot']
const ownParts =
  '_cdata _cmeta _corig _cpool _cvol _iorig _mimage _mlog _pmspare _rimage _rmeta _tdata _tmeta _vdata _vorigin _wcorig'.split(
    ' ',
  )

function nameProblem(kind: string, name: string): string | null {
  if (name.startsWith('-')) return 'begins with a hyphen'
  if (kind !== 'LVMLogicalVolumeConfig') return null
  const own =
    ownPrefixes.find((text) => name.startsWith(text)) ??
    ownParts.find((text) => name.includes(text))
  return own === undefined ? null : `has ${own} in it, which LVM keeps for itself`
}

const makers = {
  RAIDArrayConfig: 'mdadm does not create the array',
  LVMVolumeGroupConfig: 'LVM does not create the volume group',
  LVMLogicalVolumeConfig: 'LVM does not create the volume',
} as const

/** Percent of `80%`; null for a size. */
const percentOf = (text: string): number | null =>
  text.endsWith('%') ? Number(text.slice(0, -1)) : null

/** Logical volumes by the name of their group. */
const volumesByGroup = (config: Configuration): Map<string, Report[]> =>
  Map.groupBy(config.of('LVMLogicalVolumeConfig'), (one) => one.text('provisioning', 'volumeGroup'))

export const storageRules: readonly RuntimeRule[] = [
  {
    id: 'storage-name',
    source: 'LVM2 lib/misc/lvm-string.c, validate_name; mdadm lib.c, is_name_posix_compatible',
    level: 'refuse',
    *find(config) {
      for (const [kind, result] of Object.entries(makers))
        for (const document of config.of(kind)) {
          const problem = nameProblem(kind, document.text('name'))
          if (problem !== null)
            yield {
              document,
              path: ['name'],
              sentence: `The name ${document.text('name')} ${problem}, so ${result}`,
            }
        }
    },
  },
  {
    id: 'volume-group-missing',
    source: `${folder}/lvm_logical_volume_reconcile.go (v1.14.1), reconcileLV: "VG not assembled yet; wait for a later event"`,
    level: 'warn',
    *find(config) {
      const groups = config.of('LVMVolumeGroupConfig').map((one) => one.text('name'))
      for (const [group, volumes] of volumesByGroup(config))
        if (group !== '' && !groups.includes(group))
          for (const document of volumes)
            yield {
              document,
              path: ['provisioning', 'volumeGroup'],
              sentence: `No LVMVolumeGroupConfig has the name ${group}, so the volume ${document.text('name')} is only created if the disks have such a group already. It has ${some(groups)}`,
            }
    },
  },
  {
    id: 'volume-group-full',
    source:
      'LVM2 lvcreate(8): a percentage of the group is an upper limit; without free space "insufficient free space"',
    level: 'warn',
    *find(config) {
      for (const [group, volumes] of volumesByGroup(config)) {
        let sum = 0
        for (const document of volumes) {
          const path = ['provisioning', 'maxSize']
          sum += percentOf(document.text(...path)) ?? 0
          if (sum > 100)
            yield {
              document,
              path,
              sentence: `The volumes of the group ${group} take ${sum} % of it together, so ${document.text('name')} gets less than it asks for, or is never created`,
            }
        }
      }
    },
  },
]

const path = ['provisioning', 'volumeSelector', 'match']

/** Documents whose members are chosen by an expression. */
const aggregates = (config: Configuration) =>
  (['RAIDArrayConfig', 'LVMVolumeGroupConfig'] as const).flatMap((kind) =>
    config.of(kind).flatMap((document) => (document.has(...path) ? [{ kind, document }] : [])),
  )

/**
 * Whether a disk is a member; null if that can't be told. The system disk is partitioned and never
 * a member, and of other disks the partitions aren't known.
 */
function isMember(document: Report, disk: Disk, { systemDisk }: Inventory): boolean | null {
  if (disk.path === systemDisk) return false
  const expression = document.text(...path)
  // A partition or a volume of Talos may match too.
  if (/\bvolume(_id)?\b/.test(expression)) return null
  return celSelects(expression, 'member volume', celFacts(disk), { system_disk: false })
}

interface Members {
  /** Disks that the expression matches. */
  readonly known: readonly Disk[]
  /** Disks that it matches or may match. */
  readonly possible: readonly Disk[]
}

function membersOf(document: Report, inventory: Inventory): Members | null {
  const answers = inventory.disks?.map((disk) => isMember(document, disk, inventory))
  if (answers === undefined) return null
  // An expression over volumes may match partitions, whose number isn't known.
  if (answers.some((one) => one === null) && /\bvolume/.test(document.text(...path))) return null
  return {
    known: inventory.disks!.filter((_, i) => answers[i] === true),
    possible: inventory.disks!.filter((_, i) => answers[i] !== false),
  }
}

const pathsOf = (disks: readonly Disk[]): string => some(disks.map((disk) => disk.path))

/** How many physical volumes a layout needs (`resolveRAIDParams`), and copies it stores. */
function layoutOf(document: Report): { readonly disks: number; readonly copies: number } {
  const type = document.text('type') || 'linear'
  const copies = (document.number('mirrors') ?? 1) + 1
  const stripes = document.number('stripes') ?? 2
  if (type === 'raid0') return { disks: stripes, copies: 1 }
  if (type === 'raid1') return { disks: copies, copies }
  if (type === 'raid10') return { disks: stripes * copies, copies }
  return { disks: 1, copies: 1 }
}

export const storageInventoryRules: readonly InventoryRule[] = [
  {
    id: 'array-without-members',
    source: `${folder}/md_array_reconcile.go (v1.14.1): "waiting for enough member disks"; the system disk is never one`,
    level: 'warn',
    *find(config, inventory) {
      for (const { kind, document } of aggregates(config)) {
        const members = membersOf(document, inventory)
        if (members === null) continue
        const needed = kind === 'RAIDArrayConfig' ? 2 : 1
        const { possible } = members
        if (possible.length >= needed) continue
        const what = kind === 'RAIDArrayConfig' ? 'array' : 'volume group'
        const others = inventory.disks!.filter((disk) => disk.path !== inventory.systemDisk)
        yield {
          document,
          path,
          sentence: `The expression matches ${possible.length === 0 ? 'no disk' : `only ${pathsOf(possible)}`} of ${inventory.server}, so the ${what} ${document.text('name')}, which needs ${needed === 2 ? 'two' : 'one'}, is never created. Besides the system disk it has ${pathsOf(others)}`,
        }
      }
    },
  },
  {
    id: 'member-of-two',
    source: `${folder}/lvm_physical_volume_spec.go (v1.14.1): "device already claimed by volume group"; mdadm and LVM refuse a member of another`,
    level: 'warn',
    *find(config, inventory) {
      const owners = new Map<string, string>()
      for (const { document } of aggregates(config)) {
        const name = document.text('name')
        const taken = (membersOf(document, inventory)?.known ?? []).filter((disk) =>
          owners.has(disk.path),
        )
        if (taken.length > 0)
          yield {
            document,
            path,
            sentence: `The expression matches ${pathsOf(taken)} of ${inventory.server}, which ${owners.get(taken[0]!.path)} has already: a disk is a member of one array or volume group`,
          }
        for (const disk of membersOf(document, inventory)?.known ?? [])
          if (!owners.has(disk.path)) owners.set(disk.path, name)
      }
    },
  },
  {
    id: 'logical-volume-layout',
    source: `${folder}/lvm_logical_volume_reconcile.go (v1.14.1), resolveRAIDParams: "volume group has too few physical volumes for the requested layout"`,
    level: 'warn',
    *find(config, inventory) {
      for (const document of config.of('LVMLogicalVolumeConfig')) {
        const members = groupMembers(config, document, inventory)
        const { disks } = layoutOf(document)
        if (members === null || members.possible.length === 0) continue
        if (members.possible.length < disks)
          yield {
            document,
            path: ['type'],
            sentence: `The volume ${document.text('name')} needs ${disks} disks as ${document.text('type')}, and its group has ${members.possible.length} of ${inventory.server} (${pathsOf(members.possible)}), so it is never created`,
          }
      }
    },
  },
  {
    id: 'logical-volumes-too-large',
    source: 'LVM2 lvcreate(8): "Volume group has insufficient free space"',
    level: 'warn',
    *find(config, inventory) {
      for (const volumes of volumesByGroup(config).values()) {
        let wanted = 0
        for (const document of volumes) {
          const members = groupMembers(config, document, inventory)
          const text = document.text('provisioning', 'maxSize')
          const size = sizeBytes(text)
          if (members === null || members.possible.length === 0 || size === undefined) continue
          wanted += size * layoutOf(document).copies
          const space = members.possible.reduce((sum, disk) => sum + (disk.size ?? Infinity), 0)
          if (wanted > space)
            yield {
              document,
              path: ['provisioning', 'maxSize'],
              sentence: `The group of ${document.text('name')} has no room for ${text} on ${inventory.server}: its disks (${pathsOf(members.possible)}) have ${Math.floor(space / 1024 ** 3)} GiB together, so the volume is never created`,
            }
        }
      }
    },
  },
]

/** Members of the group of a logical volume; null if they or the group aren't known. */
function groupMembers(
  config: Configuration,
  document: Report,
  inventory: Inventory,
): Members | null {
  const group = config
    .of('LVMVolumeGroupConfig')
    .find((one) => one.text('name') === document.text('provisioning', 'volumeGroup'))
  return group === undefined || !group.has(...path) ? null : membersOf(group, inventory)
}
