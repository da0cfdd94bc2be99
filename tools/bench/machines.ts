/**
 * Measures the cost of idle fleets of several sizes: how long the registration takes, the memory of
 * the Node.js process (without its database and the simulator), the processor time of contacts, and
 * the time of a warm start. With a second built checkout, measures both, one program at a time, and
 * prints the shares, because times and per cents of a core depend on the machine much more than
 * shares of one run do.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../api-client.ts'
import { freePort, run, type Running, usage } from '../processes.ts'
import { addSimulated } from '../simulated.ts'
import {
  type Admin,
  callerOf,
  type Place as Checkout,
  processorTimes,
  startOf,
  whenIdle,
} from './checkouts.ts'
import { median } from './numbers.ts'

interface Place extends Checkout {
  name: 'now' | 'other'
}

interface Options {
  admin: Admin
  fleets: readonly number[]
  /** Folder of a second checkout, with its packages installed. */
  against: string | undefined
  /**
   * Folder for the databases. They are reused if they exist. Then the registration isn't measured.
   */
  data: string
  say: (what: string, value: string, bar?: string) => void
}

/** Budgets by number of servers. Other numbers of servers have no budget. */
export const bars: Readonly<Record<number, { memory: string; processor: string }>> = {
  1000: { memory: 'at most 250 MB', processor: 'at most 3 %' },
  10_000: { memory: 'at most 400 MB', processor: 'at most 20 %' },
}
/** Each checkout is started this often, in turns with the other one. */
const starts = 7
/**
 * `sweepMs`: time in which every idle server is contacted once. `settleMs`: time for the memory to
 * settle after a start or a registration.
 */
const sweepMs = 120_000
const settleMs = 120_000
/**
 * The memory grows between two garbage collections and falls with each, so one sample says little:
 * it is the median of a sweep's samples that counts.
 */
const sampleMs = 5_000

/**
 * What a registration takes of each server in calls and in bytes of all answers, so that the floor
 * does as much.
 */
const callsPerServer = 15
const bytesPerCall = 1_200

/**
 * What is measured of a checkout. Times in seconds, memory in MB, `processor` in per cent of a
 * core.
 */
interface Measured {
  registration?: number
  processor: number
  memory: number
  mostMemory: number
  ready: number
  firstList: number
}

type Idle = Pick<Measured, 'registration' | 'processor' | 'memory' | 'mostMemory'>

/**
 * The share of commit 8a935b3 that each value may be: the budget divided by what that commit took
 * on the machine for which the budgets were set. `start`: ready and first list together.
 */
const shares: Readonly<
  Record<number, Partial<Record<'registration' | 'processor' | 'memory' | 'start', number>>>
> = {
  1000: { memory: 250 / 430, processor: 3 / 6 },
  10_000: {
    memory: 400 / 555,
    processor: 20 / 24,
    start: (0.7 + 0.05) / (1.1 + 0.23),
    registration: 60 / 166,
  },
}

/** Plain Node with as many handshakes, requests and bytes as a registration, and nothing else. */
async function floor(servers: number, say: Options['say']): Promise<void> {
  const port = String(await freePort())
  const server = await run(
    process.execPath,
    ['tools/bench/plain-machines.ts', 'serve', port, String(bytesPerCall)],
    /^ready/,
  )
  const client = await run(
    process.execPath,
    ['tools/bench/plain-machines.ts', 'dial', port, String(servers), String(callsPerServer)],
    /^ready/,
  )
  const [dialled, answered] = [client, server].map(({ child }) =>
    ((usage(child.pid!).cpuSeconds * 1000) / servers).toFixed(2),
  )
  say(
    '  floor: as many handshakes and calls of plain Node',
    `${(client.readyAfterMs / 1000).toFixed(1)} s`,
  )
  say(
    '  floor: processor time of its client and its server, per server',
    `${dialled} + ${answered} ms`,
  )
  await client.stop()
  await server.stop()
}

/**
 * Registers the simulated servers that the database lacks. Returns the seconds that it took;
 * undefined if some were registered before.
 */
async function registration(
  place: Place,
  { url, program }: Awaited<ReturnType<typeof startOf>>,
  simulator: Running,
  { admin, say }: Options,
) {
  const call = callerOf(url, admin)
  const query = { per_page: 1 }
  const known = (await call(serverList, { query })).total
  const earlier = processorTimes(program, place, simulator)
  const began = performance.now()
  if (known < place.servers)
    await addSimulated(call, join(place.data, '..', 'simulator', 'control.sock'), {
      whole: place.name === 'other',
    })
  const seconds = (performance.now() - began) / 1000
  const later = processorTimes(program, place, simulator)
  const { total } = await call(serverList, { query })
  if (total !== place.servers)
    throw new Error(`${total} of ${place.servers} servers are registered`)
  if (known > 0) return undefined
  for (const name of ['program', 'database', 'simulator'] as const)
    say(
      `  ${place.name}: processor time of the ${name}, per server`,
      `${(((later[name] - earlier[name]) * 1000) / total).toFixed(2)} ms`,
    )
  return seconds
}

