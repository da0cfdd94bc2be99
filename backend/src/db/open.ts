/**
 * Opens the database of DATABASE_URL, or else the embedded PostgreSQL, which is started, or adopted
 * if it already runs.
 */
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseAway } from '../causes/causes.ts'
import type { Config } from '../config.ts'
import { holdsOne, makeDataFolder, systemFolder } from '../data-folder.ts'
import type { Log } from '../log.ts'
import type { Machine } from '../machine.ts'
import { Refusal, whyRefused } from '../refusal.ts'
import { type Connection, placeOf } from './connection.ts'
import { connect, type ConnectOptions } from './db.ts'
import { type Account, canEnter, databaseAccount } from './embedded/account.ts'
import { binaries } from './embedded/binaries.ts'
import { listenIn } from './embedded/elsewhere.ts'
import { FolderInUse, isUsedElsewhere, lockFolder } from './embedded/lock.ts'
import { removeHalfMade } from './embedded/postgres-folder.ts'
import { embeddedPostgres } from './embedded/supervisor.ts'
import { findServer, NoServer, offersTls, sharesSessions } from './find.ts'
import { sentenceOf } from './sentence.ts'
import type { DatabaseUrl } from './url.ts'

interface OpenOptions {
  readonly config: Config
  readonly machine: Machine
  readonly log: Log
  /**
   * If another Steelyard uses the data folder: true (short commands) shares its PostgreSQL, false
   * (`serve`) is an error.
   */
  readonly beside?: boolean
  /** Whether a missing embedded database is made; otherwise it is refused. */
  readonly mayMake?: boolean
  /** How long to wait for an external database. */
  readonly waitMs?: number
  /** Whether the program was told to stop, which ends the waiting. */
  readonly stopAsked?: () => boolean
  readonly onStatement?: ConnectOptions['onStatement']
}

/**
 * Location of the server's folder: in the data folder or, if the account can't enter that, in a
 * system folder, with a name derived from the data folder.
 */
function databaseFolder(dataFolder: string, account: Account | undefined, log: Log): string {
  if (account && (statSync(dataFolder).mode & 0o001) === 0)
    chmodSync(dataFolder, (statSync(dataFolder).mode & 0o777) | 0o011)
  if (canEnter(account, dataFolder)) return dataFolder
  if (holdsOne(dataFolder))
    throw new Refusal(
      `The account ${account?.name ?? ''}, which runs the database, can't enter ${dataFolder}: run "chmod o+x" on the folders above it, or move it, and set STEELYARD_DATA`,
    )
  const folder = path.join(
    systemFolder,
    createHash('sha256').update(dataFolder).digest('hex').slice(0, 12),
  )
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  log.warn('database.elsewhere', {
    folder,
    reason: `the account ${account?.name ?? ''} cannot enter ${dataFolder}`,
  })
  return folder
}

/** The account that the running server of this data folder belongs to. */
function ownerOf(dataFolder: string, { uid }: Machine): Account | undefined {
  const found =
    uid === 0 ? statSync(path.join(dataFolder, 'postgres'), { throwIfNoEntry: false }) : undefined
  return found && found.uid !== 0
    ? { name: String(found.uid), uid: found.uid, gid: found.gid }
    : undefined
}

/**
 * `embedded` is undefined with DATABASE_URL. `close` ends the connections, stops the server if this
 * process runs it, and unlocks the data folder.
 * @throws FolderInUse if another Steelyard uses the data folder and `beside` is false, or if it is
 *   in another container
 * @throws Error with a sentence for users if the database doesn't start or answer
 */
