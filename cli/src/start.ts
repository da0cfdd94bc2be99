/**
 * The only file of the CLI that reads arguments, environment, standard streams and signals. Other
 * files get them as a Terminal.
 */
import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { askOnTerminal } from './ask.ts'
import { exitCodes } from './exit.ts'
import { textIn } from './files.ts'
import { run, type RunProgram } from './run.ts'
import type { Terminal } from './terminal.ts'

function openTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process
  let outlives = false
  for (const stream of [stdout, stderr])
    stream.on('error', (e: NodeJS.ErrnoException) => {
      if (outlives) return
      // The reader of the pipe has ended (`steelyard server list | head`), so this process ends
      // too.
      if (e.code === 'EPIPE') process.exit(exitCodes.ok)
      // The output is incomplete, such as an export on a full disk. Standard error may be the
      // stream that fails.
      if (stream === stdout)
        stderr.write(
          `The output can't be written: ${e.code === 'ENOSPC' ? 'no space is left on the device' : e.message}\n`,
        )
      process.exit(exitCodes.failure)
    })
  return {
    out: (words) => void stdout.write(words),
    err: (words) => void stderr.write(words),
    // Read anew each time, because a window may be resized while a list is watched.
    get columns() {
      return stdout.isTTY ? stdout.columns : null
    },
    get rows() {
      return stdout.isTTY ? stdout.rows : null
    },
    errColumns: stderr.isTTY ? stderr.columns : null,
    colour: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    env,
    now: () => Date.now(),
    sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => undefined),
    ask: (question, options) => askOnTerminal(stdin, stderr, question, options),
    outlivePipes: () => void (outlives = true),
    readAll: async () => textIn('Standard input', await buffer(stdin)),
    interrupted: () => {
      const controller = new AbortController()
      process.once('SIGINT', () => controller.abort())
      return controller.signal
    },
  }
}

/**
 * Runs the main file of the server program in the same repository with the same version of Node.js.
 */
const programAt =
  (main: string): NonNullable<RunProgram> =>
  (args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit' })
      // The terminal sends Ctrl-C to this process and to the program. This process waits until the
      // program has shut down.
      const pass = (signal: NodeJS.Signals) => void (signal === 'SIGTERM' && child.kill(signal))
      process.on('SIGINT', pass).on('SIGTERM', pass)
      child.once('error', reject)
      child.once('exit', (code, signal) =>
        resolve(code ?? (signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.failure)),
      )
    })

/**
 * Runs the command line of this process. `main`: main file of the server program, or null in the
 * standalone client.
 */
export async function start(main: string | null): Promise<void> {
  // process.exit would lose output that a pipe hasn't accepted yet.
  process.exitCode = await run(
    process.argv.slice(2),
    openTerminal(),
    main === null ? null : programAt(main),
  )
}
