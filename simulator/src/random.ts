import { createHash } from 'node:crypto'

export type Random = ReturnType<typeof seeded>

/**
 * A deterministic random source: the same seed gives the same fleet, byte for byte, on every
 * machine. mulberry32 over a hashed seed: not for secrets, only for hardware and faults that must
 * be reproducible.
 */
export const seeded = (seed: string) => {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0)
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    /** A number in [0, 1). */
    next,
    /** A whole number in [low, high], both ends included. */
    int,
    pick: <T>(items: readonly [T, ...T[]]): T => items[int(0, items.length - 1)] ?? items[0],
    hex: (length: number): string => Array.from({ length }, () => int(0, 15).toString(16)).join(''),
  }
}
