/**
 * The command line against the real program and simulated servers. Each command is a process, as
 * when a user or a script runs it.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operations.ts'
import type { Page } from '#contract/page.ts'
import type { Patch } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { admin, type Installation, startInstallation, twoAlike } from './installation.ts'

let installation: Installation
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steelyard-e2e-cli-'))
  installation = await startInstallation({ speed: 20 })
}, 120_000)
afterAll(async () => {
  await installation?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Ran {
  code: number | null
  out: string
  err: string
}

/**
 * Runs a script with this Node.js. `onOutput` is called after the first output and may send a
 * signal to the process.
 */
async function node(
  args: string[],
  options: {
    input?: string
    env?: Record<string, string>
    onOutput?: (kill: (signal: NodeJS.Signals) => void) => void
  } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    env: {
      ...process.env,
      XDG_CONFIG_HOME: folder,
      STEELYARD_URL: installation.url,
      ...options.env,
    },
  })
  child.stdin.end(options.input ?? '')
  if (options.onOutput)
    child.stdout.once('data', () => options.onOutput!((signal) => child.kill(signal)))
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}
/** The client that people download, which starts in half the processor time of its sources. */
const steelyard = (line: string, options: Parameters<typeof node>[1] = {}) =>
  node(['cli/dist/steelyard.mjs', ...line.split(' ')], options)
/** The command line beside the program, with the program's own commands. */
const npmRunSteelyard = (line: string, options: Parameters<typeof node>[1] = {}) =>
  node(['cli/src/main.ts', ...line.split(' ')], options)
async function json<T>(line: string): Promise<T> {
  const ran = await steelyard(`${line} --json`)
  expect(ran).toMatchObject({ code: 0, err: '' })
  return JSON.parse(ran.out) as T
}
const sessionFile = () => join(folder, 'steelyard', 'sessions.json')

describe('signing in', () => {
  test('every command asks to sign in first', async () => {
    expect(await steelyard('server list')).toMatchObject({ code: 3, out: '' })
  })

  test('a wrong password stores nothing; the right one stores a session that only this user can read', async () => {
    expect(
      await steelyard(`login ${admin.email} --password-stdin`, { input: 'not the password\n' }),
    ).toMatchObject({
      code: 3,
      err: 'Invalid email or password\n',
    })
    expect(
      await steelyard(`login ${admin.email} --password-stdin`, { input: `${admin.password}\n` }),
    ).toMatchObject({ code: 0, out: '' })
    expect(statSync(sessionFile()).mode & 0o777).toBe(0o600)
    expect((await json<Page<{ email: string }>>('user list')).items.map((u) => u.email)).toEqual([
      admin.email,
    ])
  })

  longTest(
    'many concurrent commands renew an expired token once, and the session continues',
    async () => {
      const stored = JSON.parse(readFileSync(sessionFile(), 'utf8')) as {
        sessions: Record<string, { access_token: string; refresh_token: string }>
      }
      const before = stored.sessions[installation.url]!.refresh_token
      stored.sessions[installation.url]!.access_token = 'ended'
      writeFileSync(sessionFile(), JSON.stringify(stored))
      const runs = await Promise.all(
        Array.from({ length: 6 }, () => steelyard('datacenter list --json')),
      )
      expect(runs.map((r) => r.code)).toEqual(runs.map(() => 0))
      expect(readFileSync(sessionFile(), 'utf8')).not.toContain(before)
      expect((await steelyard('datacenter list')).code).toBe(0)
    },
  )
})

describe('servers', () => {
  test('servers are listed, shown and renamed by name', async () => {
    const { items } = await json<Page<Server>>('server list --status maintenance --sort name')
    expect(items.length).toBeGreaterThan(5)
    const [first, second] = items as [Server, Server]
    expect((await steelyard('server list')).out).toContain(first.name)
    const shown = await steelyard(`server show ${first.name}`)
    expect(shown.out).toContain(first.identity.uuid)
    expect(shown.out).toContain('PROCESSORS')
    expect(await steelyard(`server rename ${first.name} from-the-terminal`)).toMatchObject({
      code: 0,
      out: 'The server is called from-the-terminal now\n',
    })
    expect(await steelyard(`server rename ${second.name} from-the-terminal`)).toMatchObject({
      code: 6,
      err: 'Server name already exists. Please choose a different name.\n',
    })
    expect(await steelyard('server show nobody')).toMatchObject({ code: 5 })
    expect(
      (await json<Page<Patch>>('patch list from-the-terminal')).items.map((p) => p.weight),
    ).toEqual([-999, -888])
    expect((await steelyard('patch show from-the-terminal static-system')).out).toContain(
      'from-the-terminal',
    )
  })

  longTest(
    'addresses that may not be dialled are refused with the message of the API',
    async () => {
      expect(await steelyard('server add 169.254.169.254')).toMatchObject({
        code: 2,
        err: expect.stringContaining('169.254.169.254') as string,
      })
    },
  )
})

