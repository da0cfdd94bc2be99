/**
 * Rounds of kills: something begins while other work runs, the program is killed one to four times
 * in a row at seeded moments, and everything has to end by itself.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { hasEnded, operationGet } from '#contract/operations.ts'
import type { Caller } from '../../../../tools/api-client.ts'
import { freePort } from '../../../../tools/processes.ts'
import type { Program } from '../../processes.ts'
import { seeded } from '../points.ts'
import { patiently, type Site, signIn } from '../world.ts'

export interface KilledSite {
  readonly site: Site
  readonly call: Caller
  /** The address of the program, the same after each restart. */
  readonly url: string
  readonly kill: () => Promise<void>
}

/** Starts the program on a port that it keeps. `more`: its settings. */
export async function killedSite(
  site: Site,
  more: Readonly<Record<string, string>> = {},
): Promise<KilledSite> {
  const settings = { ...more, PORT: String(await freePort()) }
  let program: Program = await site.start(settings)
  const { url } = program
  return {
    site,
    url,
    call: await signIn(url),
    async kill() {
      await program.kill()
      program = await site.start(settings)
    },
  }
}

/** What a round has begun. */
export interface Begun {
  readonly isOver: () => Promise<boolean>
  /** Called at the end. `kills`: how often the program was killed. Returns what is wrong. */
  readonly check: (kills: number) => Promise<readonly string[]>
}

export interface Kind {
  readonly name: string
  /** Longest time between the beginning, or a start, and a kill, in ms. */
  readonly mostMs: number
  /** How often it can be begun; undefined: without limit. */
  readonly mostRounds?: number
  /** Begins the work of a round, which differs from that of the other rounds. */
  readonly begin: (round: number) => Promise<Begun>
}

const endWithinMs = 240_000

/** Whether an operation has ended; one that is halted never ends by itself. */
export const operationOver =
  (call: Caller, id: string): Begun['isOver'] =>
  async () =>
    hasEnded(await patiently(() => call(operationGet, { params: { id } })))

/** The state of an operation, and what it waits for, if it isn't done with all of its steps. */
export async function notDone(call: Caller, id: string): Promise<string[]> {
  const { kind, status, halted, reason, steps } = await patiently(() =>
    call(operationGet, { params: { id } }),
  )
  const open = steps.filter((s) => s.status !== 'done' && s.status !== 'skipped')
  return status === 'done' && open.length === 0
    ? []
    : [
        `${kind} is ${status}${halted === true ? ' (halted)' : ''}: ${reason}`,
        ...open.map((s) => `${s.title} is ${s.status}: ${s.reason}`),
      ]
}

export interface Tally {
  readonly kills: number
  /** Kills while the work ran. */
  readonly inWork: number
  readonly rounds: number
  readonly slowestEndMs: number
  readonly wrong: readonly string[]
}

/**
 * Runs rounds of a kind until the program was killed so many times while its work ran.
 * @param beside other work that begins with each round
 */
export async function killRounds(
  { kill }: KilledSite,
  kind: Kind,
  beside: (round: number) => Promise<Begun>,
  seed: number,
  times: number,
): Promise<Tally> {
  const random = seeded(seed)
  const tally = { kills: 0, inWork: 0, rounds: 0, slowestEndMs: 0, wrong: [] as string[] }
  const mostRounds = kind.mostRounds ?? 3 * times
  while (tally.inWork < times && tally.rounds < mostRounds) {
    const round = tally.rounds++
    const inARow = Math.min(1 + Math.floor(random() * 4), times - tally.inWork)
    const others = await beside(round)
    const work = await kind.begin(round)
    let kills = 0
    for (; kills < inARow; kills++) {
      await pause(Math.round(random() * kind.mostMs))
      if (kills > 0 && (await work.isOver())) break
      if (!(await work.isOver())) tally.inWork++
      await kill()
    }
    tally.kills += kills
    const from = performance.now()
    for (const one of [work, others])
      while (!(await one.isOver()) && performance.now() - from < endWithinMs) await pause(100)
    tally.slowestEndMs = Math.max(tally.slowestEndMs, Math.round(performance.now() - from))
    for (const one of [work, others])
      for (const fault of await one.check(kills))
        tally.wrong.push(`round ${round}, ${kills} kills: ${fault}`)
  }
  return tally
}
