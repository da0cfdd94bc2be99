import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { freeBlock } from '../../tools/testing/free-block.ts'
import { copyTemplate } from '../template.ts'
import { longTests } from '../../tools/testing/length.ts'
import { longTest } from '../../tools/testing/long-test.ts'
import {
  admin,
  home,
  outsideEnvironment,
  processesOf,
  startProgram,
  temporaryFolder,
} from './processes.ts'

/** `npm start`, `npm run serve`, and the program as a service manager starts it. */
const commands = {
  demo: ['npm', 'start', '--'],
  serve: ['npm', 'run', 'serve', '--'],
  program: ['node_modules/.bin/node', 'backend/src/main.ts', 'serve'],
} as const
const signals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const

interface Begun {
  readonly child: ChildProcess
  readonly ready: Promise<unknown>
  readonly ended: Promise<number | NodeJS.Signals>
  readonly words: () => string
}

function begin(command: keyof typeof commands, folder: string, offset: number): Begun {
  const [name, ...args] = commands[command]
  const simulated = command === 'demo' ? ['--subnet-offset', String(offset)] : []
  const child = spawn(name, [...args, ...simulated], {
    cwd: home,
    env: {
      ...outsideEnvironment(),
      PORT: '0',
      STEELYARD_DATA: folder,
      STEELYARD_ADMIN_EMAIL: admin.email,
      STEELYARD_ADMIN_PASSWORD: admin.password,
      ...(command === 'demo' && { STEELYARD_SIMULATE: '1' }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let words = ''
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        words += text
        if (words.includes('Steelyard is ready at')) resolve()
      })
  })
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('exit', (code, signal) => resolve(signal ?? code ?? 0)),
  )
  return { child, ready: Promise.race([ready, ended]), ended, words: () => words }
}

/**
 * Command lines of the processes that still run a minute after the program has ended; normally
 * none.
 */
async function leftBehind(folder: string): Promise<string[]> {
  for (const until = Date.now() + 60_000; Date.now() < until; await pause(50))
    if (processesOf(folder).length === 0) return []
  return processesOf(folder)
}

/**
 * Starts the program and ends it by a signal, at different moments of the start. Returns a sentence
 * per problem, such as a process that still runs. All starts use the same data folder. With
 * `fresh`, each start gets an empty folder, in which the program first creates the database.
 */
async function tryMoments(
  command: keyof typeof commands,
  moments: number,
  { fresh }: { fresh: boolean },
): Promise<string[]> {
  const wrong: string[] = []
  const offset = await freeBlock(1)
  const kept = temporaryFolder()
  if (!fresh) {
    mkdirSync(`${kept.folder}/data`, { mode: 0o711 })
    copyTemplate(inject('template'), `${kept.folder}/data`)
  }
  let readyMs = 0
  // The first start is terminated when it is ready.
  for (let n = 0; n <= moments; n++) {
    const own = fresh ? temporaryFolder() : kept
    const folder = `${own.folder}/data`
    const since = performance.now()
    const run = begin(command, folder, offset)
    const afterMs = Math.round((readyMs * n) / (moments + 1))
    await (n === 0 ? run.ready : pause(afterMs))
    if (n === 0) readyMs = performance.now() - since
    const signal = signals[n % signals.length]!
    run.child.kill(signal)
    await run.ended
    const left = await leftBehind(folder)
    if (left.length > 0)
      wrong.push(
        `${commands[command].join(' ')} after ${n === 0 ? readyMs : afterMs} ms and ${signal}: ${left.join('; ')}\n${run.words()}`,
      )
    if (fresh) own.remove()
  }
  if (!fresh && wrong.length === 0) {
    // The data is intact after all these interrupted starts.
    const program = await startProgram(`${kept.folder}/data`)
    const { status } = await fetch(`${program.url}/readyz`)
    if (status !== 200)
      wrong.push(`The database that ${moments} ends have left: /readyz answers ${status}`)
    await program.stop()
  }
  kept.remove()
  return wrong
}

/**
 * Commands with the number of moments before they are ready; `fresh`: with an empty folder. A long
 * run tries 30 moments in all. `npm test` tries `npm start`, of which the other commands are a part.
 */
const tried: readonly (readonly [keyof typeof commands, number, { fresh: boolean }])[] = longTests
  ? [
      ['demo', 5, { fresh: false }],
      ['serve', 5, { fresh: false }],
      ['program', 16, { fresh: false }],
      ['program', 4, { fresh: true }],
    ]
  : [['demo', 1, { fresh: false }]]

test(`a start that is terminated at any of ${tried.reduce((sum, [, n]) => sum + n, 0)} moments, or when it is ready, leaves no process behind`, async () => {
  const wrong = await Promise.all(tried.map((each) => tryMoments(...each)))
  expect(wrong.flat()).toEqual([])
})

test('a start whose npm has ended before it ran ends at once', async () => {
  const { folder, remove } = temporaryFolder()
  const child = spawn('node', ['start.mjs'], {
    cwd: home,
    // This process isn't the one with this id.
    env: { ...outsideEnvironment(), PORT: '0', STEELYARD_DATA: `${folder}/data`, NPM_PID: '1' },
    stdio: 'ignore',
  })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  expect(code).toBe(1)
  expect(await leftBehind(folder)).toEqual([])
  remove()
})

longTest(
  'if the addresses of the simulated servers are in use, the start fails by itself and leaves no process behind',
  async () => {
    const { folder, remove } = temporaryFolder()
    const offset = await freeBlock(1)
    const other = createServer().listen(50_000, `127.20.${offset + 1}.1`)
    const run = begin('demo', `${folder}/data`, offset)
    expect(await run.ended).not.toBe(0)
    expect(run.words()).toContain('is taken')
    expect(await leftBehind(`${folder}/data`)).toEqual([])
    other.close()
    remove()
  },
)

longTest('the program continues when nobody reads its log any more', async () => {
  const { folder, remove } = temporaryFolder()
  const run = begin('demo', `${folder}/data`, await freeBlock(1))
  await run.ready
  const url = /Steelyard is ready at (http:\S+)/.exec(run.words())![1]!
  run.child.stdout!.destroy()
  run.child.stderr!.destroy()
  // Each request writes a log line, although nothing reads the output any more.
  for (let n = 0; n < 20; n++) expect((await fetch(`${url}/v1/nodes`)).status).toBe(401)
  await pause(300)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  run.child.kill('SIGTERM')
  await run.ended
  expect(await leftBehind(`${folder}/data`)).toEqual([])
  remove()
})
