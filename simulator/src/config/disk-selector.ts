import type { Disk } from '../fleet/hardware.ts'
import { text } from './shape.ts'

/**
 * Whether a disk matches every field of `machine.install.diskSelector`. Text fields may contain `*`
 * and `?` (Talos: pkg/machinery/config/types/v1alpha1/v1alpha1_types.go, InstallDiskSelector).
 */
export const matchDisk = (selector: Record<string, unknown>, disk: Disk): boolean =>
  Object.entries(selector).every(([field, wanted]) => {
    const value = text(wanted)
    if (value === '') return true
    if (field === 'size') return matchSize(value, disk.sizeBytes)
    if (field === 'type') return value.toLowerCase() === typeOf(disk)
    const { model, serial, wwid, busPath, name } = disk
    const own: Record<string, string> = { model, serial, wwid, busPath, name }
    return glob(value).test(own[field] ?? '')
  })

const typeOf = (disk: Disk): string =>
  disk.transport === 'nvme' ? 'nvme' : disk.rotational ? 'hdd' : 'ssd'

const glob = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  )

const UNITS: Record<string, number> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
}

const matchSize = (expression: string, bytes: number): boolean => {
  const match = /^(<=|>=|==|<|>)?\s*([\d.]+)\s*([A-Za-z]*)$/.exec(expression.trim())
  const unit = UNITS[(match?.[3] ?? '').toUpperCase()]
  if (!match || unit === undefined) return false
  const wanted = Number(match[2]) * unit
  return COMPARISONS[match[1] ?? '==']!(bytes, wanted)
}

const COMPARISONS: Record<string, (size: number, wanted: number) => boolean> = {
  '<=': (size, wanted) => size <= wanted,
  '>=': (size, wanted) => size >= wanted,
  '<': (size, wanted) => size < wanted,
  '>': (size, wanted) => size > wanted,
  '==': (size, wanted) => size === wanted,
}
