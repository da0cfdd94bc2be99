/** The only file of the CLI that reads arguments, environment, standard streams and signals. Other files get them as a Terminal. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { askOnTerminal } from './ask.ts'
import { exitCodes } from './exit.ts'
import { run, type RunProgram } from './run.ts'
import type { Terminal } from './terminal.ts'

function openTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process
  // EPIPE: the reader of the pipe has ended (`steelyard server list | head`), so this process ends too.
  for (const stream of [stdout, stderr]) stream.on('error', (e: NodeJS.ErrnoException) => (e.code === 'EPIPE' ? process.exit(exitCodes.ok) : undefined))
  return {
    out: (words) => void stdout.write(words),
    err: (words) => void stderr.write(words),
    columns: stdout.isTTY ? stdout.columns : null,
    errColumns: stderr.isTTY ? stderr.columns : null,
    colour: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    env,
    now: () => Date.now(),
    sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => undefined),
    ask: (question, options) => askOnTerminal(stdin, stderr, question, options),
    readAll: () => text(stdin),
    interrupted: () => {
      const controller = new AbortController()
      process.once('SIGINT', () => controller.abort())
      return controller.signal
    },
  }
}

/** Runs the main file of the server program in the same repository with the same version of Node.js. */
const programAt =
  (main: string): NonNullable<RunProgram> =>
  (args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit' })
      // The terminal sends Ctrl-C to this process and to the program. This process waits until the program has shut down.
      const pass = (signal: NodeJS.Signals) => void (signal === 'SIGTERM' && child.kill(signal))
      process.on('SIGINT', pass).on('SIGTERM', pass)
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.failure)))
    })

/** Runs the command line of this process. `main`: main file of the server program, or null in the standalone client. */
export async function start(main: string | null): Promise<void> {
  // process.exit would lose output that a pipe hasn't accepted yet.
  process.exitCode = await run(process.argv.slice(2), openTerminal(), main === null ? null : programAt(main))
}
