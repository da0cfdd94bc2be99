/**
 * Runs the embedded PostgreSQL as a child that outlives us. Killed with −9, we leave it running and the next start adopts it: the socket answers and
 * the cluster's own identifier is the one in the data folder. PostgreSQL's lock decides who may start one; it is never deleted here.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { chownSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readFileSync, readSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { Client, type ClientConfig } from 'pg'
import type { Log } from '../../log.ts'
import { isAlive, type Machine } from '../../machine.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'

export interface EmbeddedOptions {
  /** Where `postgres/` and its log lie; entered by the account. */
  readonly folder: string
  readonly account: Account | undefined
  readonly binaries: Binaries
  readonly machine: Machine
  readonly log: Log
  /** Only for tests: nothing is kept, so nothing has to reach the disk. */
  readonly forgetful?: boolean
}

export interface EmbeddedPostgres {
  readonly connection: ClientConfig
  /** Makes the data folder where there is none, starts or adopts the server and waits until it answers. */
  start(): Promise<'started' | 'adopted'>
  /** Looks after it until `stop`: where it is gone, starts it again. */
  supervise(): void
  /** Process id of the server, read from its own lock. */
  pid(): number | undefined
  /** Ends the sessions and stops the server cleanly. */
  stop(): Promise<void>
}

/** A unix socket's path has at most 107 bytes, PostgreSQL's file name included. */
const longestSocketFolder = 107 - '/.s.PGSQL.5432'.length
const startTimeoutMs = 90_000
const checkMs = 1_000
const largestLogBytes = 8 * 1024 ** 2

// Relative to the folder that the server itself works in, wherever that was moved since: pg_control_system() would follow the path.
const askIdentifier = `select encode(pg_read_binary_file('global/pg_control', 0, 8), 'hex') as id`

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** A short folder of our own for the socket. @throws Error where somebody else's stands there. */
function socketFolder(machine: Machine, data: string, account: Account | undefined): string {
  const name = `steelyard-${createHash('sha256').update(data).digest('hex').slice(0, 12)}`
  const inTemporary = path.join(machine.temporary, name)
  const folder = inTemporary.length <= longestSocketFolder ? inTemporary : path.join('/tmp', name)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || (found.uid !== machine.uid && found.uid !== account?.uid))
    throw new Error(`${folder} belongs to somebody else: the database's socket can't lie there`)
  if ((found.mode & 0o077) !== 0) throw new Error(`${folder} is open to others: remove it, or make its mode 0700`)
  if (account && found.uid !== account.uid) chownSync(folder, account.uid, account.gid)
  return folder
}

/** First eight bytes of pg_control, as hex: the identifier that initdb gave this cluster (src/include/catalog/pg_control.h). */
function systemIdentifier(data: string): string {
  const file = openSync(path.join(data, 'global/pg_control'), 'r')
  try {
    const bytes = Buffer.alloc(8)
    readSync(file, bytes, 0, 8, 0)
    return bytes.toString('hex')
  } finally {
    closeSync(file)
  }
}

