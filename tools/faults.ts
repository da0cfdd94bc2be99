/**
 * `npm run faults` runs all fault tests. The program is killed before and after each effect of a cluster's creation, and at random moments (several seeds).
 * The other fault tests (two processes, the database, signals, …) run once. Seeds are printed; `npm run faults -- --seeds 7 --rounds 0 --others 0`
 * replays a seed.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { counted } from '#contract/words.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    moments: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '1' },
    others: { type: 'string', default: '1' },
  },
})
// The tests start the program as users do. Installs and builds it first, so that no test has to wait for the build.
if (spawnSync(process.execPath, ['start.mjs', '--build'], { stdio: 'inherit' }).status !== 0) process.exit(1)
const rounds = Number(values.rounds)
const seeds = (values.seeds ?? Array.from({ length: 3 }, () => randomInt(1_000_000)).join(',')).split(',').filter((s) => s !== '')
console.log(`Seeds ${seeds.join(',') || 'none'}; ${values.moments} moments each; ${counted(rounds, 'round')} of the effect points.`)

interface Report {
  numPassedTests: number
  numTotalTests: number
  testResults: { assertionResults: { status: string; fullName: string }[] }[]
}
const folder = mkdtempSync(join(tmpdir(), 'steelyard-faults-report-'))
const lines: string[] = []
let failed = 0

/** Runs vitest once. The result is printed again at the end. */
function run(what: string, files: readonly string[], more: Record<string, string> = {}): void {
  const began = Date.now()
  const report = join(folder, `${lines.length}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const paths = files.map((name) => `e2e/faults/${name}.test.ts`)
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'faults', ...reporters, ...paths], {
    stdio: 'inherit',
    env: { ...process.env, FAULTS: 'at-length', ...more },
  })
  const { numPassedTests, numTotalTests, testResults } = existsSync(report)
    ? (JSON.parse(readFileSync(report, 'utf8')) as Report)
    : { numPassedTests: 0, numTotalTests: 0, testResults: [] }
  const isGreen = status === 0 && numPassedTests === numTotalTests && numTotalTests > 0
  if (!isGreen) failed++
  lines.push(`${isGreen ? 'passed' : 'FAILED'}  ${what}: ${numPassedTests} of ${numTotalTests} in ${Math.round((Date.now() - began) / 1000)} s`)
  const broken = testResults.flatMap((file) => file.assertionResults).filter((test) => test.status !== 'passed')
  for (const { fullName } of broken) lines.push(`        ${fullName}`)
}

// Each round and each seed is a separate run with new simulators, so that no simulator has thousands of servers.
for (let round = 1; round <= rounds; round++) run(`every effect point of a creation, before and after, round ${round}`, ['kill-before', 'kill-after'])
for (const seed of seeds) run(`moments of seed ${seed}`, ['kill-moments'], { FAULT_SEEDS: seed, FAULT_MOMENTS: values.moments })
const own = new Set(['kill-before', 'kill-after', 'kill-moments'])
const others = readdirSync('e2e/faults').flatMap((name) => /^(.+)\.test\.ts$/.exec(name)?.[1] ?? [])
if (values.others !== '0') for (const name of others.filter((n) => !own.has(n))) run(name, [name])
rmSync(folder, { recursive: true, force: true })
console.log(`\n${lines.join('\n')}`)
console.log(failed === 0 ? 'All runs passed.' : `${failed} of the runs failed.`)
process.exit(failed === 0 ? 0 : 1)
