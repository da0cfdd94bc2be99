/**
 * `npm run bench`: measures everything that has a budget. Where a ratio of two measurements is more
 * meaningful than a number, prints the ratio. `npm run bench -- api console start browser machines`
 * runs the named parts only. Options of `api`, `browser` and `machines`: `--servers 1000,10000`;
 * `--data DIR` keeps the databases for the next run. Options of `browser` and `machines`:
 * `--against DIR`, a second built checkout that is measured in turns with this one. Option of
 * `browser`: `--rounds 3`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildProgram } from '../../backend/build.ts'
import { apiBudgets } from './api.ts'
import { browserBudgets } from './browser.ts'
import { callerOf, startOf } from './checkouts.ts'
import { launch, pageBudgets, pageCosts } from './console.ts'
import { machineBudgets } from './machines.ts'
import { freePort, run, scratch } from '../processes.ts'
import { addSimulated } from '../simulated.ts'

const { values: options, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: {
    servers: { type: 'string', default: '1000,10000' },
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    data: { type: 'string' },
  },
})
const known = ['api', 'console', 'start', 'browser', 'machines'] as const
const unknown = parts.filter((part) => !known.some((k) => k === part))
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}: the parts are ${known.join(', ')}`)
  process.exit(2)
}
const wanted = (part: (typeof known)[number]) => parts.length === 0 || parts.includes(part)
const say = (what: string, value: string, bar = '') =>
  console.log(`${what.padEnd(66)} ${value.padStart(14)}  ${bar}`)
const admin = { email: 'bench@steelyard.demo', password: 'a long sentence for measuring' }
const data =
  options.data === undefined ? scratch() : { path: options.data, remove: () => undefined }
// The benchmarks run the program as `npm start` does.
await buildProgram()
const fleets = options.servers.split(',').map(Number)

if (wanted('api')) await apiBudgets({ admin, fleets, data: data.path, say })

if (wanted('console')) {
  const place = join(data.path, 'console')
  mkdirSync(place, { recursive: true })
  const simulator = await run(
    process.execPath,
    ['simulator/src/main.ts', '--servers', '50', '--data', join(place, 'simulator')],
    /^Simulator is ready/,
  )
  const { url, program } = await startOf({ checkout: '.', data: place, servers: 50 }, admin)
  try {
    await addSimulated(callerOf(url, admin), join(place, 'simulator', 'control.sock'))
    const browser = await launch()
    const costs = await pageCosts(browser, url, admin)
    await browser.close()
    for (const [key, what] of [
      ['signIn', 'sign-in'],
      ['servers', 'server list'],
      ['createCluster', 'create cluster'],
    ] as const) {
      const { bytes, requests } = pageBudgets[key]
      say(
        `${what}: JavaScript, gzip`,
        `${(costs[key].bytes / 1000).toFixed(1)} KB`,
        `at most ${bytes / 1000} KB`,
      )
      say(`${what}: requests`, String(costs[key].requests), `at most ${requests}`)
    }
  } finally {
    await program.stop()
    await simulator.stop()
  }
}

if (wanted('browser'))
  await browserBudgets({
    admin,
    rounds: Number(options.rounds),
    fleets,
    against: options.against,
    data: data.path,
    say,
  })

if (wanted('machines'))
  await machineBudgets({ admin, fleets, against: options.against, data: data.path, say })

if (wanted('start')) {
  const copy = join(data.path, 'clone')
  mkdirSync(copy)
  for (const file of spawnSync('git', ['ls-files'], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean))
    cpSync(file, join(copy, file), { recursive: true })
  const env = { PORT: String(await freePort()), STEELYARD_DATA: join(data.path, 'start') }
  for (const name of ['cold start: install, build, first database, 12 servers', 'warm start']) {
    const started = await run('node', ['start.mjs'], /^Steelyard is ready/, { cwd: copy, env })
    say(
      name,
      `${(started.readyAfterMs / 1000).toFixed(1)} s`,
      name === 'warm start' ? 'under 3 s' : '',
    )
    await started.stop()
  }
}
data.remove()
