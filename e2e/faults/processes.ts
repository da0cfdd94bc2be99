/**
 * The program and the simulator as separate processes, as in production: the program is killed with
 * −9, the servers and the database live on. Tests use only the API and the control socket of the
 * simulator.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freeBlock } from '../../tools/testing/free-block.ts'

export const home = fileURLToPath(new URL('../../', import.meta.url))
const node = join(home, 'node_modules/.bin/node')
/** The first user of every installation. */
export const admin = { email: 'admin@steelyard.demo', password: 'a password for the tests' }

/**
 * Processes that were started here and still run. They end with this process, so that a failed test
 * leaves nothing behind.
 */
const children = new Set<ChildProcess>()
const folders = new Set<string>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) {
    try {
      process.kill(databaseOf(join(folder, 'data')).pid, 'SIGQUIT')
    } catch {
      // The database has ended normally.
    }
    for (const line of processesOf(folder)) {
      try {
        process.kill(Number.parseInt(line, 10), 'SIGKILL')
      } catch {
        // The process has already ended together with its parent.
      }
    }
  }
})

export interface Running {
  readonly child: ChildProcess
  /** The rest of the line that reports the process as ready. */
  readonly line: string
  /** Resolves with the signal that ended the process, or its exit code. */
  readonly ended: Promise<NodeJS.Signals | number>
  /** The last lines of the process's log. */
  readonly log: () => string
}

/** The environment of this test run, without variables for the program or vitest. */
export const outsideEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        !/^(STEELYARD_|DATABASE_URL|FAILPOINT|VITEST|NODE_OPTIONS|npm_|HOST$|PORT$)/.test(entry[0]),
    ),
  )

/**
 * Command lines of the processes that name the folder in their arguments or environment: program,
 * simulator, database, npm.
 */
export function processesOf(folder: string): string[] {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-axwwE', '-o', 'pid=,command='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(folder))
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [command, environment] = ['cmdline', 'environ'].map((name) =>
          readFileSync(`/proc/${pid}/${name}`, 'utf8'),
        )
        return `${command}${environment}`.includes(folder)
          ? [`${pid} ${command!.replaceAll('\0', ' ').trim()}`]
          : []
      } catch {
        // The process has ended meanwhile, or belongs to another user.
        return []
      }
    })
}

/**
 * Starts a program and waits until it reports that it is ready. Rejects with the program's last
 * lines if the program ends before that.
 */
export async function start(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<Running> {
  const child = spawn(node, [...args], {
    cwd: home,
    env: { ...outsideEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  const words: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (text) => words.push(text) > 400 && words.shift())
  const ended = new Promise<NodeJS.Signals | number>((resolve) =>
    child.once('exit', (code, signal) => resolve(signal ?? code ?? 0)),
  )
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => ready.test(text) && resolve(text))
    void ended.then((how) =>
      reject(
        new Error(
          `${args.join(' ')} ended (${how}) before it was ready:\n${words.slice(-20).join('\n')}`,
        ),
      ),
    )
  })
  return { child, line, ended, log: () => words.join('\n') }
}

export interface SimulatedServer {
  readonly uuid: string
  readonly name: string
  readonly serial: string
  readonly address: string
  readonly stage: string
}
interface Counters {
  readonly servers: readonly {
    readonly uuid: string
    readonly installs: number
    readonly applies: number
    readonly resets: number
    readonly bootstraps: number
    readonly boots: number
  }[]
  readonly clusters: readonly {
    readonly name: string
    readonly etcdMade: number
    readonly bootstrapCalls: number
    readonly members: number
    readonly quorumLosses: number
    readonly budgetBreaches: number
    /** Nodes that were not ready at the same time. */
    readonly mostUnready: number
  }[]
}
/** A simulated cluster as the simulator sees it. */
export interface SimulatedCluster {
  /** The UID of the namespace kube-system. */
  readonly uid: string
  /**
   * Workloads that count. `isIntact`: the chain of hashes in their data belongs to the identity and
   * the number of counts.
   */
  readonly workloads: readonly {
    readonly name: string
    readonly identity: string
    readonly serial: number
    readonly isIntact: boolean
    readonly replicas: number
    readonly ready: number
  }[]
}

export interface SimulatorProcess {
  /** URL of the simulated image factory. */
  readonly factory: string
  ask<T>(method: string, path: string, body?: unknown): Promise<T>
  servers(): Promise<readonly SimulatedServer[]>
  counters(): Promise<Counters>
  cluster(name: string): Promise<SimulatedCluster>
  stop(): Promise<void>
}

/** Fields of the simulator's scenario. */
export interface SiteOptions {
  servers: number
  seed: string
  speed?: number
  special?: Record<number, object>
  /** Talos versions that the servers boot. Default: the newest. */
  talos?: readonly string[]
}

