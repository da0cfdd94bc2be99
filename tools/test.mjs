// `npm test` runs all checks and suites one after another, then prints the time and the processor
// time of each, and a last line with the counts. `npm run test:all` (`--all`) runs them in full:
// every point of a fault, every screen, long lives (`tools/testing/length.ts`). A suite that needs
// a missing program is skipped by name, with the command that installs the program; with
// TEST_NOTHING_SKIPPED=1 a skip is a failure. Plain JavaScript, because on a fresh clone the
// machine's own Node.js runs this file.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findTestBrowser } from './browsers.mjs'
import { startPostgres, systemPostgres } from './postgres.mjs'
import { processorTime } from './processor-time.mjs'
import { missingForRelease } from './release/needs.mjs'
import { registerRows, unshown } from './specification.mjs'
import { prepareAll, recordedStatements } from './statements.mjs'

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'))
const given = process.argv.slice(2)
const only = given.filter((word) => word !== '--all')
if (given.includes('--all')) process.env.TEST_ALL = '1'
const inFull = process.env.TEST_ALL === '1'
const nothingSkipped = process.env.TEST_NOTHING_SKIPPED === '1'
const rows = []
// Failures are printed again at the very end, because sometimes only the last part of the output is
// kept.
const failures = []
// The tests' programs use the persistent compile cache of `npm start`.
const compiled = join(process.cwd(), 'node_modules/.steelyard/compiled')
const firstLine = (text) => String(text ?? '').split('\n', 1)[0]
const total = { passed: 0, failed: 0, skipped: 0 }
/** The tests that passed, by file and title. */
const passedTests = []
const reports = mkdtempSync(join(tmpdir(), 'sy-test-'))

const processor = processorTime()
/**
 * Begins to measure a suite. The result is called at its end and returns the time and the processor
 * time in seconds; the latter is null on systems that don't tell it.
 */
function measure() {
  const [began, used] = [Date.now(), processor?.seconds() ?? 0]
  return () => [(Date.now() - began) / 1000, processor ? processor.seconds() - used : null]
}
const seconds = (value) => (value === null ? '' : `${value.toFixed(1)} s`)

const isAsked = (name) => only.length === 0 || only.some((o) => name.includes(o))

/**
 * Runs a command and shows its output. A vitest run counts by its tests, any other command as one
 * test.
 */
