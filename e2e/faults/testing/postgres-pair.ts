/**
 * A PostgreSQL primary with a streaming standby, of the system's packages, on ports of the loopback.
 * Both are killed as a machine that loses its power, and promoted as a failover manager does.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The programs of the newest PostgreSQL of the system's packages. */
export function systemPrograms(): string {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).map(Number) : []
  const found = versions
    .toSorted((a, b) => b - a)
    .map((version) => join(root, String(version), 'bin'))
    .find((folder) => existsSync(join(folder, 'initdb')))
  if (found === undefined)
    throw new Error('PostgreSQL is missing; install it with: apt-get install postgresql')
  return found
}

/** The account of the package, because PostgreSQL refuses to run as root. */
export function postgresAccount(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [, , uid, gid] = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith('postgres:'))!
    .split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

interface Server {
  readonly port: number
  readonly data: string
  child: ChildProcess | undefined
}

export async function postgresPair(bin: string) {
  const as = postgresAccount()
  const folder = mkdtempSync(join(tmpdir(), 'sy-pair-'))
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid!)
  const run = (program: string, ...args: string[]): void => {
    const ran = spawnSync(join(bin, program), args, { ...as, cwd: folder, encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(`${program}: ${ran.stderr}`)
  }
  const server = async (name: string): Promise<Server> => {
    const data = join(folder, name)
    mkdirSync(data, { mode: 0o700 })
    if (as.uid !== undefined) chownSync(data, as.uid, as.gid!)
    return { port: await freePort(), data, child: undefined }
  }
  const on = async <T>({ port }: Server, act: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ host: '127.0.0.1', port, user: 'steelyard', database: 'postgres' })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await act(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const launch = async (one: Server): Promise<void> => {
    one.child = spawn(
      join(bin, 'postgres'),
      ['-D', one.data, '-k', folder, '-p', String(one.port), '-c', 'listen_addresses=127.0.0.1'],
      { ...as, cwd: folder, stdio: 'ignore' },
    )
    for (let tries = 0; ; tries++) {
      try {
        return await on(one, async (client) => void (await client.query('select 1')))
      } catch (error) {
        if (tries > 150) throw error
        await pause(200)
      }
    }
  }
  const end = (one: Server, signal: NodeJS.Signals): Promise<void> =>
    new Promise((resolve) => {
      const { child } = one
      if (!child || child.exitCode !== null || child.signalCode !== null) return resolve()
      child.once('exit', () => resolve())
      child.kill(signal)
    })

  const primary = await server('primary')
  const standby = await server('standby')
  run('initdb', '-D', primary.data, '-U', 'steelyard', '--auth=trust', '-E', 'UTF8', '--locale=C')
  await launch(primary)
  const source = `host=127.0.0.1 port=${primary.port} user=steelyard application_name=standby`
  run('pg_basebackup', '-D', standby.data, '-d', source, '-R', '-X', 'stream')
  await launch(standby)
  const set = (text: string) =>
    on(primary, async (client) => {
      await client.query(text)
      await client.query('select pg_reload_conf()')
    })

  return {
    primary,
    standby,
    url: `postgresql://steelyard@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres?target_session_attrs=read-write`,
    /** Each commit waits until the standby has it. */
    synchronous: () => set(`alter system set synchronous_standby_names = 'standby'`),
    /** The standby receives nothing any more; commits don't wait for it. */
    async lag(): Promise<void> {
      await set('alter system reset synchronous_standby_names')
      await on(standby, async (client) => {
        await client.query(`alter system set primary_conninfo = ''`)
        await client.query('select pg_reload_conf()')
      })
    },
    /** Ends the primary as a machine that loses its power does, and promotes the standby. */
    async failOver(): Promise<void> {
      await end(primary, 'SIGQUIT')
      await on(standby, async (client) => void (await client.query('select pg_promote()')))
    },
    async stop(): Promise<void> {
      await end(primary, 'SIGQUIT')
      await end(standby, 'SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
    folder,
  }
}
