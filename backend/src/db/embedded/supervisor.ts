/**
 * Runs the embedded PostgreSQL as a child and ends it together with this process: after a signal, a
 * refusal or an exception. Only kill −9 leaves it running; the next start adopts it if the server
 * at the socket has the system identifier of the data folder. PostgreSQL's lock decides which
 * process may start a server, and is never deleted here.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Log } from '../../log.ts'
import { isAlive, type Machine } from '../../machine.ts'
import { Refusal } from '../../refusal.ts'
import type { Connection } from '../connection.ts'
import { role, writeAccess } from './access.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { handOver, isForeign, serversIn } from './hand-over.ts'
import {
  holdsDatabase,
  makeDatabase,
  reasonIn,
  roomLeft,
  systemIdentifier,
} from './postgres-folder.ts'
import { removeSocketFolder, socketFolder } from './socket.ts'

export interface EmbeddedOptions {
  /** Folder that contains `postgres/` and its log. The account can enter the folder. */
  readonly folder: string
  readonly account: Account | undefined
  readonly binaries: Binaries
  readonly machine: Machine
  readonly log: Log
  /** Only for tests: the data isn't kept, so writes needn't reach the disk. */
  readonly forgetful?: boolean
  /** Whether the program was told to stop; a slow start is then abandoned. */
  readonly stopAsked?: () => boolean
  /**
   * False for a short command that uses the server of a running Steelyard: the server then keeps
   * running when the command ends.
   */
  readonly ours?: boolean
}

const startTimeoutMs = 90_000
const checkMs = 1_000
/**
 * How often to check that the process of an adopted server exists. The end of a launched one is an
 * event.
 */
const lifeCheckMs = 100
/** How often to ask a living server for an answer, over a new connection. */
const probeMs = 5_000
/**
 * How often to check whether a starting server answers. PostgreSQL starts a process for each check.
 */
const answerCheckMs = 40
/**
 * How long to wait for a fast shutdown before requesting an immediate one. The checkpoint takes
 * long on a busy disk.
 */
const fastStopMs = 20_000
const immediateStopMs = 10_000
const largestLogBytes = 8 * 1024 ** 2
/**
 * PostgreSQL's messages for errors that waiting doesn't fix (src/backend/utils/init/miscinit.c,
 * storage/file).
 */
const hopeless =
  /No space left|incompatible with server|has invalid permissions|has wrong ownership|Permission denied|is not a valid data directory/

// Reads relative to the server's working directory, so moving the directory doesn't matter.
// pg_control_system() would use the original path.
const askIdentifier = `select encode(pg_read_binary_file('global/pg_control', 0, 8), 'hex') as id`

/** A server that this process launched. */
type Launched = { readonly pid: number | undefined; readonly hasEnded: () => boolean }

export type EmbeddedPostgres = ReturnType<typeof embeddedPostgres>

