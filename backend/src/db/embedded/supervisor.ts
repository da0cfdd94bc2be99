/**
 * Runs the embedded PostgreSQL as a child that outlives us. Killed with −9, we leave it running and the next start adopts it: the socket answers and
 * the cluster's own identifier is the one in the data folder. PostgreSQL's lock decides who may start one; it is never deleted here.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
} from 'node:fs'
import path from 'node:path'
import { Client, type ClientConfig } from 'pg'
import type { Log } from '../../log.ts'
import { isAlive, type Machine } from '../../machine.ts'
import { Refusal } from '../../refusal.ts'
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
  /** Whether the program was asked to stop meanwhile: then a start that takes long is given up. */
  readonly stopAsked?: () => boolean
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
/** PostgreSQL's own words for what doesn't pass by waiting (src/backend/utils/init/miscinit.c, storage/file). */
const hopeless = /No space left|incompatible with server|has invalid permissions|has wrong ownership|Permission denied|is not a valid data directory/
/** With less free space than one segment of its log, PostgreSQL can't start. */
const leastFreeBytes = 16 * 1024 ** 2

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
    throw new Refusal(`${folder} belongs to another user: the database's socket can't lie there. Remove it, or start Steelyard as that user`)
  if ((found.mode & 0o077) !== 0) throw new Refusal(`${folder} is open to others: remove it, or make its mode 0700`)
  if (account && found.uid !== account.uid) chownSync(folder, account.uid, account.gid)
  return folder
}

/** What PostgreSQL gives as the reason among the last lines that it wrote; the last two of them, where none says that it is one. */
function reasonIn(text: string): string {
  const lines = text.trim().split('\n').slice(-8)
  const reasons = lines.filter((line) => /\b(?:FATAL|PANIC|error):/.test(line))
  return (reasons.length > 0 ? reasons : lines).slice(-2).join(' ').trim()
}

/** What a start that was killed while it made the database has left. Only for who holds the data folder: another may be making it. */
export function removeHalfMade(folder: string): void {
  for (const name of readdirSync(folder)) if (/^postgres\.[0-9a-f]{8}$/.test(name)) rmSync(path.join(folder, name), { recursive: true, force: true })
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

export function embeddedPostgres({ folder, account, binaries, machine, log, forgetful = false, stopAsked = () => false }: EmbeddedOptions): EmbeddedPostgres {
  const data = path.join(folder, 'postgres')
  const logFile = path.join(folder, 'postgres.log')
  const identity = account ? { uid: account.uid, gid: account.gid } : {}
  const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  let socket = ''
  let connection: ClientConfig = {}
  let stopping = false
  let timer: NodeJS.Timeout | undefined

  /** Said beside PostgreSQL's own reason: on a full disk its log has none. */
  const roomLeft = (): string => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < leastFreeBytes ? `. The disk that holds ${folder} is full: make room` : ''
  }

  /** Never a half-made folder: made beside it and moved there. */
  const initialise = (): void => {
    log.info('database.making', { folder: data })
    const building = path.join(folder, `postgres.${randomUUID().slice(0, 8)}`)
    mkdirSync(building, { mode: 0o700 })
    if (account) chownSync(building, account.uid, account.gid)
    const flags = ['-D', building, '-U', 'steelyard', '--auth=trust', '--encoding=UTF8', '--locale=C', ...(forgetful ? ['--no-sync'] : [])]
    const made = spawnSync(binaries.initdb, flags, { ...identity, cwd: building, env: environment, encoding: 'utf8' })
    if (made.status !== 0) {
      rmSync(building, { recursive: true, force: true })
      throw new Refusal(`The embedded PostgreSQL can't make its folder ${data}: ${reasonIn(made.stderr || made.error?.message || '')}${roomLeft()}`)
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
      return reasonIn(readFileSync(logFile, 'utf8'))
    } catch {
      return ''
    }
  }

  /** Starts or adopts. A start that PostgreSQL's lock refuses is tried again: the holder may be coming up, or a dead one not yet be reaped. */
  const bringUp = async (patient: boolean): Promise<'started' | 'adopted'> => {
    let told = ''
    const until = performance.now() + startTimeoutMs
    for (let waitMs = 100; ; waitMs = Math.min(2000, waitMs * 2)) {
      if (await answers()) return 'adopted'
      const child = { ended: false }
      const end = () => {
        child.ended = true
      }
      void launch().then(end, end)
      while (!child.ended && performance.now() < until && !stopAsked()) {
        await sleep(20)
        if (await answers()) return child.ended ? 'adopted' : 'started'
      }
      const reason = `${lastLogLines()}${roomLeft()}`
      const isOver = stopping || stopAsked() || performance.now() > until || (!patient && hopeless.test(reason))
      if (isOver) throw new Refusal(`The embedded PostgreSQL doesn't start: ${reason} (more in ${logFile})`)
      if (reason !== told) log.warn('database.start_again', { reason })
      told = reason
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
        const how = await bringUp(true)
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
      return bringUp(false)
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
