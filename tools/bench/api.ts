/**
 * Measures the API: the speed of lists compared with plain Node.js, their compressed size,
 * revalidation, reading one server, a start, and all contacts.
 */
import autocannon from 'autocannon'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../api-client.ts'
import { freePort, run, type Running, usage } from '../processes.ts'
import { addSimulated } from '../simulated.ts'
import type { Options } from './browser.ts'
import { callerOf, nodeOf, startOf, whenContacted } from './checkouts.ts'
import { bars } from './machines.ts'
import { median } from './numbers.ts'

type Say = Options['say']
type Headers = Record<string, string>

/** Many short rounds, because the speed of a machine changes from second to second. */
const rounds = 9
const roundSeconds = 2
const warmUpSeconds = 5
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
const bytesOf = async (url: string, headers: Headers) =>
  Buffer.from(await (await fetch(url, { headers })).arrayBuffer())

/**
 * Requests per second of ten connections, and the processor time that the server's process takes
 * for one, in microseconds.
 */
interface Load {
  perSecond: number
  cpuMicros: number
}

interface Loading {
  headers: Headers
  paths?: readonly string[] | undefined
  duration?: number
  idle?: number
}

/**
 * Loads a server for some seconds. Of several paths each connection starts at another one. `idle`:
 * the process's share of a core without requests.
 */
async function load(
  url: string,
  pid: number,
  { headers, paths, duration: asked = warmUpSeconds, idle = 0 }: Loading,
): Promise<Load> {
  let clients = 0
  const before = usage(pid)
  const { requests, duration, non2xx, statusCodeStats } = await autocannon({
    url,
    headers,
    connections: 10,
    duration: asked,
    ...(paths && {
      setupClient: (client) => {
        const at = Math.floor((paths.length / 10) * clients++)
        client.setRequests(
          [...paths.slice(at), ...paths.slice(0, at)].map((path) => ({ path, headers })),
        )
      },
    }),
  })
  if (non2xx > 0)
    throw new Error(
      `${url} answered ${non2xx} of ${requests.total} requests with an error: ${JSON.stringify(statusCodeStats)}`,
    )
  const cpuSeconds = usage(pid).cpuSeconds - before.cpuSeconds - idle * duration
  return { perSecond: requests.total / duration, cpuMicros: (cpuSeconds / requests.total) * 1e6 }
}

/** Processor time that a process takes for its own work, such as contacts, as a share of a core. */
async function idleShare(pid: number): Promise<number> {
  const before = usage(pid)
  await pause(5_000)
  return (usage(pid).cpuSeconds - before.cpuSeconds) / 5
}

/** Headers that each server writes itself. */
const ownHeaders = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
])

/**
 * A list as a share of what plain Node sends of as many bytes to the same client, with the same
 * headers of requests and responses: in requests per second, and in the server's processor time per
 * request.
 */
async function share(
  say: Say,
  what: string,
  {
    url,
    pid,
    headers,
    bar = '',
    paths,
  }: { url: string; pid: number; headers: Headers; bar?: string; paths?: readonly string[] },
) {
  let bytes = 0
  const sampled = paths?.filter((_, i) => i % 10 === 0) ?? [url]
  for (const one of sampled)
    bytes += (await bytesOf(new URL(one, url).href, headers)).length / sampled.length
  // The client doesn't ask for compression, but `fetch` does by default.
  const sent = await fetch(url, { headers: { ...headers, 'accept-encoding': 'identity' } })
  await sent.arrayBuffer()
  const port = await freePort()
  const answered = JSON.stringify([...sent.headers].filter(([name]) => !ownHeaders.has(name)))
  const plain = await run(
    nodeOf('.'),
    ['tools/bench/plain-server.ts', String(port), bytes.toFixed(0), answered],
    /^ready/,
  )
  const loadPlain = (duration: number) =>
    load(`http://127.0.0.1:${port}/`, plain.child.pid!, { headers, duration })
  const idle = await idleShare(pid)
  const loadOurs = (duration: number) => load(url, pid, { headers, paths, duration, idle })
  // Both servers compile their code first: the first seconds after a start would compare compilers.
  await loadPlain(warmUpSeconds)
  await loadOurs(warmUpSeconds)
  const pairs: [bare: Load, ours: Load][] = []
  for (let round = 0; round < rounds; round++)
    pairs.push([await loadPlain(roundSeconds), await loadOurs(roundSeconds)])
  await plain.stop()
  const show = (read: (one: Load) => number) =>
    pairs.map(([bare, ours]) => `${read(bare).toFixed(0)}/${read(ours).toFixed(0)}`).join(' ')
  say(
    `  ${what}, share of plain Node in requests per second`,
    median(pairs.map(([bare, ours]) => ours.perSecond / bare.perSecond)).toFixed(2),
    bar,
  )
  say(
    `  ${what}, share of plain Node in processor time`,
    median(pairs.map(([bare, ours]) => bare.cpuMicros / ours.cpuMicros)).toFixed(2),
    bar,
  )
  say(
    `    ${(bytes / 1000).toFixed(0)} kB, plain Node/ours: requests per second`,
    show((one) => one.perSecond),
  )
  say(
    '    plain Node/ours: microseconds of processor time per request',
    show((one) => one.cpuMicros),
  )
}

