import { killAtEach } from './testing/kills.ts'
import { momentPoints } from './testing/points.ts'

// `npm run faults` sets more seeds. A seed is replayed with FAULT_SEEDS=7 FAULT_MOMENTS=1.
const seeds = (process.env['FAULT_SEEDS'] ?? '1').split(',').map(Number)
const moments = Number(process.env['FAULT_MOMENTS'] ?? '2')

await killAtEach(
  seeds.flatMap((seed) => momentPoints(seed, moments)),
  `kill-${seeds.join('-')}`,
)
