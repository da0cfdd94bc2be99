import type { Machine, Partition } from '../machine.ts'

export const partitionName = (disk: string, index: number): string =>
  `${disk}${/\d$/.test(disk) ? 'p' : ''}${index}`

type Made = Pick<Partition, 'label' | 'filesystem' | 'size'>

const efi: Made = { label: 'EFI', filesystem: 'vfat', size: 2_203_058_176 }
const meta: Made = { label: 'META', filesystem: 'talosmeta', size: 1_048_576 }
const state: Made = { label: 'STATE', filesystem: 'xfs', size: 104_857_600 }
/** The rest of the disk. */
const ephemeral: Made = { label: 'EPHEMERAL', filesystem: 'xfs', size: 0 }
const whole = [efi, meta, state, ephemeral]
/**
 * What an installer leaves that fails before it has formatted the partitions, and one that can't
 * write GRUB (seen on Talos 1.13.9).
 */
const left: Record<'unformatted' | 'without-boot-loader', readonly Made[]> = {
  unformatted: [{ ...efi, filesystem: '' }, meta],
  'without-boot-loader': [
    efi,
    { label: 'BIOS', filesystem: '', size: 1_048_576 },
    { label: 'BOOT', filesystem: 'xfs', size: 2_097_152_000 },
    meta,
    { ...state, filesystem: '' },
  ],
}

/** The partitions of Talos on the system disk. */
export const partitionsOf = (machine: Machine): Partition[] => {
  const disk = machine.hardware.disks.find(({ name }) => name === machine.systemDisk)
  if (!disk) return []
  const { config, etcd, half } = machine.disk.state
  const made = half === undefined ? whole : left[half]
  return made.map(({ label, filesystem, size }, index) => ({
    name: partitionName(disk.name, index + 1),
    label,
    // A wiped partition has no file system until a configuration is applied.
    filesystem:
      (label === 'STATE' || label === 'EPHEMERAL') && config === null && etcd === null
        ? ''
        : filesystem,
    size: size || disk.sizeBytes - 2_310_012_928,
    index: index + 1,
  }))
}
