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

let failed = 0
let runs = 0
const run = (files: readonly string[], more: Record<string, string>): void => {
  const began = Date.now()
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'faults', ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...more },
  })
  runs++
  if (status !== 0) failed++
  console.log(`${files.join(' ')} ${JSON.stringify(more)}: ${status === 0 ? 'passed' : 'FAILED'} in ${Math.round((Date.now() - began) / 1000)} s`)
}
const faults = (...names: string[]) => names.map((name) => `e2e/faults/${name}.test.ts`)
// Each round and each seed opens sites of its own, so that no simulator holds thousands of servers.
for (let round = 0; round < Number(values.rounds); round++) run(faults('kill-before', 'kill-after'), {})
for (const seed of seeds.split(',')) run(faults('kill-moments'), { FAULT_SEEDS: seed, FAULT_MOMENTS: values.moments })
run(faults('kill-deletion', 'kill-joining', 'kill-pools', 'kill-reset', 'two-processes', 'database'), {})
console.log(failed === 0 ? 'All held.' : `${failed} of ${runs} runs failed.`)
process.exit(failed === 0 ? 0 : 1)
