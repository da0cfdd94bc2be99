/**
 * `npm start`: Steelyard with a simulated datacenter. Starts the simulator and the program as child
 * processes. Then acts as the first user, only through the API: creates the datacenters of the
 * simulated servers, adds the servers by address, and confirms their hardware. The program knows only
 * that its servers are simulated, and has a call for that which makes up a past. Ctrl-C stops both processes; the servers' disks and the
 * database are kept.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { dataFolder, makeDataFolder } from '../backend/src/data-folder.ts'
import { serverConfirm } from '#contract/servers/servers.ts'
import { authorize, sessionGet } from '#contract/sessions.ts'
import { apiClient, type Caller } from './api-client.ts'
import { furnishDemo } from './demo/furnish.ts'
import { blockOfServers, portOfDemo } from './demo/places.ts'
import { builtProgram, freePort, isFree, nodeFlags } from './processes.ts'
import { addSimulated, everyServer } from './simulated.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)
const node = process.execPath
const dev = process.argv.includes('--dev')
/** The value of an option of the command line. */
const optionOf = (option: string): string | undefined =>
  process.argv.includes(option) ? process.argv[process.argv.indexOf(option) + 1] : undefined
const data = dataFolder(process.env['STEELYARD_DATA'], process.cwd())
/** Servers only, without clusters: their number or a scenario. Without it, the whole demo. */
const bare = process.env['STEELYARD_SIMULATE'] || undefined
const simulate = bare ?? '20'

interface SignIn {
  email: string
  password: string
}
const signInFile = join(data, 'demo-admin.json')
const keep = (admin: SignIn) =>
  writeFileSync(signInFile, `${JSON.stringify(admin)}\n`, { mode: 0o600 })

/**
 * Email and password of the only admin of the demo: from the environment, from the last start, or
 * generated. Generated ones are saved, readable by this user only, before the admin is created with
 * them.
 */
function demoAdmin(): SignIn {
  const given = {
    email: process.env['STEELYARD_ADMIN_EMAIL'],
    password: process.env['STEELYARD_ADMIN_PASSWORD'],
  }
  if (given.email && given.password) return { email: given.email, password: given.password }
  if (existsSync(signInFile)) return JSON.parse(readFileSync(signInFile, 'utf8')) as SignIn
  const made = {
    email: given.email ?? 'admin@steelyard.demo',
    password: randomBytes(12).toString('base64url'),
  }
  keep(made)
  return made
}

/**
 * Why the demo can't act as the admin: the data folder was created with another, or the admin has
 * or needs a second factor, which only a person can give.
 */
type Refused = 'another admin' | 'second factor'

/** The access token of the admin. */
async function signIn(
  url: string,
  admin: SignIn,
): Promise<{ token: string } | { refused: Refused }> {
  try {
    const { accessToken: token } = await apiClient(url).call(authorize, { body: admin })
    const { second_factor_missing } = await apiClient(url, token).call(sessionGet, {})
    return second_factor_missing ? { refused: 'second factor' } : { token }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (error.message.startsWith('authorize: 401')) return { refused: 'another admin' }
    if (
      error.message.startsWith('authorize: 409') &&
      error.message.includes('"second_factor_needed"')
    )
      return { refused: 'second factor' }
    throw error
  }
}

/** @param refused undefined: the demo could sign in as the admin */
const signInLine = ({ email, password }: SignIn, refused: Refused | undefined): string => {
  if (refused === 'another admin')
    return `${email} with the password that is set or kept here can't sign in: ${data} was begun with another. Give STEELYARD_ADMIN_EMAIL and STEELYARD_ADMIN_PASSWORD of its first start; until then no simulated server is added`
  const line = `Sign in as ${email} with the password ${password}`
  return refused === undefined
    ? line
    : `${line} and a second factor. Without it, the demo can't act as ${email}, and adds no simulated server`
}

/** A child process ended before it was ready. It has written the reason to our standard error. */
class NotReady extends Error {
  override readonly name = 'NotReady'
  readonly code: number
  constructor(code: number) {
    super(`It ended with ${code} before it was ready`)
    this.code = code
  }
}

/**
 * Starts a child process and waits for the line with which it reports that it is ready. The child
 * writes to our standard error.
 */
function start(
  args: string[],
  ready: RegExp,
  env: NodeJS.ProcessEnv = {},
): { child: ChildProcess; ready: Promise<string>; ended: Promise<number> } {
  const child = spawn(node, [...nodeFlags, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
  const line = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) =>
      ready.test(text) ? resolve(text) : say(text),
    )
    void ended.then((code) => reject(new NotReady(code)))
  })
  return { child, ready: line, ended }
}

/**
 * The last port of the simulated image factory, so that links to the factory keep working; another
 * port if the last one is in use.
 */
async function portOfFactory(file: string): Promise<number> {
  const kept = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { port: number }).port
    : 0
  return kept > 0 && (await isFree(kept)) ? kept : freePort()
}

/**
 * Adds the simulated servers and confirms the hardware that was found, using the data of the
 * simulator.
 */
