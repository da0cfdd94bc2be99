/**
 * Points of a cluster's creation at which the program is killed: around every effect (action
 * outside of the database), and at seeded random times.
 */
import type { Server } from '#contract/servers/servers.ts'

export interface KillPoint {
  readonly name: string
  /** Value of `FAILPOINT`. If undefined, the program is killed from outside after `afterMs`. */
  readonly failpoint: (nodes: readonly Server[]) => string | undefined
  readonly afterMs: number
}

const at = (name: string, failpoint: (nodes: readonly Server[]) => string): KillPoint => ({
  name,
  failpoint,
  afterMs: 0,
})

const both = (effect: string, of: string, name: (nodes: readonly Server[]) => string) =>
  (['before', 'after'] as const).map((when) =>
    at(`${when} ${effect}${of}`, (nodes) => `${name(nodes)}:${when}`),
  )

/**
 * Before and after each effect of a creation of so many servers, of which those below four have one
 * control plane, otherwise three (`create`, `world.ts`): 30 points for five servers.
 */
export const effectPoints = (servers: number): readonly KillPoint[] => [
  ...['secrets', 'escrow', 'bootstrap', 'key', 'access'].flatMap((effect) =>
    both(effect, '', () => effect),
  ),
  ...['config', 'apply'].flatMap((effect) =>
    Array.from({ length: servers }, (_, i) => i).flatMap((i) =>
      both(
        effect,
        ` of ${i < (servers < 4 ? 1 : 3) ? 'control plane' : 'worker'} ${i + 1}`,
        (nodes) => `${effect}/${nodes[i]!.id}`,
      ),
    ),
  ),
]

/** Random numbers from 0 to 1. The same seed gives the same numbers (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Random moments between the effects. The same seed gives the same moments. */
export function momentPoints(seed: number, count: number): KillPoint[] {
  const next = seeded(seed)
  return Array.from({ length: count }, () => {
    const afterMs = Math.round(next() * 2_500)
    return { name: `after ${afterMs} ms (seed ${seed})`, failpoint: () => undefined, afterMs }
  })
}
