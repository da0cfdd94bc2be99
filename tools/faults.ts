/**
 * `npm run faults`: the fault tests at length. Every effect point of a creation several times over, kills at moments of many seeds, the
 * two-process and the database tests. Seeds are printed, and one is replayed by `npm run faults -- --seeds 7 --rounds 0`.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    moments: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '2' },
  },
})
const seeds = values.seeds ?? Array.from({ length: 10 }, () => randomInt(1_000_000)).join(',')
console.log(`Seeds ${seeds}; ${values.moments} moments each; ${values.rounds} rounds of the 30 effect points.`)

// Each batch opens a site of its own, so that no simulator holds thousands of servers.
const batches = [
  ...Array.from({ length: Number(values.rounds) }, () => ({ seeds: seeds.split(',')[0]!, moments: '0', rounds: '1' })),
  ...seeds.split(',').map((seed) => ({ seeds: seed, moments: values.moments, rounds: '0' })),
]
let failed = 0
const run = (files: readonly string[], more: Record<string, string>): void => {
  const began = Date.now()
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'faults', ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...more },
  })
  if (status !== 0) failed++
  console.log(`${files.join(' ')} ${JSON.stringify(more)}: ${status === 0 ? 'passed' : 'FAILED'} in ${Math.round((Date.now() - began) / 1000)} s`)
}
for (const batch of batches) run(['e2e/faults/kill.test.ts'], { FAULT_SEEDS: batch.seeds, FAULT_MOMENTS: batch.moments, FAULT_ROUNDS: batch.rounds })
run(['e2e/faults/kill-deletion.test.ts', 'e2e/faults/two-processes.test.ts', 'e2e/faults/database.test.ts'], {})
console.log(failed === 0 ? 'All held.' : `${failed} of ${batches.length + 1} runs failed.`)
process.exit(failed === 0 ? 0 : 1)