export async function startSimulator(
  folder: string,
  options: SiteOptions & { speed: number },
): Promise<SimulatorProcess> {
  // Each simulator gets its own block of addresses, so that fleets of several processes don't
  // collide.
  const offset = String(await freeBlock(1))
  const scenario = join(folder, 'scenario.json')
  writeFileSync(
    scenario,
    JSON.stringify({ special: {}, talos: ['v1.14.1'], ...options, datacenters: ['PL-POZ-1'] }),
  )
  const data = join(folder, 'simulator')
  const running = await start(
    ['simulator/src/main.ts', '--scenario', scenario, '--data', data, '--subnet-offset', offset],
    {},
    /^Simulator is ready/,
  )
  const ask = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    new Promise((resolve, reject) => {
      const asked = request(
        {
          socketPath: join(data, 'control.sock'),
          method,
          path,
          headers: { 'content-type': 'application/json' },
        },
        (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (part: string) => (text += part))
          answer.on('end', () =>
            answer.statusCode === 200
              ? resolve(JSON.parse(text) as T)
              : reject(new Error(`${method} ${path}: ${text}`)),
          )
        },
      )
      asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  return {
    factory: /image factory (\S+)$/.exec(running.line)![1]!,
    ask,
    servers: async () => (await ask<{ servers: SimulatedServer[] }>('GET', '/servers')).servers,
    counters: () => ask<Counters>('GET', '/counters'),
    cluster: (name) => ask<SimulatedCluster>('GET', `/clusters/${name}`),
    async stop() {
      running.child.kill('SIGTERM')
      await running.ended
    },
  }
}

export interface Program {
  readonly url: string
  readonly pid: number
  readonly ended: Running['ended']
  readonly log: () => string
  /** Kills the process with −9. */
  kill(): Promise<void>
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<NodeJS.Signals | number>
}

/**
 * Private keys of certificate authorities, made once per machine, so that no test waits for
 * RSA-4096. For tests only.
 */
export function keysFile(): string {
  const file = join(tmpdir(), `steelyard-fault-keys-${userInfo().uid}.json`)
  if (existsSync(file)) return file
  const pem = (type: 'ed25519' | 'ec' | 'rsa') => {
    if (type === 'ed25519')
      return generateKeyPairSync('ed25519')
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .replaceAll('PRIVATE KEY', 'ED25519 PRIVATE KEY')
    if (type === 'ec')
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'sec1',
        format: 'pem',
      })
    return generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey.export({
      type: 'pkcs1',
      format: 'pem',
    })
  }
  const keys = {
    os: pem('ed25519'),
    etcd: pem('ec'),
    k8s: pem('ec'),
    k8sAggregator: pem('ec'),
    k8sServiceAccount: pem('rsa'),
  }
  const own = `${file}.${process.pid}`
  writeFileSync(own, JSON.stringify(keys), { mode: 0o600 })
  renameSync(own, file)
  return file
}

export async function startProgram(
  folder: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const environment = {
    PORT: '0',
    STEELYARD_DATA: folder,
    STEELYARD_SIMULATE: '1',
    STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
    STEELYARD_SIMULATE_KEYS: keysFile(),
    STEELYARD_ADMIN_EMAIL: admin.email,
    STEELYARD_ADMIN_PASSWORD: admin.password,
    LOG_LEVEL: 'warn',
    ...more,
  }
  const running = await start(
    ['backend/dist/main.js', 'serve'],
    environment,
    /^Steelyard is ready at /,
  )
  const end = async (signal: NodeJS.Signals) => {
    running.child.kill(signal)
    return running.ended
  }
  return {
    url: running.line.replace('Steelyard is ready at ', '').trim(),
    pid: running.child.pid!,
    ended: running.ended,
    log: running.log,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  }
}

/** A folder that the database's account can enter. The folder is removed after the tests. */
export function temporaryFolder(): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'steelyard-faults-'))
  chmodSync(folder, 0o711)
  folders.add(folder)
  return {
    folder,
    remove: () => {
      folders.delete(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * The lines of PostgreSQL's `postmaster.pid`: the first is the process, the fifth the socket folder.
 * Undefined: there is none. The server may remove the file at any moment.
 */
function lockOf(dataFolder: string): string[] | undefined {
  try {
    return readFileSync(join(dataFolder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** URL and process id of the embedded database. */
export function databaseOf(dataFolder: string): { pid: number; url: string } {
  const lock = lockOf(dataFolder)
  if (!lock) throw new Error(`No database runs in ${dataFolder}`)
  const [line, , , , socket] = lock
  const pid = Number(line)
  // PostgreSQL creates the file before it writes it. `process.kill(0)` would end the whole test
  // run, which is its process group.
  if (!(pid > 0)) throw new Error(`The database in ${dataFolder} is starting`)
  return {
    pid,
    url: `postgresql://steelyard@localhost/postgres?host=${encodeURIComponent(socket!)}`,
  }
}

/**
 * Ends the database that a killed program has left running, without a checkpoint, because the data
 * folder is removed afterwards.
 */
export async function endDatabase(dataFolder: string): Promise<void> {
  // The server removes the file when its own processes have ended.
  for (let lock = lockOf(dataFolder); lock; await pause(20), lock = lockOf(dataFolder)) {
    const [line, , , , socket] = lock
    // The server writes the lines one after another while it starts.
    if (socket === undefined) continue
    try {
      process.kill(Number(line), 'SIGQUIT')
    } catch {
      // The server was killed and left its file behind.
      break
    } finally {
      rmSync(socket, { recursive: true, force: true })
    }
  }
}
