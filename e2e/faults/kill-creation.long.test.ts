/**
 * Kills the program during the creation of clusters of five servers: around every effect, and at
 * seeded moments. `npm run faults` sets more seeds; a seed is replayed with FAULT_SEEDS=7
 * FAULT_MOMENTS=1. `npm test` kills it in the creations of `life.test.ts` and `two-processes.test.ts`.
 */
import { describe, expect, test } from 'vitest'
import { startInstallation } from './testing/killing.ts'
import { effectPoints, type KillPoint, momentPoints } from './testing/points.ts'
import { create, dismiss, ended, findings } from './testing/world.ts'

const seeds = (process.env['FAULT_SEEDS'] ?? '1').split(',').map(Number)
const moments = Number(process.env['FAULT_MOMENTS'] ?? '2')
const size = 5
const kinds: readonly (readonly [seed: string, points: readonly KillPoint[]])[] = [
  ['effects', effectPoints(size)],
  [`moments-${seeds.join('-')}`, seeds.flatMap((seed) => momentPoints(seed, moments))],
]

for (const [seed, points] of kinds) {
  const { site, call, killedAt, killedAfter } = await startInstallation({
    servers: points.length * size,
    seed: `kill-${seed}`,
  })
  describe(`around ${seed}`, () => {
    test.each(points.map((point, number) => ({ ...point, number })))(
      'cluster creation interrupted by kill −9, $name, ends with a ready cluster',
      async ({ failpoint, afterMs, number }) => {
        const nodes = await site.take(call, size)
        const begin = () => create(call, site, `kill-${number}`, nodes)
        const setting = failpoint(nodes)
        const { cluster, operation } = await (setting === undefined
          ? killedAfter(afterMs, begin)
          : killedAt(setting, begin))
        const end = await ended(call, operation.id)
        expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
        await dismiss(call, site, cluster.id, nodes)
      },
    )
  })
}