describe('clusters', () => {
  longTest(
    'the script of docs/api-first-cluster.md creates a cluster, whose escrow file can be opened without Steelyard',
    async () => {
      const ran = await node(['docs/programs/first-cluster.mjs', 'first'], {
        env: { STEELYARD_EMAIL: admin.email, STEELYARD_PASSWORD: admin.password },
      })
      expect(`${ran.code}\n${ran.err}`).toMatch(/^0\n/)
      expect(ran.out).toMatch(/^apiVersion: v1$/m)
      const cluster = await json<Cluster>('cluster show first')
      expect(cluster).toMatchObject({ status: 'ready', control_planes: 3, workers: 2 })

      const escrow = join(installation.data, 'escrow')
      expect(readdirSync(escrow)).toContain(`${cluster.id}.bin`)
      const opened = await node([
        'docs/open-escrow.mjs',
        join(installation.data, 'key'),
        join(escrow, `${cluster.id}.bin`),
      ])
      expect(opened).toMatchObject({ code: 0, err: '' })
      expect(opened.out).toMatch(/^trustdinfo:$/m)
      expect(readFileSync(join(escrow, `${cluster.id}.bin`), 'utf8')).not.toContain('trustdinfo')
    },
    180_000,
  )

  test('cluster create starts an operation that can be watched, and Ctrl-C ends only the watching', async () => {
    const { items } = await json<Page<Server>>('server list --eligible true')
    const [cp, worker] = twoAlike(items)
    const create = `cluster create terminal --datacenter ${cp.datacenter!.code} --talos-version ${cp.talos.version} --control-plane ${cp.name} --worker ${worker.name}`

    expect(await steelyard(`${create} --dry-run`)).toMatchObject({
      code: 0,
      out: expect.stringContaining('STEPS') as string,
    })
    const created = await steelyard(`${create} --idempotency-key e2e-1 --json`)
    expect(created).toMatchObject({
      code: 0,
      err: expect.stringContaining('With one control plane') as string,
    })
    const { operation } = JSON.parse(created.out) as { operation: Operation }
    expect(
      JSON.parse((await steelyard(`${create} --idempotency-key e2e-1 --json`)).out),
    ).toMatchObject({ operation: { id: operation.id } })

    const left = await steelyard(`operation watch ${operation.id}`, {
      onOutput: (kill) => kill('SIGINT'),
    })
    expect(left).toMatchObject({
      code: 130,
      err: expect.stringContaining('The operation continues') as string,
    })

    const watched = await steelyard(`operation watch ${operation.id}`)
    expect(`${watched.code}\n${watched.out}`).toMatch(/^0\n/)
    expect(watched.out).toContain('Create cluster terminal: done')
    const creations = (await json<Page<Operation>>('operation list --kind clusterCreate')).items
    expect(creations.filter(({ target }) => target.name === 'terminal')).toHaveLength(1)

    const file = join(folder, 'terminal.kubeconfig')
    expect(await steelyard(`cluster kubeconfig terminal --output ${file}`)).toMatchObject({
      code: 0,
      out: '',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toContain('client-certificate-data:')
    expect((await steelyard('cluster talosconfig terminal')).out).toMatch(/^contexts:$/m)
    expect(await steelyard(`server rename ${worker.name} another`)).toMatchObject({
      code: 6,
      err: 'The name is fixed while the server is in a cluster\n',
    })
  }, 180_000)
})

describe('the program and the CLI client that it serves', () => {
  test('the client at /cli has the same version', async () => {
    const file = join(folder, 'steelyard.mjs')
    const answer = await fetch(`${installation.url}/cli`)
    expect(answer.status).toBe(200)
    writeFileSync(file, await answer.text())
    const { client, server } = JSON.parse((await node([file, 'version', '--json'])).out) as {
      client: string
      server: string
    }
    expect(client).toBe(server)
    expect((await node([file, 'server', 'list'])).code).toBe(0)
  })

  longTest('doctor and user add --first run on the machine of Steelyard', async () => {
    const env = { STEELYARD_DATA: installation.data }
    const doctor = await npmRunSteelyard('doctor --json', { env })
    expect(JSON.parse(doctor.out)).toContainEqual(
      expect.objectContaining({ check: 'database', verdict: 'good' }),
    )
    expect(
      (
        await npmRunSteelyard('user add --first second@example.com --password-stdin', {
          env,
          input: 'a second password\n',
        })
      ).code,
    ).toBe(6)
    expect((await json<Page<{ email: string }>>('user list')).items).toHaveLength(1)
  })

  test('logout ends the session on the server and deletes it locally', async () => {
    const kept = readFileSync(sessionFile(), 'utf8')
    expect((await steelyard('logout')).code).toBe(0)
    expect(await steelyard('server list')).toMatchObject({ code: 3 })
    writeFileSync(sessionFile(), kept)
    expect(await steelyard('server list')).toMatchObject({
      code: 3,
      err: expect.stringContaining('Session expired. Please sign in again.') as string,
    })
  })
})
