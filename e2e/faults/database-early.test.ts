import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, inject, test } from 'vitest'
import { longTests } from '../../tools/testing/length.ts'
import { copyTemplate } from '../template.ts'
import { databaseOf, startProgram, temporaryFolder } from './processes.ts'

const moments = longTests ? 50 : 1
/**
 * The last work of a start is over about a second after the program is ready. Most of it happens at
 * once, so the first moments are close together.
 */
const lastMs = 1_200
const momentOf = (n: number): number => Math.round(lastMs * (n / moments) ** 2)

const { folder, remove } = temporaryFolder()
afterAll(remove)
mkdirSync(`${folder}/data`, { mode: 0o711 })
copyTemplate(inject('template'), `${folder}/data`)

/**
 * What becomes of a program whose database is killed this long after it has reported that it is
 * ready.
 */
async function outcome(afterMs: number): Promise<string> {
  const program = await startProgram(`${folder}/data`, { LOG_LEVEL: 'info' })
  await pause(afterMs)
  process.kill(databaseOf(`${folder}/data`).pid, 'SIGKILL')
  // `ready` is logged after all parts have started.
  const isWhole = async () =>
    (await fetch(`${program.url}/readyz`).catch(() => undefined))?.status === 200 &&
    /\bready\b.*roles/.test(program.log())
  const alive = (async () => {
    // The embedded database restarts within a second or two, also on a busy machine.
    for (const until = Date.now() + 60_000; Date.now() < until; await pause(50))
      if (await isWhole()) return 'works again'
    return `does not answer:\n${program.log()}`
  })()
  const end = await Promise.race([
    alive,
    program.ended.then((how) => `ended (${how}):\n${program.log()}`),
  ])
  await program.stop()
  return end
}

test(
  `the program survives a kill of its database after it has reported that it is ready, at each moment that is tried: ${moments}`,
  { timeout: 900_000 },
  async () => {
    const outcomes: string[] = []
    for (let n = 0; n < moments; n++) outcomes.push(await outcome(momentOf(n)))
    expect(outcomes.filter((one) => one !== 'works again')).toEqual([])
  },
)
