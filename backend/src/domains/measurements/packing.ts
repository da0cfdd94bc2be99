/**
 * The stored form of a day: for each quarter of an hour, for each series, the mean and the maximum
 * as 32-bit floating-point numbers, little-endian. NaN where nothing was measured.
 */
import { dayMs, quarterMs } from '#contract/measurements/measurements.ts'

export const quartersOfDay = dayMs / quarterMs

/** A quarter of an hour of one object; `mean` and `max` by series. */
export interface Quarter {
  /** 0 to 95, from midnight UTC. */
  readonly quarter: number
  readonly mean: readonly (number | null)[]
  readonly max: readonly (number | null)[]
}

export function packDay(quarters: readonly Quarter[], series: number): Buffer {
  const packed = Buffer.alloc(quartersOfDay * series * 8)
  for (let at = 0; at < packed.length; at += 4) packed.writeFloatLE(NaN, at)
  for (const { quarter, mean, max } of quarters)
    for (let s = 0; s < series; s++) {
      const at = (quarter * series + s) * 8
      packed.writeFloatLE(mean[s] ?? NaN, at)
      packed.writeFloatLE(max[s] ?? NaN, at + 4)
    }
  return packed
}

/** Number of series of a packed day. */
export const seriesIn = (packed: Buffer): number => packed.length / (quartersOfDay * 8)

/** @param series number of series now; a day that was packed with fewer has null for the others */
export function unpackDay(packed: Buffer, series: number): Quarter[] {
  const stored = seriesIn(packed)
  const valueAt = (at: number): number | null => {
    const value = packed.readFloatLE(at)
    return Number.isNaN(value) ? null : value
  }
  return Array.from({ length: quartersOfDay }, (_, quarter) => {
    const read = (offset: number) =>
      Array.from({ length: series }, (_unused, s) =>
        s < stored ? valueAt((quarter * stored + s) * 8 + offset) : null,
      )
    return { quarter, mean: read(0), max: read(4) }
  }).filter(({ mean }) => mean.some((value) => value !== null))
}
