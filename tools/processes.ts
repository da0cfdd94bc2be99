/**
 * Real processes for measurements and the demo: free ports, data folders, child processes and their
 * resource usage, and the simulator's control socket.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Flags of Node.js with which the program runs; `start.mjs` explains them. */
export const { nodeFlags } = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    config: { nodeFlags: string[] }
  }
).config

/** The bundled program, built by `backend/build.ts`. */
export const builtProgram = 'backend/dist/main.js'

export interface Running {
  child: ChildProcess
  /** Milliseconds from the spawn to the line that reports the program as ready. */
  readyAfterMs: number
  stop(): Promise<void>
}

/**
 * A free port of 127.0.0.1, below the ports that the system assigns to outgoing connections (Linux:
 * 32768 and up), so that it is still free when used.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 10_240 + Math.floor(Math.random() * 20_000)
    if (await isFree(port)) return port
  }
  throw new Error('No free port')
}

/** Whether nothing listens at this port of the host. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer().listen(port, host)
  const listens = await new Promise<boolean>((resolve) => {
    server.once('listening', () => resolve(true))
    server.once('error', () => resolve(false))
  })
  if (listens) await new Promise((resolve) => server.close(resolve))
  return listens
}

/**
 * A data folder that every account may enter: the embedded database needs that if we run as root.
 */
export function scratch(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'sy-bench-'))
  chmodSync(path, 0o755)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

const children = new Set<ChildProcess>()
let endsTogether = false
/** Ctrl-C also ends what was started, which would otherwise keep its ports and addresses. */
function endTogether(): void {
  if (endsTogether) return
  endsTogether = true
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      for (const child of children) child.kill('SIGTERM')
      process.exit(130)
    })
}

/**
 * Starts a program and waits for the line that reports it as ready. @throws Error with its last
 * errors if it ends before
 */
export async function run(
  command: string,
  args: string[],
  ready: RegExp,
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Running> {
  const began = performance.now()
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd && { cwd: options.cwd }),
  })
  endTogether()
  children.add(child)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  void ended.then(() => children.delete(child))
  let errors = ''
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (errors = (errors + text).slice(-4000)))
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => ready.test(line) && resolve())
    void ended.then(() =>
      reject(new Error(`${args.join(' ')} ended before it was ready:\n${errors}`)),
    )
  })
  return {
    child,
    readyAfterMs: performance.now() - began,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** CPU seconds (user and system) that a process has used, and its resident memory in MB (Linux). */
export function usage(pid: number): { cpuSeconds: number; memoryMB: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return { cpuSeconds: ticks / 100, memoryMB: (Number(resident?.[1] ?? 0) * 1024) / 1e6 }
}

/**
 * One call of a simulator's control socket: GET, or `method` if there is a body. @throws Error with
 * the response if its status isn't 2xx
 */
export function control<T>(
  socketPath: string,
  path: string,
  sent?: object,
  method: 'POST' | 'PUT' = 'POST',
): Promise<T> {
  return new Promise((resolve, reject) => {
    const how =
      sent === undefined ? {} : { method, headers: { 'content-type': 'application/json' } }
    const asked = request({ socketPath, path, ...how }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve(JSON.parse(text) as T)
        else reject(new Error(`${path}: ${response.statusCode} ${text}`))
      })
    })
    asked.on('error', reject).end(sent === undefined ? undefined : JSON.stringify(sent))
  })
}
