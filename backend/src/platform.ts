/**
 * The services that every domain uses, and the interface of a domain. `parts.ts` assembles them.
 */
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Figures } from '#contract/metrics/metrics.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database, Db } from './db/db.ts'
import { type Listener, listener as makeListener } from './db/listen.ts'
import type { Publisher } from './domains/events/api.ts'
import { publisher as makePublisher } from './domains/events/publisher.ts'
import { Engine } from './engine/engine.ts'
import type { Failpoint } from './engine/failpoint.ts'
import type { Log } from './log.ts'
import { type Reader, reader } from './reading/reader.ts'
import { type Recorder, recorder } from './record.ts'
import type { Tracing } from './tracing/tracing.ts'
import type { KeyRing } from './vault/key-file.ts'
import { type Vault, vault as makeVault } from './vault/vault.ts'

/** The services that every domain uses. */
export interface Platform extends Recorder {
  readonly config: Config
  readonly database: Database
  readonly db: Db
  readonly pool: Pool
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Name of this process, unchanged by a restart. */
  readonly owner: string
  readonly engine: Engine
  readonly failpoint: Failpoint
  readonly vault: Vault
  readonly listener: Listener
  readonly publisher: Publisher
  /** Reads on worker threads what strangers wrote. */
  readonly read: Reader
  /** Undefined if traces are off. */
  readonly tracing: Tracing | undefined
  readonly version: string
}

export type PlatformOptions = Pick<
  Platform,
  'config' | 'database' | 'clock' | 'random' | 'log' | 'owner' | 'failpoint' | 'version'
> & {
  readonly keys: KeyRing
  readonly tracing?: Tracing | undefined
}

/**
 * Creates the services without reading or writing anything. The database must be migrated before
 * they are used.
 */
export function buildPlatform({ keys, ...options }: PlatformOptions): Platform {
  const given = { tracing: undefined, ...options }
  const { config, database, log } = given
  const { db, pool, connection } = database
  const listener = makeListener({
    connection,
    log,
    // The embedded database runs on this machine and is supervised.
    ...(config.databaseUrl !== undefined && {
      find: () => database.findAgain(),
      onSilent: () => database.cut(),
    }),
  })
  const vault = makeVault({ keys, escrowFolder: path.join(config.dataFolder, 'escrow') })
  const engine = new Engine({ ...given, db })
  const publisher = makePublisher({ ...given, db, listener, vault })
  return {
    ...given,
    db,
    pool,
    ...recorder(given),
    engine,
    vault,
    listener,
    publisher,
    read: reader(),
  }
}

/** The parts of a domain that the program runs. */
export interface Domain {
  readonly name: string
  readonly routes?: (app: FastifyInstance) => void
  /** What the domain counts for `/metrics`, from memory or by a few queries. */
  readonly figures?: () => Promise<Figures>
  /**
   * Background work outside of the engine, in processes of the role `reconcile`. Called again if
   * the database was lost meanwhile.
   */
  readonly start?: () => Promise<void>
  /** Stops the background work after current runs have ended. */
  readonly stop?: () => Promise<void>
  /** Called once an hour: removes data that is no longer needed. */
  readonly removeOld?: () => Promise<void>
}