/** Registers, and measures the program while nobody asks it anything. */
async function running(place: Place, simulator: Running, options: Options): Promise<Idle> {
  // The older checkouts don't have the command; their first start fills the compile cache.
  if (place.name === 'now') await (await startOf(place, options.admin, 'compile')).program.stop()
  const started = await startOf(place, options.admin)
  const { program } = started
  try {
    const seconds = await registration(place, started, simulator, options)
    await whenIdle(program)
    await pause(settleMs)
    const before = usage(program.child.pid!)
    const memory: number[] = []
    for (let waited = 0; waited < sweepMs; waited += sampleMs) {
      await pause(sampleMs)
      memory.push(usage(program.child.pid!).memoryMB)
    }
    const after = usage(program.child.pid!)
    return {
      ...(seconds !== undefined && { registration: seconds }),
      processor: ((after.cpuSeconds - before.cpuSeconds) / sweepMs) * 100_000,
      memory: median(memory),
      mostMemory: Math.max(...memory),
    }
  } finally {
    await program.stop()
  }
}

async function warmStart(
  place: Place,
  admin: Admin,
): Promise<Pick<Measured, 'ready' | 'firstList'>> {
  const { url, program } = await startOf(place, admin)
  try {
    const { call } = apiClient(
      url,
      (await apiClient(url).call(authorize, { body: admin })).accessToken,
    )
    const asked = performance.now()
    await call(serverList, { query: { per_page: 100 } })
    return { ready: program.readyAfterMs / 1000, firstList: (performance.now() - asked) / 1000 }
  } finally {
    await program.stop()
  }
}

async function measured(
  places: readonly Place[],
  simulator: Running,
  options: Options,
): Promise<Measured[]> {
  const idles: Idle[] = []
  // One program at a time: each needs the whole machine.
  for (const place of places) idles.push(await running(place, simulator, options))
  const times = places.map(() => [] as Pick<Measured, 'ready' | 'firstList'>[])
  for (let round = 0; round < starts; round++)
    for (const [i, place] of places.entries()) times[i]!.push(await warmStart(place, options.admin))
  return idles.map((one, i) => ({
    ...one,
    ready: median(times[i]!.map(({ ready }) => ready)),
    firstList: median(times[i]!.map(({ firstList }) => firstList)),
  }))
}

export async function machineBudgets(options: Options): Promise<void> {
  const { fleets, against, data, say } = options
  for (const servers of fleets) {
    const folder = join(data, 'machines', String(servers))
    const places: Place[] = [{ name: 'now', checkout: '.', data: join(folder, 'now'), servers }]
    if (against !== undefined)
      places.push({ name: 'other', checkout: against, data: join(folder, 'other'), servers })
    for (const place of places) mkdirSync(place.data, { recursive: true })
    const fleet = [
      'simulator/src/main.ts',
      '--servers',
      String(servers),
      '--data',
      join(folder, 'simulator'),
    ]
    const simulator = await run(process.execPath, fleet, /^Simulator is ready/)
    try {
      say(
        `${servers} servers`,
        '',
        against === undefined
          ? ''
          : 'now / other, their share, and the share of 8a935b3 that the budget is',
      )
      const [now, other] = await measured(places, simulator, options)
      const row = (
        what: string,
        unit: string,
        digits: number,
        bar: string,
        share: number | undefined,
        read: (one: Measured) => number | undefined,
      ) => {
        const [ours, theirs] = [read(now!), other && read(other)]
        if (ours === undefined) return
        const shown = (value: number) => value.toFixed(digits)
        if (theirs === undefined) say(`  ${what}`, `${shown(ours)}${unit}`, bar)
        else {
          const part = `is ${(ours / theirs).toFixed(2)}${share ? `, at most ${share.toFixed(2)}` : ''}`
          say(
            `  ${what}`,
            `${shown(ours)} / ${shown(theirs)}${unit}`,
            bar === '' ? part : `${bar}; ${part}`,
          )
        }
      }
      const share = shares[servers]
      row(
        'registered by address',
        ' s',
        1,
        servers === 10_000 ? 'at most 60 s' : '',
        share?.registration,
        (one) => one.registration,
      )
      row(
        'idle: processor with contacts, share of a core',
        ' %',
        1,
        bars[servers]?.processor ?? '',
        share?.processor,
        (one) => one.processor,
      )
      row(
        'idle: memory of the Node process, median',
        ' MB',
        0,
        bars[servers]?.memory ?? '',
        share?.memory,
        (one) => one.memory,
      )
      row(
        'idle: memory of the Node process, largest sample',
        ' MB',
        0,
        '',
        undefined,
        (one) => one.mostMemory,
      )
      row('warm start: ready', ' s', 2, 'at most 0.70 s', undefined, (one) => one.ready)
      row(
        'warm start: first list of 100',
        ' s',
        3,
        'at most 0.050 s',
        undefined,
        (one) => one.firstList,
      )
      row(
        'warm start: both together',
        ' s',
        2,
        'at most 0.75 s',
        share?.start,
        (one) => one.ready + one.firstList,
      )
      if (now!.registration !== undefined) await floor(servers, say)
    } finally {
      await simulator.stop()
    }
  }
}