/**
 * Different searches that each find many servers: three hexadecimal digits, which occur in MAC
 * addresses and ids.
 */
const searches = Array.from({ length: 1000 }, (_, i) => (0x123 + i * 3).toString(16))

/**
 * Measures the whole list as clients read it: compressed, 20 times a second, and revalidated by a
 * client with a cached copy.
 */
async function wholeList(say: Say, url: string, authorization: string): Promise<void> {
  for (const [what, full] of [
    ['whole', url],
    ['with the fields of the console’s list', `${url}&fields=list`],
  ] as const) {
    const headers = { authorization, 'accept-encoding': 'gzip' }
    const bytes = Number((await fetch(full, { headers })).headers.get('content-length'))
    say(`  list of 1000, ${what}, gzip`, `${(bytes / 1000).toFixed(0)} kB`, 'at most 500 kB')
    const { latency } = await autocannon({
      url: full,
      headers,
      connections: 5,
      overallRate: 20,
      duration: 10,
    })
    say(
      '    20 a second: half within, 99 of 100 within',
      `${latency.p50} / ${latency.p99} ms`,
      'under 300 ms',
    )
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
  const within = (part: number) => sorted[Math.ceil(sorted.length * part) - 1]?.toFixed(1)
  say(
    `    revalidated, 304: half within, 99 of 100 within (${took.length})`,
    `${within(0.5)} / ${within(0.99)} ms`,
    'under 10 ms',
  )
}

/** Waits until nearly every server was contacted once more. */
async function contactSweep(
  say: Say,
  url: string,
  { admin, program }: { admin: Options['admin']; program: Running },
) {
  const before = usage(program.child.pid!)
  const began = performance.now()
  const contacted = await whenContacted(callerOf(url, admin))
  const { cpuSeconds } = usage(program.child.pid!)
  say(
    `  contact sweep: ${contacted} servers in ${seconds(performance.now() - began)}, CPU seconds`,
    (cpuSeconds - before.cpuSeconds).toFixed(1),
  )
}

export async function apiBudgets({
  admin,
  fleets,
  data,
  say,
}: Pick<Options, 'admin' | 'fleets' | 'data' | 'say'>): Promise<void> {
  for (const servers of fleets) {
    const kept = join(data, String(servers))
    mkdirSync(kept, { recursive: true })
    const simulator = await run(
      nodeOf('.'),
      ['simulator/src/main.ts', '--servers', String(servers), '--data', join(kept, 'simulator')],
      /^Simulator is ready/,
    )
    const began = performance.now()
    let { url, program } = await startOf({ checkout: '.', data: kept, servers }, admin)
    try {
      await addSimulated(callerOf(url, admin), join(kept, 'simulator', 'control.sock'))
      say(
        `${servers} simulated servers registered by address`,
        seconds(performance.now() - began),
        servers > 1000 ? 'at most 60 s' : '',
      )
      const { accessToken } = await apiClient(url).call(authorize, { body: admin })
      const headers = { authorization: `Bearer ${accessToken}` }
      await program.stop()

      ;({ url, program } = await startOf({ checkout: '.', data: kept, servers }, admin))
      const asked = performance.now()
      await bytesOf(`${url}/v1/nodes?per_page=100`, headers)
      say(
        '  warm start: ready, first list of 100',
        `${seconds(program.readyAfterMs)}, ${(performance.now() - asked).toFixed(0)} ms`,
        '0.7 s, 50 ms',
      )
      // After a start the first contact with each server costs more than later ones, because the
      // program doesn't know the certificates yet.
      await whenContacted(callerOf(url, admin))

      const hundred = `${url}/v1/nodes?per_page=100`
      const pid = program.child.pid!
      await share(say, 'list of 100', { url: hundred, pid, headers, bar: 'at least 0.60' })
      await share(say, 'list of 100 with a search', {
        url: `${hundred}&q=a`,
        pid,
        headers,
        bar: 'at least 0.70',
      })
      const paths = searches.map((q) => `/v1/nodes?per_page=100&q=${q}`)
      await share(say, 'list of 100 with 1,000 different searches', {
        url: hundred,
        pid,
        headers,
        paths,
      })
      await share(say, 'list of 1000', {
        url: `${url}/v1/nodes?per_page=1000`,
        pid,
        headers,
        bar: 'at least 0.90',
      })
      await wholeList(say, `${url}/v1/nodes?per_page=1000`, headers.authorization)
      const { items } = await apiClient(url, accessToken).call(serverList, {
        query: { per_page: 1 },
      })
      say(
        '  one server, requests per second',
        (await load(`${url}/v1/nodes/${items[0]!.id}`, pid, { headers })).perSecond.toFixed(0),
      )

      await contactSweep(say, url, { admin, program })
      say(
        '  memory of the program after it',
        `${usage(program.child.pid!).memoryMB.toFixed(0)} MB`,
        bars[servers]?.memory,
      )
    } finally {
      await program.stop()
      await simulator.stop()
    }
  }
}
