/**
 * `npm run bench`: measures everything that has a budget. Where a ratio of two measurements is more meaningful than a number, prints the ratio.
 * `npm run bench -- api console start browser` runs the named parts only.
 * Options of `browser`: `--servers 1000,10000`; `--against DIR`, a second built checkout that is measured in turns with this one;
 * `--rounds 3`; `--data DIR`, where the databases are kept for the next run.
 */
import autocannon from 'autocannon'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { operationGet } from '#contract/operations.ts'
import { serverAdd, serverConfirm, serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../api-client.ts'
import { browserBudgets } from './browser.ts'
import { launch, pageBudgets, pageCosts } from './console.ts'
import { control, freePort, run, scratch, usage } from '../processes.ts'

const { values: options, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: {
    servers: { type: 'string', default: '1000,10000' },
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    data: { type: 'string' },
  },
})
const known = ['api', 'console', 'start', 'browser'] as const
const unknown = parts.filter((part) => !known.some((k) => k === part))
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}: the parts are ${known.join(', ')}`)
  process.exit(2)
}
const wanted = (part: (typeof known)[number]) => parts.length === 0 || parts.includes(part)
const say = (what: string, value: string, bar = '') => console.log(`${what.padEnd(66)} ${value.padStart(14)}  ${bar}`)
const admin = { email: 'bench@steelyard.demo', password: 'a long sentence for measuring' }
const fleet = 1000

const requestsPerSecond = async (url: string, headers: Record<string, string> = {}) =>
  (await autocannon({ url, headers, connections: 10, duration: 5 })).requests.average

/** Measures a list as programs and browsers read it: compressed, 20 times a second, and revalidated by a client that has it cached. */
async function listBudgets(url: string, authorization: string): Promise<void> {
  for (const [what, full] of [
    ['whole', url],
    ['without disks and interfaces', `${url}&fields=summary`],
  ] as const) {
    const headers = { authorization, 'accept-encoding': 'gzip' }
    const bytes = Number((await fetch(full, { headers })).headers.get('content-length'))
    say(`list of ${fleet} servers, ${what}, gzip`, `${(bytes / 1000).toFixed(0)} kB`, 'at most 500 kB')
    const { latency } = await autocannon({ url: full, headers, connections: 5, overallRate: 20, duration: 10 })
    say('  20 a second: half within, 99 of 100 within', `${latency.p50} / ${latency.p99} ms`, 'under 300 ms')
  }
  const took: number[] = []
  let has = ''
  for (let tries = 0; took.length < 500 && tries < 2_000; tries++) {
    const began = performance.now()
    const answer = await fetch(url, { headers: { authorization, 'if-none-match': has } })
    if (answer.status === 304) took.push(performance.now() - began)
    // The list has changed, because a server was contacted meanwhile.
    else has = answer.headers.get('etag') ?? ''
    await answer.arrayBuffer()
  }
  const sorted = took.toSorted((a, b) => a - b)
  const within = (share: number) => sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(1)
  say(`  who has it as it is: 304, half within, 99 of 100 within (${took.length})`, `${within(0.5)} / ${within(0.99)} ms`, 'under 10 ms')
}

if (wanted('api') || wanted('console')) {
  const data = scratch()
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const simulator = await run(
    process.execPath,
    ['simulator/src/main.ts', '--servers', String(fleet), '--data', join(data.path, 'simulator')],
    /^Simulator is ready/,
  )
  const program = await run(
    process.execPath,
    ['--max-semi-space-size=8', '--heap-growing-percent=100', 'backend/src/main.ts', 'serve'],
    /^Steelyard is ready/,
    {
      env: {
        PORT: port,
        STEELYARD_DATA: data.path,
        STEELYARD_SIMULATE: String(fleet),
        STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
        STEELYARD_ADMIN_EMAIL: admin.email,
        STEELYARD_ADMIN_PASSWORD: admin.password,
        LOG_LEVEL: 'error',
      },
    },
  )
  try {
    const { accessToken } = await apiClient(url).call(authorize, { body: admin })
    const { call } = apiClient(url, accessToken)
    const addresses = (await control<{ servers: { address: string }[] }>(join(data.path, 'simulator', 'control.sock'), '/servers')).servers.map(
      (s) => s.address,
    )
    const began = performance.now()
    const { operation } = await call(serverAdd, { body: { addresses } })
    for (let { status } = operation; status === 'pending' || status === 'running';) {
      await new Promise((resolve) => setTimeout(resolve, 250))
      ;({ status } = await call(operationGet, { params: { id: operation.id } }))
    }
    const { items } = await call(serverList, { query: {} })
    say(`${items.length} simulated servers found by address and read`, `${((performance.now() - began) / 1000).toFixed(1)} s`)
    await call(serverConfirm, { params: { id: items[0]!.id }, body: { uuid: items[0]!.identity.uuid!, serial: items[0]!.identity.serial! } })

    if (wanted('api')) {
      const authorization = `Bearer ${accessToken}`
      const bytes = Buffer.from(await (await fetch(`${url}/v1/nodes`, { headers: { authorization } })).arrayBuffer())
      const plainPort = await freePort()
      const plain = await run(process.execPath, ['tools/bench/plain-server.ts', String(plainPort), String(bytes.length)], /^ready/)
      const ratios: number[] = []
      for (let round = 0; round < 3; round++) {
        const bare = await requestsPerSecond(`http://127.0.0.1:${plainPort}/`)
        const ours = await requestsPerSecond(`${url}/v1/nodes`, { authorization })
        ratios.push(ours / bare)
        say(
          `  list of ${fleet} servers, ${(bytes.length / 1024).toFixed(0)} KiB: plain Node / ours, requests per second`,
          `${bare.toFixed(0)} / ${ours.toFixed(0)}`,
        )
      }
      await plain.stop()
      say(`list of ${fleet} servers as a share of plain Node (median of 3)`, ratios.toSorted((a, b) => a - b)[1]!.toFixed(2), 'at least 0.60')
      await listBudgets(`${url}/v1/nodes?per_page=1000`, authorization)
      say('one server, requests per second', (await requestsPerSecond(`${url}/v1/nodes/${items[0]!.id}`, { authorization })).toFixed(0))

      const before = usage(program.child.pid!)
      const since = new Date().toISOString()
      const sweepBegan = performance.now()
      let contacted = 0
      while (contacted < fleet * 0.99 && performance.now() - sweepBegan < 200_000) {
        await new Promise((resolve) => setTimeout(resolve, 15_000))
        const { accessToken: token } = await apiClient(url).call(authorize, { body: admin })
        contacted = (await apiClient(url, token).call(serverList, { query: { fields: 'summary' } })).items.filter(
          (s) => (s.talos.last_contact_at ?? '') > since,
        ).length
      }
      const after = usage(program.child.pid!)
      say(
        `contact sweep: ${contacted} servers in ${((performance.now() - sweepBegan) / 1000).toFixed(0)} s, CPU seconds`,
        (after.cpuSeconds - before.cpuSeconds).toFixed(1),
      )
      say('  memory of the program after it', `${after.memoryMiB.toFixed(0)} MiB`)
    }
    if (wanted('console')) {
      const browser = await launch()
      const costs = await pageCosts(browser, url, admin)
      await browser.close()
      for (const [key, what] of [
        ['signIn', 'sign-in'],
        ['servers', 'server list'],
        ['createCluster', 'create cluster'],
      ] as const) {
        const { bytes, requests } = pageBudgets[key]
        say(`${what}: JavaScript, gzip`, `${(costs[key].bytes / 1000).toFixed(1)} KB`, `at most ${bytes / 1000} KB`)
        say(`${what}: requests`, String(costs[key].requests), `at most ${requests}`)
      }
    }
  } finally {
    await program.stop()
    await simulator.stop()
    data.remove()
  }
}

if (wanted('browser')) {
  const data = options.data === undefined ? scratch() : { path: options.data, remove: () => undefined }
  const fleets = options.servers.split(',').map(Number)
  await browserBudgets({ admin, rounds: Number(options.rounds), fleets, against: options.against, data: data.path, say })
  data.remove()
}

if (wanted('start')) {
  const data = scratch()
  const copy = join(data.path, 'clone')
  mkdirSync(copy)
  for (const file of spawnSync('git', ['ls-files'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean))
    cpSync(file, join(copy, file), { recursive: true })
  const env = { PORT: String(await freePort()), STEELYARD_DATA: join(data.path, 'data') }
  for (const name of ['cold start: install, build, first database, 12 servers', 'warm start']) {
    const started = await run('node', ['start.mjs'], /^Steelyard is ready/, { cwd: copy, env })
    say(name, `${(started.readyAfterMs / 1000).toFixed(1)} s`, name === 'warm start' ? 'under 3 s' : '')
    await started.stop()
  }
  data.remove()
}