function suite(name, command, args, env = {}) {
  if (!isAsked(name)) return
  console.log(`\n── ${name}`)
  const times = measure()
  const report = join(reports, `${rows.length}.json`)
  const isVitest = args[0] === 'node_modules/vitest/vitest.mjs'
  const ran = spawnSync(
    command,
    isVitest
      ? [...args, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
      : args,
    {
      stdio: 'inherit',
      env: { ...process.env, NODE_COMPILE_CACHE: compiled, ...env },
    },
  )
  const counted = isVitest && existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null
  for (const file of counted?.testResults ?? []) {
    if (file.status === 'failed' && file.assertionResults.length === 0)
      failures.push(`${name}: ${relative('.', file.name)}: ${firstLine(file.message)}`)
    for (const test of file.assertionResults)
      if (test.status === 'passed')
        passedTests.push({ file: relative('.', file.name), title: test.title })
    for (const test of file.assertionResults)
      if (test.status === 'failed') {
        const page = test.meta?.page ? `\nIts page was ${test.meta.page}\n` : ''
        failures.push(
          `${name}: ${relative('.', file.name)} > ${test.fullName}: ${firstLine(test.failureMessages[0])}${page}`,
        )
      }
  }
  const passed = counted ? counted.numPassedTests : ran.status === 0 ? 1 : 0
  const skipped = counted ? counted.numPendingTests + counted.numTodoTests : 0
  const isSkipWrong = nothingSkipped && skipped > 0
  if (isSkipWrong) failures.push(`${name}: ${skipped} of its tests were skipped`)
  const isWrong = isSkipWrong || ran.status !== 0
  const failed = Math.max(counted ? counted.numFailedTests : 0, isWrong ? 1 : 0)
  total.passed += passed
  total.failed += failed
  total.skipped += skipped
  rows.push([
    name,
    failed > 0 ? 'failed' : 'passed',
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
    ...times(),
  ])
}

/** Counts a check that isn't a command as one test, which failed if there are complaints. */
function count(name, complaints, what, times = () => [null, null]) {
  const state = complaints.length > 0 ? 'failed' : 'passed'
  for (const complaint of complaints) failures.push(`${name}: ${complaint}`)
  total[state] += 1
  rows.push([name, state, what, ...times()])
}

function skip(name, install) {
  if (!isAsked(name)) return
  total[nothingSkipped ? 'failed' : 'skipped'] += 1
  rows.push([
    name,
    nothingSkipped ? 'failed' : 'skipped',
    `needs what this machine lacks; install it with: ${install}`,
    null,
    null,
  ])
}

const prepared = spawnSync(process.execPath, ['start.mjs', '--build', '--tools'], {
  stdio: 'inherit',
})
if (prepared.status !== 0) process.exit(1)
const node = 'node_modules/.bin/node'
const vitest = (...args) => ['node_modules/vitest/vitest.mjs', 'run', ...args]

/** The checks of the code itself, with which the cost of the suites is compared. */
const codeChecks = ['types', 'types of the console', 'lint', 'format']
const isCheck = ([name]) => codeChecks.includes(name)
suite('types', node, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'])
suite('types of the console', node, [
  'node_modules/typescript/bin/tsc',
  '-p',
  'console/tsconfig.json',
])
suite('lint', 'node_modules/.bin/oxlint', ['--type-aware', '--deny-warnings'])
suite('format', 'node_modules/.bin/oxfmt', ['--check'])
// One run for all rooms without a database, so that no processor is idle at the end of each. Three
// workers on two processors, as below.
const rooms = [
  'contract',
  'tools',
  'talos',
  'redfish',
  'conformance',
  'simulator',
  'console',
  'console-functions',
  'console-components',
  'cli',
].filter((room) => isAsked(room))
if (rooms.length > 0)
  suite(
    rooms.join(', '),
    node,
    vitest('--maxWorkers', '3', ...rooms.flatMap((room) => ['--project', room])),
  )

// Talos's and etcd's own code must still give the committed answers, and a published S3 service
// and a published Alertmanager must accept our requests.
if (inFull && spawnSync('go', ['version']).status === 0) {
  suite('conformance with Go', node, ['conformance/run.ts', '--check'])
  suite('types of Kubernetes', node, ['conformance/kubernetes.ts', '--check'])
  suite('S3 service', node, ['tools/published/s3.ts'])
  suite('Alertmanager', node, ['tools/published/alertmanager.ts'])
} else if (inFull)
  skip(
    'conformance with Go, types of Kubernetes, S3 service, Alertmanager',
    'apt-get install golang',
  )

// `promtool.long.test.ts` asks Prometheus's own program.
if (inFull && spawnSync('promtool', ['--version']).status !== 0)
  skip('metrics with promtool', 'apt-get install prometheus')

const statements = mkdtempSync(join(tmpdir(), 'sy-statements-'))
// More workers than processors, here and for the faults, because many of these tests wait for
// simulated machines and use no processor time meanwhile. The tests that only the full run has wait
// longest, but a small machine lacks the memory for more of them at once.
const hasMemory = totalmem() > 12e9
const backend = ['backend', 'backend-machines', 'backend-alone']
  .flatMap((name) => ['--project', name])
  .concat('--maxWorkers', inFull && hasMemory ? '4' : '3')
suite('backend', node, vitest(...backend), { TEST_STATEMENTS: statements })
const postgres = systemPostgres()
if (process.env.TEST_DATABASE_URL) {
  suite('backend on the given PostgreSQL', node, vitest(...backend))
} else if (postgres) {
  const name = `backend on PostgreSQL ${postgres.version}`
  if (isAsked(name)) {
    const server = await startPostgres(postgres)
    // Without the full run: the tests of the database itself, which also migrate the template, and
    // of the backup, which reads the catalog and copies.
    const ofDatabase = [
      'db/db.test',
      'db/migrate',
      'db/tables',
      'db/one-value',
      'commands/backup',
    ].map((file) => `backend/src/${file}`)
    suite(name, node, vitest(...backend, ...(inFull ? [] : ofDatabase)), {
      TEST_DATABASE_URL: server.url,
    })
    const recorded = recordedStatements(statements)
    if (recorded.length > 0) {
      const times = measure()
      const refused = await prepareAll(server.url, recorded)
      count(
        `statements on PostgreSQL ${postgres.version}`,
        refused,
        `${recorded.length} statements of the tests parsed and planned`,
        times,
      )
    }
    await server.stop()
  }
} else skip('backend on PostgreSQL of the system', 'apt-get install postgresql')

if (inFull) {
  const seeds =
    process.env.FAULT_SEEDS ?? Array.from({ length: 3 }, () => randomInt(1_000_000)).join()
  console.log(`\nSeeds of the faults: ${seeds}`)
  // One of the files has fifty clusters.
  suite('faults', node, vitest('--project', 'faults', '--maxWorkers', hasMemory ? '2' : '1'), {
    FAULT_SEEDS: seeds,
    FAULT_MOMENTS: process.env.FAULT_MOMENTS ?? '10',
  })
} else suite('faults', node, vitest('--project', 'faults', '--maxWorkers', '3'))
// Generators of clients, and Schemathesis, read the OpenAPI document of a running Steelyard.
const generators = [
  ['go', ['version'], 'golang'],
  ['java', ['-version'], 'default-jre-headless'],
  ['mvn', ['--version'], 'maven'],
  ['python3', ['-c', 'import venv, ensurepip'], 'python3-venv'],
]
const noGenerators = generators.filter(([program, args]) => spawnSync(program, args).status !== 0)
if (inFull && noGenerators.length === 0)
  suite('generated clients', node, vitest('--project', 'clients'))
else if (inFull)
  skip('generated clients', `apt-get install ${noGenerators.map(([, , one]) => one).join(' ')}`)
// Others' programs for Redfish judge and use simulated BMCs.
const hasPython = spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0
if (inFull && hasPython) suite('Redfish by others', node, vitest('--project', 'redfish-by-others'))
else if (inFull) skip('Redfish by others', 'apt-get install python3-venv')
const browser = findTestBrowser()
if (browser) suite('browser', node, vitest('--project', 'e2e'), { CHROME_PATH: browser })
else skip('browser', 'apt-get install chromium')

// Makes the files of a release for this machine's platform, installs, upgrades and removes them.
if (inFull) {
  const missing = missingForRelease()
  const out = join(reports, 'release')
  if (missing.length > 0) skip('release', missing.join('; '))
  else suite('release', node, ['tools/release/release.ts', '--out', out])
}

// Only after a run of all suites in full: otherwise many statements would have no test that passed.
if (inFull && only.length === 0 && browser) {
  const numbers = unshown(registerRows(readFileSync('docs/specification.md', 'utf8')), passedTests)
  const missing = numbers.map((number) => `no test that ${number} names has passed`)
  count(
    'specification',
    missing,
    `${numbers.length} statements without a passing test or a decision`,
  )
}

for (const folder of [reports, statements]) rmSync(folder, { recursive: true, force: true })
// Fails, because a mistyped name must not look like a success.
if (rows.length === 0) {
  console.log(`No suite has ${only.join(' or ')} in its name`)
  process.exit(2)
}
console.log('\n── time and processor time of each suite')
for (const [name, state, what, time, processorTime] of rows)
  console.log(
    `${state.padEnd(8)} ${name.padEnd(34)} ${seconds(time).padStart(9)} ${seconds(processorTime).padStart(9)}  ${what}`,
  )
if (processor) {
  const all = processor.seconds()
  console.log(
    `Processor time, ${processor.how}: ${all.toFixed(0)} s, ${(all / 60).toFixed(1)} minutes`,
  )
  // A share, because only that is the same on a quick and on a slow computer (`tools/README.md`).
  const sum = (some) => some.reduce((total, [, , , , used]) => total + (used ?? 0), 0)
  const [checks, suites] = [rows.filter(isCheck), rows.filter((row) => !isCheck(row))]
  if (checks.length === codeChecks.length && suites.length > 0)
    console.log(
      `The suites cost ${(sum(suites) / sum(checks)).toFixed(1)} times the types, lint and format (npm test: at most 12)`,
    )
}
for (const failure of failures) console.log(`failed   ${failure}`)
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed > 0 ? 1 : 0)