async function furnish(call: Caller): Promise<void> {
  const servers = await addSimulated(call, join(data, 'simulator', 'control.sock'))
  const serials = new Map<string | null, string | null>(servers.map((s) => [s.uuid, s.serial]))
  for (const { id, identity } of await everyServer(call, { confirmed: 'false' })) {
    if (identity.state !== 'unconfirmed' || serials.get(identity.uuid) !== identity.serial) continue
    await call(serverConfirm, {
      params: { id },
      body: { uuid: identity.uuid!, serial: identity.serial! },
    })
  }
}

const children: { child: ChildProcess; ended: Promise<number> }[] = []
let stopping: Promise<void> | null = null
/** Stops the children, the program first, so that the program doesn't see its servers vanish. */
const stop = (code: number) =>
  (stopping ??= (async () => {
    for (const { child, ended } of children.toReversed()) {
      if (child.exitCode === null) child.kill('SIGTERM')
      await ended
    }
    process.exit(code)
  })())
// However this process ends, its children must not outlive it.
process.on('exit', () => children.forEach(({ child }) => child.kill('SIGTERM')))
// The reader of our output may have exited; we continue without it.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // Second signal: signal the children again, which then stop without waiting.
    if (stopping) for (const { child } of children) child.kill('SIGTERM')
    void stop(0)
  })
}

try {
  makeDataFolder(data, process.getuid?.())
  const admin = demoAdmin()
  const givenBlock = optionOf('--subnet-offset')
  const block =
    givenBlock === undefined
      ? await blockOfServers(join(data, 'demo-block.json'))
      : Number(givenBlock)
  const settings = {
    STEELYARD_DATA: data,
    STEELYARD_SIMULATE: simulate,
    STEELYARD_ADMIN_EMAIL: admin.email,
    STEELYARD_ADMIN_PASSWORD: admin.password,
    STEELYARD_DIAL_NETWORKS: process.env['STEELYARD_DIAL_NETWORKS'] ?? '127.20.0.0/16',
    PORT: process.env['PORT'] || String(await portOfDemo(join(data, 'demo-port.json'), block)),
  }
  const what = /^\d+$/.test(simulate) ? ['--servers', simulate] : ['--scenario', simulate]
  // The program uses the simulated image factory unless the user has set another. Images prepared
  // in the demo then need no network and boot no real machine.
  const ownFactory = process.env['IMAGE_FACTORY_URL']
  const speed = optionOf('--speed')
  const factoryPort = await portOfFactory(join(data, 'simulator', 'factory.json'))
  const simulated = `http://127.0.0.1:${factoryPort}`
  const simulator = start(
    [
      'simulator/src/main.ts',
      ...what,
      ...(speed === undefined ? [] : ['--speed', speed]),
      '--subnet-offset',
      String(block),
      '--factory-port',
      String(factoryPort),
      '--data',
      join(data, 'simulator'),
    ],
    /^Simulator is ready/,
  )
  // In development the program runs from its sources.
  const program = start(
    [dev ? 'backend/src/main.ts' : builtProgram, 'serve'],
    /^Steelyard is ready at/,
    {
      ...settings,
      IMAGE_FACTORY_URL: ownFactory || simulated,
    },
  )
  children.push(simulator, program)
  const [, line] = await Promise.all([simulator.ready, program.ready])
  const url = line.slice(line.indexOf('http'))
  say(line)
  const signedIn = await signIn(url, admin)
  const refused = 'refused' in signedIn ? signedIn.refused : undefined
  // Saves the email and password that worked, for the next start.
  if (refused !== 'another admin') keep(admin)
  say(signInLine(admin, refused))
  say(
    `${/^\d+$/.test(simulate) ? `Its ${simulate} servers are` : `The servers of ${simulate} are`} simulated. Ctrl-C stops everything; the data stays in ${data}`,
  )
  say(
    ownFactory
      ? `Images are made by ${ownFactory}`
      : `The image factory is simulated too (${simulated}): its images boot simulated servers only. IMAGE_FACTORY_URL names a real one`,
  )
  for (const { child, ended } of children)
    void ended.then(
      (code) =>
        stopping ??
        (say(
          `${child.spawnargs[1 + nodeFlags.length]} ended unexpectedly with ${child.signalCode ?? code}`,
        ),
        stop(1)),
    )
  if (dev) {
    const console_ = start(
      ['node_modules/vite/bin/vite.js', '--config', 'console/vite.config.ts'],
      /Local:/,
      { STEELYARD_API: url },
    )
    children.push(console_)
    say((await console_.ready).trim())
  }
  if ('token' in signedIn) {
    const { call } = apiClient(url, signedIn.token)
    await furnish(call)
    if (bare === undefined) {
      const socket = join(data, 'simulator', 'control.sock')
      await furnishDemo(call, join(data, 'demo.json'), socket).then(
        () => say('The demo is complete'),
        (error: unknown) => {
          if (stopping) return
          const why = error instanceof Error ? error.message : String(error)
          say(`A part of the demo is missing: ${why}`)
        },
      )
    }
  }
} catch (error) {
  // No message for calls that failed because of Ctrl-C.
  if (!stopping && !(error instanceof NotReady))
    process.stderr.write(
      `The demo can't continue: ${error instanceof Error ? error.message : String(error)}\n`,
    )
  await stop(error instanceof NotReady ? error.code : 1)
}
