/** Programs in a bare Debian root, as an operator starts them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { attempt, type Ran } from '../artefact.ts'

export interface How {
  /** User in the root. Default: root. */
  readonly as?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Without a network: only the loopback interface of a namespace of its own. */
  readonly offline?: boolean
  /** Shell commands of this machine's root, run before with the root's folder as `$1`. */
  readonly before?: string
}

/** Settings with which a program's clock says 1970, as that of a machine without a battery. */
export const unsetClock = { NODE_OPTIONS: '--import=data:text/javascript,Date.now=()=>0' }
/** What the program then says. */
export const clockRefused = /^This machine's clock says 1970-01-01T\S+ Set it first/m

/** Arguments of unshare(1), which becomes the program itself, so that signals reach the program. */
function command(
  folder: string,
  line: string,
  { as = 'root', env = {}, offline, before }: How,
): string[] {
  const setup = [
    'set -e',
    'mount -t proc proc "$1/proc"',
    'mount -t tmpfs tmpfs "$1/dev/shm"',
    ...(offline ? ['ip link set lo up'] : []),
    ...(before === undefined ? [] : [before]),
    // The first three arguments are for this script.
    'exec chroot --userspec="$2" "$1" /usr/bin/env -i "HOME=$3" "${@:4}"',
  ].join('\n')
  const home = as === 'root' ? '/root' : as === 'reader' ? '/home/reader' : '/nonexistent'
  return [
    '--mount',
    ...(offline ? ['--net'] : []),
    'bash',
    '-c',
    setup,
    'bash',
    folder,
    `${as}:`,
    home,
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    'sh',
    '-c',
    `cd "$HOME" 2>/dev/null || cd /\n${line}`,
  ]
}

/** Runs a shell script in the root to its end. */
export const inRoot = (folder: string, line: string, how: How = {}): Promise<Ran> =>
  attempt(
    'unshare',
    command(folder, line, how),
    how.input === undefined ? {} : { input: how.input },
  )

/** @throws Error with the output if the script fails */
export async function mustRun(folder: string, line: string, how: How = {}): Promise<string> {
  const { code, out, err } = await inRoot(folder, line, how)
  if (code !== 0) throw new Error(`${line}\nended with ${code}:\n${(out + err).slice(-4000)}`)
  return out + err
}

export interface Started {
  readonly url: string
  readonly child: ChildProcess
  /** Ends it as a service manager does. @throws Error unless it ends with 0 */
  stop(): Promise<void>
}

const children = new Set<ChildProcess>()
process.on('exit', () => children.forEach((child) => child.kill('SIGTERM')))

/**
 * Starts a script whose last line is `exec` of Steelyard's program, and waits until it is ready.
 * @throws Error with its output if it ends before
 */
export async function startInRoot(folder: string, line: string, how: How): Promise<Started> {
  const child = spawn('unshare', command(folder, line, how), { stdio: ['pipe', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  child.stdin.on('error', () => undefined).end(how.input)
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('close', (code, signal) => {
      children.delete(child)
      resolve(code ?? signal)
    }),
  )
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      output += `${text}\n`
      const found = /^Steelyard is ready at (\S+)$/.exec(text)
      if (found) resolve(found[1]!)
    })
    void ended.then((code) =>
      reject(new Error(`Steelyard ended with ${code} before it was ready:\n${output}`)),
    )
  })
  return {
    url,
    child,
    async stop() {
      child.kill('SIGTERM')
      const code = await ended
      if (code !== 0) throw new Error(`Steelyard ended with ${code}:\n${output.slice(-4000)}`)
    },
  }
}

/** Starts a script and kills it with −9 at its first line of output that matches. */
export async function killAt(
  folder: string,
  line: string,
  how: How,
  moment: RegExp,
): Promise<void> {
  const child = spawn('unshare', command(folder, line, how), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let output = ''
  const look = (text: string) => {
    output += text
    if (moment.test(output)) child.kill('SIGKILL')
  }
  child.stdout.setEncoding('utf8').on('data', look)
  child.stderr.setEncoding('utf8').on('data', look)
  const signal = await new Promise<string | null>((resolve) =>
    child.once('exit', (_, ending) => resolve(ending)),
  )
  children.delete(child)
  if (signal !== 'SIGKILL') throw new Error(`It ended before ${String(moment)}:\n${output}`)
}
