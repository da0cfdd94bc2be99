export { count } from '#contract/words.ts'

/**
 * Formats bytes: memory in binary units, disks in decimal units, as they are sold. The space before
 * a unit does not break.
 */

const nbsp = '\u00a0'

function scaled(bytes: number, base: number, units: readonly string[]): string {
  let value = bytes
  let unit = 0
  while (value >= base && unit < units.length - 1) {
    value /= base
    unit++
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2
  return `${Number(value.toFixed(digits))}${nbsp}${units[unit]}`
}

/** 824633720832 → "768 GiB". */
export const memory = (bytes: number): string =>
  scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'])
/** 1920383410176 → "1.92 TB". */
export const disk = (bytes: number): string =>
  scaled(bytes, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])