export function embeddedPostgres(options: EmbeddedOptions) {
  const {
    folder,
    account,
    binaries,
    machine,
    log,
    forgetful = false,
    stopAsked = () => false,
    ours = true,
  } = options
  const data = path.join(folder, 'postgres')
  const lock = path.join(data, 'postmaster.pid')
  const logFile = path.join(folder, 'postgres.log')
  const identity = account ? { uid: account.uid, gid: account.gid } : {}
  const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  let socket = ''
  let connection: Connection = {}
  let onMoved: (host: string) => void = () => undefined
  let stopping = false
  let watching: Promise<void> = Promise.resolve()
  let callOff: () => void = () => undefined
  /** The running initdb, the server launched last, and the server that answered last. */
  let making: ChildProcess | undefined
  let launched: Launched | undefined
  let serving: number | undefined
  /** Ends the pause of `watch`. */
  let wake: () => void = () => undefined
  /** Offset in the log file at which the output of the latest launch begins. */
  let logFrom = 0

  const isGivenUp = () => stopping || stopAsked()

  const tell = (pid: number | undefined, signal: NodeJS.Signals): void => {
    if (isAlive(machine, pid)) machine.kill(pid!, signal)
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

  /**
   * Takes the socket's folder, again at each launch, because systems remove old folders from the
   * temporary one (tmpfiles.d(5)).
   */
  const takeSocket = (): void => {
    const taken = socketFolder(machine, folder, account)
    if (taken === socket) return
    socket = taken
    connection = { host: socket, user: role, database: 'postgres' }
    onMoved(socket)
  }

  const launch = (): Launched => {
    takeSocket()
    if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > largestLogBytes)
      truncateSync(logFile)
    const out = openSync(logFile, 'a', 0o600)
    logFrom = statSync(logFile).size
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
    // The server gets its own process group, so that Ctrl-C doesn't reach it and it survives a kill
    // of this process.
    const child = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((s) => ['-c', s])], {
      ...identity,
      cwd: data,
      env: environment,
      detached: true,
      stdio: ['ignore', out, out],
    })
    closeSync(out)
    child.unref()
    let isOver = false
    const over = () => {
      isOver = true
      wake()
    }
    for (const event of ['error', 'exit']) child.once(event, over)
    return (launched = { pid: child.pid, hasEnded: () => isOver })
  }

  const pid = (): number | undefined => {
    try {
      return Number(readFileSync(lock, 'utf8').split('\n')[0]) || undefined
    } catch {
      return undefined
    }
  }

  /** Only the lines of the latest launch: earlier problems may have been fixed. */
  const lastLogLines = (): string => {
    const file = openSync(logFile, 'r')
    try {
      const bytes = Buffer.alloc(Math.min(64 * 1024, Math.max(0, statSync(logFile).size - logFrom)))
      readSync(
        file,
        bytes,
        0,
        bytes.length,
        Math.max(logFrom, statSync(logFile).size - bytes.length),
      )
      return reasonIn(bytes.toString('utf8'))
    } finally {
      closeSync(file)
    }
  }

  /**
   * Requests a fast shutdown: PostgreSQL ends sessions, flushes, and removes its lock. If that
   * hangs, requests an immediate one; the next start recovers.
   */
  const end = async (server: number, isOver: () => boolean): Promise<void> => {
    for (const [signal, withinMs] of [
      ['SIGINT', fastStopMs] as const,
      ['SIGQUIT', immediateStopMs] as const,
    ]) {
      if (isOver()) return
      tell(server, signal)
      for (const until = performance.now() + withinMs; !isOver() && performance.now() < until;)
        await sleep(20)
    }
    if (!isOver()) log.warn('database.stop_slow', { pid: server })
  }

  /**
   * Starts or adopts a server. If PostgreSQL's lock refuses a start, retries: the lock's holder may
   * still be starting, or be dead and not yet reaped.
   */
  const bringUp = async (patient: boolean): Promise<'started' | 'adopted'> => {
    let told = ''
    const until = performance.now() + startTimeoutMs
    const isServing = async (): Promise<boolean> => {
      if (!(await answers())) return false
      serving = pid()
      return true
    }
    for (let waitMs = 100; ; waitMs = Math.min(2000, waitMs * 2)) {
      if (await isServing()) return 'adopted'
      if (isGivenUp())
        throw new Refusal('The embedded PostgreSQL was not started, because Steelyard is stopping')
      const child = launch()
      while (!child.hasEnded() && performance.now() < until && !isGivenUp()) {
        await sleep(answerCheckMs)
        // If the program was told to stop during the start, the server is ended below.
        if ((await isServing()) && !isGivenUp()) return child.hasEnded() ? 'adopted' : 'started'
      }
      const lines = lastLogLines()
      const reason = `${lines}${roomLeft(folder, lines)}`
      const isOver = isGivenUp() || performance.now() > until || (!patient && hopeless.test(reason))
      if (isOver) {
        if (child.pid !== undefined) await end(child.pid, child.hasEnded)
        throw new Refusal(`The embedded PostgreSQL doesn't start: ${reason} (more in ${logFile})`)
      }
      if (reason !== told) log.warn('database.start_again', { reason })
      told = reason
      await sleep(waitMs)
    }
  }

  const answersSoon = async (): Promise<boolean> => {
    await sleep(checkMs)
    return answers()
  }

  /** Waits until the launched server ends or `stop` is called, at most the given time. */
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      // `stop` may have been called while `watch` waited for an answer.
      if (stopping) return resolve()
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const watch = async (): Promise<void> => {
    for (let sinceProbeMs = 0; ;) {
      const isChild = launched !== undefined && launched.pid === serving && !launched.hasEnded()
      const ms = isChild ? probeMs - sinceProbeMs : lifeCheckMs
      await pause(ms)
      if (stopping) return
      sinceProbeMs += ms
      const isDead = !isAlive(machine, serving)
      if (!isDead && sinceProbeMs < probeMs) continue
      sinceProbeMs = 0
      try {
        // A living server that doesn't answer may be busy, so it is probed twice. PostgreSQL's own
        // lock prevents a second server.
        if (!isDead && ((await answers()) || (await answersSoon()))) continue
        log.error('database.gone', { folder: data })
        const how = await bringUp(true)
        log.info('database.back', { reason: how })
      } catch (error) {
        if (stopping) return
        log.error('database.start_failed', { error })
        await sleep(checkMs)
      }
    }
  }

  /** Runs when this process exits, so it can't wait for anything. */
  const endWithUs = (): void => {
    if (making?.pid !== undefined && making.exitCode === null) tell(-making.pid, 'SIGKILL')
    // A shutdown that is already in progress becomes an immediate one.
    const signal = stopping ? 'SIGQUIT' : 'SIGINT'
    if (launched && !launched.hasEnded()) tell(launched.pid, signal)
    else if (serving !== undefined && serving === pid()) tell(serving, signal)
  }

  /** Creates the data folder if it is missing; abandoned if the program is told to stop. */
  const make = async (): Promise<void> => {
    log.info('database.making', { folder: data })
    const timer = setInterval(() => {
      if (isGivenUp() && making?.pid !== undefined) tell(-making.pid, 'SIGTERM')
    }, lifeCheckMs)
    try {
      await makeDatabase(options, environment, (child) => (making = child))
    } finally {
      clearInterval(timer)
      making = undefined
    }
  }

  /**
   * Hands the data folder of an older Steelyard over to the account, after its server, which a kill
   * may have left running, has ended.
   */
  const takeOver = async (): Promise<void> => {
    if (!account || !isForeign(data, account)) return
    const isOver = () => serversIn(data).length === 0
    const server = pid()
    if (server !== undefined && serversIn(data).includes(server)) await end(server, isOver)
    // The sessions of a killed server end by themselves, soon after it.
    for (const until = performance.now() + immediateStopMs; !isOver() && performance.now() < until;)
      await sleep(checkMs / 10)
    if (!isOver())
      throw new Refusal(
        `PostgreSQL (process ${serversIn(data).join(', ')}) still uses ${data}: stop it, and start Steelyard again`,
      )
    handOver(data, account)
    log.info('database.handed_over', { folder: data, account: account.name })
  }

  return {
    get connection(): Connection {
      return connection
    },
    /**
     * Calls `act` with the new folder if the socket had to move, because others took its folder.
     */
    whenMoved(act: (host: string) => void): void {
      onMoved = act
    },
    /** Process id of the server, read from its lock file. */
    pid,
    /**
     * Creates the data folder if it is missing, starts or adopts the server and waits until the
     * server answers. Leaves no process after a failure.
     */
    async start(): Promise<'started' | 'adopted'> {
      if (ours) callOff = machine.atExit(endWithUs)
      try {
        let isAccessNew = false
        if (!holdsDatabase(data)) await make()
        else if (ours) {
          await takeOver()
          isAccessNew = writeAccess(data, account)
        }
        takeSocket()
        const how = await bringUp(false)
        if (isAccessNew && how === 'adopted') tell(serving, 'SIGHUP')
        return how
      } catch (error) {
        callOff()
        throw error
      }
    },
    /** Restarts the server whenever it ends, until `stop`. */
    supervise(): void {
      watching = watch()
    },
    /** Ends the sessions and stops the server cleanly. */
    async stop(): Promise<void> {
      stopping = true
      wake()
      await watching
      const server = pid()
      if (serving !== undefined && serving === server) {
        await end(server, () => !existsSync(lock) || !isAlive(machine, server))
        // The server removes its lock before its process is gone. Waits at most a second for the
        // process.
        for (
          const until = performance.now() + 1_000;
          isAlive(machine, server) && performance.now() < until;
        )
          await sleep(20)
        removeSocketFolder(socket)
      }
      callOff()
    },
  }
}