export async function openDatabase({
  config,
  machine,
  log,
  beside = false,
  mayMake = true,
  waitMs = 30_000,
  stopAsked = () => false,
  onStatement,
}: OpenOptions) {
  try {
    makeDataFolder(config.dataFolder, machine.uid)
  } catch (error) {
    throw new Refusal(
      `The data folder ${config.dataFolder} can't be made: ${whyRefused(error)}. Set STEELYARD_DATA to another folder`,
      { cause: error },
    )
  }
  if (await isUsedElsewhere(config.dataFolder, machine))
    throw new FolderInUse(config.dataFolder, null)
  let unlock: (() => void) | undefined
  try {
    unlock = lockFolder(config.dataFolder, machine)
  } catch (error) {
    if (!(error instanceof FolderInUse))
      throw new Refusal(
        `Nothing can be written to the data folder ${config.dataFolder}: ${whyRefused(error)}`,
        { cause: error },
      )
    if (!beside) throw error
  }
  const onIdleError = (error: Error) => log.debug('database.idle_connection_lost', { error })
  try {
    if (unlock) {
      const release = unlock
      const stop = await listenIn(config.dataFolder)
      unlock = () => {
        stop()
        release()
      }
    }
    if (config.databaseUrl !== undefined) {
      const url = config.databaseUrl
      const connection = await answering(url, { waitMs, stopAsked, log })
      await judgeServer(url, connection, log)
      const database = connect({
        connection,
        find: () => findServer(url),
        onIdleError,
        onStatement,
      })
      return { database, embedded: undefined, close: () => database.close().finally(unlock) }
    }
    // Beside another Steelyard, nothing is changed.
    const account =
      (unlock ? undefined : ownerOf(config.dataFolder, machine)) ??
      (await databaseAccount(machine, log))
    const folder = databaseFolder(config.dataFolder, account, log)
    if (!mayMake && !holdsOne(folder))
      throw new Refusal(
        `There is no database in ${folder}: set DATABASE_URL if Steelyard runs with it, or STEELYARD_DATA to the right folder`,
      )
    if (unlock) removeHalfMade(folder)
    const found = binaries(path.join(folder, 'binaries'), account, machine.platform, machine.arch)
    const embedded = embeddedPostgres({
      folder,
      account,
      binaries: found,
      machine,
      log,
      stopAsked,
      ours: unlock !== undefined,
    })
    const how = await embedded.start()
    log.info(how === 'adopted' ? 'database.adopted' : 'database.started', {
      pid: embedded.pid() ?? null,
      folder,
    })
    const database = connect({ connection: embedded.connection, onIdleError, onStatement })
    embedded.whenMoved((host) => database.moveTo({ host }))
    const close = async () => {
      await database.close()
      // If this process doesn't hold the lock, the server belongs to another Steelyard.
      if (unlock) await embedded.stop()
      unlock?.()
    }
    return { database, embedded, close }
  } catch (error) {
    unlock?.()
    throw error
  }
}

/** Waits with back-off until a host accepts writes. The reason is logged only once. */
async function answering(
  url: DatabaseUrl,
  { waitMs, stopAsked, log }: { waitMs: number; stopAsked: () => boolean; log: Log },
): Promise<Connection> {
  let told = false
  const until = performance.now() + waitMs
  for (let pauseMs = 100; ; pauseMs = Math.min(2_000, pauseMs * 2)) {
    try {
      return await findServer(url)
    } catch (error) {
      const reason = sentenceOf(error)
      const mayChange =
        error instanceof NoServer && (error.isReadOnly || isDatabaseAway(error.cause))
      if (!mayChange || performance.now() > until || stopAsked()) throw cannotUse(url, error)
      if (!told) log.warn('database.awaited', { reason })
      told = true
      await sleep(pauseMs)
    }
  }
}

function cannotUse(url: DatabaseUrl, error: unknown): Refusal {
  const reason = sentenceOf(error)
  if (!(error instanceof NoServer) || !error.isReadOnly)
    return new Refusal(`The database of DATABASE_URL doesn't answer: ${reason}`, { cause: error })
  const what =
    url.hosts.length > 1
      ? 'none of the hosts of DATABASE_URL accepts writes'
      : 'name the primary in DATABASE_URL, or all hosts: postgresql://…@host-a,host-b/steelyard?target_session_attrs=read-write'
  return new Refusal(`The database can't be written: ${reason}. Steelyard writes: ${what}`, {
    cause: error,
  })
}

/**
 * @throws Refusal if sessions share processes of the server. Warns if the server offers TLS that
 *   isn't used.
 */
async function judgeServer(url: DatabaseUrl, connection: Connection, log: Log): Promise<void> {
  if (await sharesSessions(connection))
    throw new Refusal(
      'The database of DATABASE_URL gives the process of one session to another (pgbouncer in transaction or statement mode). Steelyard needs sessions of its own, for locks and notifications: set pool_mode = session for this database, or name PostgreSQL itself in DATABASE_URL',
      { lasts: true },
    )
  if (connection.tls === undefined && (await offersTls(connection)))
    log.warn('database.tls_unused', {
      host: placeOf(connection),
      reason: `The database offers TLS, and DATABASE_URL doesn't use it${url.namesTls ? ` (sslmode=${url.tls})` : ''}: add sslmode=verify-full, and sslrootcert=FILE for an authority of your own`,
    })
}
