/**
 * A whole installation for a test: program and simulator as processes, set up as by `npm start`,
 * and removed afterwards.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inject } from 'vitest'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import type { Asked, Answer, Operation } from '#contract/operation.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../tools/api-client.ts'
import { control, freePort } from '../tools/processes.ts'
import { admin } from './faults/processes.ts'
import { freeBlock } from '../tools/testing/free-block.ts'
import { longTests } from '../tools/testing/length.ts'
import { demandNoSecret, plant } from './secrets.ts'
import { copyTemplate } from './template.ts'

export { admin }

export interface Installation {
  url: string
  data: string
  /** Calls the API as the admin; signs in again if the token has expired. */
  call: <O extends Operation>(operation: O, asked: Partial<Asked<O>>) => Promise<Answer<O>>
  /** Calls the control socket of the simulator: GET, or POST with a body. */
  simulator: <T>(path: string, sent?: object) => Promise<T>
  /** Makes the simulated servers faster than real ones by this factor. */
  hurry(speed: number): Promise<void>
  /** Stops program and simulator as Ctrl-C does, and starts them again with the same data. */
  restart(): Promise<void>
  /**
   * Searches for secrets where none belong, then stops program and simulator and removes the data,
   * unless other files share the installation.
   */
  stop(): Promise<void>
}

/**
 * Waits until `look` returns something other than null, undefined or false.
 * @throws Error with `what` (or with the result of `what` if that is a function) when the time is
 * up
 */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T | null | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  const began = Date.now()
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() - began > timeoutMs)
      throw new Error(
        `${typeof what === 'string' ? what : what()} did not happen within ${timeoutMs / 1000} s`,
      )
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Two servers that can form a cluster: of one datacenter, and with the same version of Talos. */
export function twoAlike(servers: readonly Server[]): [Server, Server] {
  for (const [i, one] of servers.entries())
    for (const other of servers.slice(i + 1))
      if (one.datacenter!.id === other.datacenter!.id && one.talos.version === other.talos.version)
        return [one, other]
  throw new Error('No two servers have the same datacenter and version of Talos')
}

/**
 * Waits until the cluster is ready. @throws Error with the cluster's status and reason after a
 * minute
 */
export async function untilReady({ call }: Pick<Installation, 'call'>, id: string): Promise<void> {
  let seen: Cluster | undefined
  await until(
    () => `That ${seen?.name} is ready (it is ${seen?.status}: ${seen?.reason})`,
    async () => {
      seen = await call(clusterGet, { params: { id } })
      return seen.status === 'ready'
    },
  )
}

interface InstallationOptions {
  servers?: number
  speed?: number
  special?: Record<number, object>
  host?: 'localhost'
  settings?: (url: string) => Promise<Readonly<Record<string, string>>>
}

/**
 * `speed`: factor by which the simulated servers are faster than real ones. `special`: overrides by
 * server number, see simulator/README.md. `host`: host name in the URL instead of the address.
 * `settings`: further settings of the program, for the installation's URL. Each installation has
 * its own addresses, so several can run at once.
 */
export const startInstallation = (options: InstallationOptions = {}): Promise<Installation> =>
  begin(mkdtempSync(join(tmpdir(), 'sy-e2e-')), options)

let shared: Promise<Installation> | undefined
/**
 * The installation of this worker, with 12 servers, for test files that make no cluster, choose no
 * columns of a list, and tolerate what other files have left: patches, users, a commitment. `stop`
 * only searches it for secrets; it ends with the run.
 */
export const sharedInstallation = (): Promise<Installation> =>
  (shared ??= begin(mkdtempSync(join(inject('template').shared, 'sy-')), {
    speed: 20,
    isShared: true,
  }))

/**
 * The shared installation. In the full run one of its own, for a file whose further tests make
 * clusters or leave what others would meet.
 */
export const sharedUnlessFull = (options: InstallationOptions): Promise<Installation> =>
  longTests ? startInstallation(options) : sharedInstallation()

async function begin(
  data: string,
  options: InstallationOptions & { isShared?: true },
): Promise<Installation> {
  copyTemplate(inject('template'), data)
  const port = await freePort()
  const url = `http://${options.host ?? '127.0.0.1'}:${port}`
  const settings = (await options.settings?.(url)) ?? {}
  const servers = options.servers ?? 12
  const offset = await freeBlock(2)
  const scenario = join(data, 'scenario.json')
  if (options.special)
    writeFileSync(scenario, JSON.stringify({ servers, special: options.special }))
  let running: { kill(): Promise<void> } | null = null
  /** Everything that the program and the simulator have logged. */
  let log = ''

  async function start() {
    const child = spawn(
      process.execPath,
      [
        'tools/demo.ts',
        '--subnet-offset',
        String(offset),
        ...(options.speed ? ['--speed', String(options.speed)] : []),
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          // Without the test run's own STEELYARD_… variables: the program refuses unknown settings.
          ...Object.fromEntries(
            Object.entries(process.env).filter(([name]) => !name.startsWith('STEELYARD_')),
          ),
          PORT: String(port),
          STEELYARD_DATA: data,
          STEELYARD_SIMULATE: options.special ? scenario : String(servers),
          STEELYARD_ADMIN_EMAIL: admin.email,
          STEELYARD_ADMIN_PASSWORD: admin.password,
          LOG_LEVEL: 'debug',
          ...settings,
        },
      },
    )
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    running = {
      async kill() {
        child.kill('SIGTERM')
        await ended
      },
    }
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on(
        'line',
        (line) => line.startsWith('Steelyard is ready at') && resolve(),
      )
      void ended.then(() =>
        reject(new Error(`The installation ended before it was ready:\n${log.slice(-6000)}`)),
      )
    })
  }

  let token: { value: string; at: number } | null = null
  const installation: Installation = {
    url,
    data,
    async call(operation, asked) {
      if (!token || Date.now() - token.at > 300_000) {
        const signedIn = await apiClient(url).call(authorize, { body: admin })
        plant('accessToken', signedIn.accessToken)
        plant('refreshToken', signedIn.refreshToken)
        token = { value: signedIn.accessToken, at: Date.now() }
      }
      return apiClient(url, token.value).call(operation, asked)
    },
    simulator: (path, sent) => control(join(data, 'simulator', 'control.sock'), path, sent),
    async hurry(speed) {
      await control(join(data, 'simulator', 'control.sock'), '/speed', { speed }, 'PUT')
    },
    async restart() {
      await running?.kill()
      await start()
    },
    async stop() {
      try {
        if (running) await demandNoSecret({ data, url, log })
      } finally {
        if (options.isShared !== true) {
          await running?.kill()
          rmSync(data, { recursive: true, force: true })
        }
      }
    },
  }
  await start()
  await until(
    `${servers} confirmed servers`,
    async () =>
      (await installation.call(serverList, { query: {} })).items.filter(
        (s) => s.identity.state === 'confirmed',
      ).length >=
      servers - 1,
  )
  return installation
}
