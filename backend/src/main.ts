/**
 * The program: `serve`, `user add --first EMAIL`, `user recover EMAIL`, `doctor`, `key add`, `audit
 * verify`, `backup FILE`, `restore FILE`. The only file that reads `process`; all other files get
 * what they need as parameters.
 */
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { exitCodes, type Surroundings } from './commands/surroundings.ts'
import { dataFolder } from './data-folder.ts'
import { assertFree, FolderInUse } from './db/embedded/lock.ts'

// Sealed, so that a hostile body can't add properties.
Object.seal(Object.prototype)

const home = fileURLToPath(new URL('../../', import.meta.url))
const { version } = JSON.parse(readFileSync(`${home}package.json`, 'utf8')) as { version: string }
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

// The reader of the output may have ended (a closed pager, a restarting log collector). Writing
// then fails (EPIPE), which must not end the program.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

/**
 * A second signal ends the program without waiting: the database ends at once, and recovers at the
 * next start.
 */
const stopAsked = new Promise<string>((resolve) => {
  let asked: number | undefined
  for (const signal of signals) {
    process.on(signal, () => {
      // The terminal and the parent process may both send a signal for the same Ctrl-C.
      if (asked !== undefined && performance.now() - asked > 1_000) process.exit(130)
      asked ??= performance.now()
      resolve(signal)
    })
  }
})

/** Reads a line, without echo on a terminal. */
function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  const lines = createInterface({ input: stdin, terminal: false })
  if (stdin.isTTY) {
    stderr.write(question)
    stdin.setRawMode(true)
  }
  return new Promise((resolve, reject) => {
    const end = (line: string) => {
      if (stdin.isTTY) stdin.setRawMode(false)
      resolve(line)
      lines.close()
    }
    if (!stdin.isTTY) {
      lines.once('line', end)
      lines.once('close', () => resolve(''))
      return
    }
    let typed = ''
    const read = (text: string) => {
      for (const char of text) {
        if (char === '\r' || char === '\n') {
          stderr.write('\n')
          stdin.off('data', read)
          return end(typed)
        }
        if (char === '\u0003') {
          stdin.setRawMode(false)
          return reject(new Error('Interrupted'))
        }
        typed =
          char === '\u007f' || char === '\b'
            ? Array.from(typed).slice(0, -1).join('')
            : typed + char
      }
    }
    stdin.setEncoding('utf8').on('data', read)
  })
}

const around: Surroundings = {
  machine: {
    pid: process.pid,
    uid: process.getuid?.(),
    platform: process.platform,
    arch: process.arch,
    temporary: tmpdir(),
    kill: (pid, signal) => void process.kill(pid, signal),
    atExit: (act) => {
      process.on('exit', act)
      return () => void process.off('exit', act)
    },
  },
  environment: process.env,
  cwd: process.cwd(),
  home,
  version,
  ownCommand: existsSync(`${home}start.mjs`) ? 'npm run steelyard --' : 'steelyard',
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  readable: process.stderr.isTTY,
  kill: () => {
    process.kill(process.pid, 'SIGKILL')
    // Blocks until the signal is delivered, so that nothing else happens.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  },
  stopAsked,
  interactive: process.stdin.isTTY,
  askSecret,
}

// An unexpected error is logged and ends the process. The service manager restarts the process,
// which resumes running work.
process.on('uncaughtException', (error) => {
  around.err(
    `${JSON.stringify({ time: new Date().toISOString(), level: 'error', event: 'crashed', error: String(error), at: error.stack?.split('\n').slice(1, 6).join(' ') })}\n`,
  )
  process.exit(70)
})

/**
 * Whether another Steelyard uses the data folder; prints the error if so. Checked before the
 * program itself is loaded, so that the error appears at once.
 */
function isInUse(): boolean {
  if (process.env['DATABASE_URL']?.trim()) return false
  try {
    assertFree(
      dataFolder(process.env['STEELYARD_DATA']?.trim() || undefined, around.cwd),
      around.machine,
    )
    return false
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error
    around.err(`${error.message}\n`)
    return true
  }
}

async function run([command, ...args]: readonly string[]): Promise<number> {
  if (command === 'serve' && args.length === 0)
    return isInUse() ? exitCodes.conflict : (await import('./commands/serve.ts')).serve(around)
  // Used by `start.mjs`: fills Node's compile cache with the modules of `serve`.
  if (command === 'compile') return (await import('./commands/serve.ts')).compile(around)
  if (command === 'user' && args[0] === 'add')
    return (await import('./commands/user-add.ts')).userAdd(args.slice(1), around)
  if (command === 'user' && args[0] === 'recover')
    return (await import('./commands/user-recover.ts')).userRecover(args.slice(1), around)
  if (command === 'doctor') return (await import('./commands/doctor.ts')).doctor(args, around)
  if (command === 'key' && args[0] === 'add' && args.length === 1)
    return (await import('./commands/key-add.ts')).keyAdd(around)
  if (command === 'audit' && args[0] === 'verify')
    return (await import('./commands/audit-verify.ts')).auditVerify(args.slice(1), around)
  if (command === 'backup') return (await import('./commands/backup.ts')).backup(args, around)
  if (command === 'restore') return (await import('./commands/backup.ts')).restore(args, around)
  around.err(
    'Usage: node backend/src/main.ts serve | user add --first EMAIL | user recover EMAIL [--reset-second-factor] | doctor [--json] | key add | audit verify [--head HASH@SEQ] | backup FILE | restore FILE\n',
  )
  return exitCodes.usage
}

process.exit(await run(process.argv.slice(2)))