export function embeddedPostgres({ folder, account, binaries, machine, log, forgetful = false }: EmbeddedOptions): EmbeddedPostgres {
  const data = path.join(folder, 'postgres')
  const logFile = path.join(folder, 'postgres.log')
  const identity = account ? { uid: account.uid, gid: account.gid } : {}
  const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  let socket = ''
  let connection: ClientConfig = {}
  let stopping = false
  let timer: NodeJS.Timeout | undefined

  /** Never a half-made folder: made beside it and moved there. */
  const initialise = (): void => {
    const building = path.join(folder, `postgres.${randomUUID().slice(0, 8)}`)
    mkdirSync(building, { mode: 0o700 })
    if (account) chownSync(building, account.uid, account.gid)
    const flags = ['-D', building, '-U', 'steelyard', '--auth=trust', '--encoding=UTF8', '--locale=C', ...(forgetful ? ['--no-sync'] : [])]
    const made = spawnSync(binaries.initdb, flags, { ...identity, cwd: building, env: environment, encoding: 'utf8' })
    if (made.status !== 0) {
      rmSync(building, { recursive: true, force: true })
      throw new Error(`initdb failed: ${(made.stderr || made.error?.message || '').trim().split('\n').slice(-3).join(' ')}`)
    }
    try {
      renameSync(building, data)
    } catch (error) {
      rmSync(building, { recursive: true, force: true })
      if (!existsSync(path.join(data, 'PG_VERSION'))) throw error
    }
  }

  const answers = async (): Promise<boolean> => {
    const client = new Client({ ...connection, connectionTimeoutMillis: 3000, query_timeout: 3000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query<{ id: string }>(askIdentifier)
      return rows[0]?.id === systemIdentifier(data)
    } catch {
      return false
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  const launch = (): Promise<number | null> => {
    if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > largestLogBytes) truncateSync(logFile)
    const out = openSync(logFile, 'a', 0o600)
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${socket}`,
      'unix_socket_permissions=0700',
      'max_connections=100',
      'shared_buffers=64MB',
      'max_wal_size=512MB',
      'jit=off',
      'logging_collector=off',
      'log_timezone=UTC',
      'timezone=UTC',
      ...(forgetful ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] : []),
    ]
    // A group of its own: Ctrl-C in the terminal reaches us and not it, and it outlives us when we are killed.
    const child = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((s) => ['-c', s])], {
      ...identity,
      cwd: data,
      env: environment,
      detached: true,
      stdio: ['ignore', out, out],
    })
    closeSync(out)
    child.unref()
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => resolve(code))
    })
  }

  const pid = (): number | undefined => {
    try {
      return Number(readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')[0]) || undefined
    } catch {
      return undefined
    }
  }

  const lastLogLines = (): string => {
    try {
      return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-2).join(' ')
    } catch {
      return ''
    }
  }

  /** Starts or adopts. A start that PostgreSQL's lock refuses is tried again: the holder may be coming up, or a dead one not yet be reaped. */
  const bringUp = async (): Promise<'started' | 'adopted'> => {
    const until = performance.now() + startTimeoutMs
    for (let waitMs = 100; ; waitMs = Math.min(2000, waitMs * 2)) {
      if (await answers()) return 'adopted'
      const child = { ended: false }
      const end = () => {
        child.ended = true
      }
      void launch().then(end, end)
      while (!child.ended && performance.now() < until) {
        await sleep(20)
        if (await answers()) return child.ended ? 'adopted' : 'started'
      }
      if (stopping || performance.now() > until) throw new Error(`The embedded PostgreSQL doesn't start (${logFile}): ${lastLogLines()}`)
      log.debug('database.start_again', { reason: lastLogLines() })
      await sleep(waitMs)
    }
  }

  const answersSoon = async (): Promise<boolean> => {
    await sleep(checkMs)
    return answers()
  }

  const watch = async (): Promise<void> => {
    if (stopping) return
    try {
      // One that lives and doesn't answer may only be busy: asked twice. Whether another may be started is PostgreSQL's to say.
      const silent = !(await answers()) && (!isAlive(machine, pid()) || !(await answersSoon()))
      if (silent) {
        log.error('database.gone', { folder: data })
        const how = await bringUp()
        log.info('database.back', { reason: how })
      }
    } catch (error) {
      log.error('database.start_failed', { error })
    }
    if (!stopping) timer = setTimeout(() => void watch(), checkMs)
  }

  return {
    get connection() {
      return connection
    },
    pid,
    async start() {
      socket = socketFolder(machine, data, account)
      connection = { host: socket, user: 'steelyard', database: 'postgres' }
      if (!existsSync(path.join(data, 'PG_VERSION'))) initialise()
      return bringUp()
    },
    supervise() {
      timer = setTimeout(() => void watch(), checkMs)
    },
    async stop() {
      stopping = true
      clearTimeout(timer)
      const server = pid()
      if (!isAlive(machine, server)) return
      // Fast shutdown: sessions are ended, what is committed is written, the lock is removed by PostgreSQL itself.
      machine.kill(server!, 'SIGINT')
      for (const until = performance.now() + 30_000; performance.now() < until;) {
        if (!existsSync(path.join(data, 'postmaster.pid')) || !isAlive(machine, server)) break
        await sleep(20)
      }
      // The lock goes last but for the process itself, which whoever adopts orphans may take its time to reap: not waited for beyond a second.
      for (const until = performance.now() + 1_000; isAlive(machine, server) && performance.now() < until;) await sleep(20)
      if (!existsSync(path.join(data, 'postmaster.pid'))) return
      log.warn('database.stop_slow', { pid: server! })
    },
  }
}
