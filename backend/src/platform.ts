/** What every domain stands on, and what a domain is to the program. `parts.ts` puts the two together. */
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database, Db } from './db/db.ts'
import { type Listener, listener as makeListener } from './db/listen.ts'
import { publisher as makePublisher, type Publisher } from './domains/events/publisher.ts'
import { type Core, engine as makeEngine } from './engine/engine.ts'
import type { Failpoint } from './engine/failpoint.ts'
import type { Log } from './log.ts'
import { type Recorder, recorder } from './record.ts'
import type { KeyRing } from './vault/key-file.ts'
import { type Vault, vault as makeVault } from './vault/vault.ts'

/** What every domain stands on. */
export interface Platform extends Recorder {
  readonly config: Config
  readonly database: Database
  readonly db: Db
  readonly pool: Pool
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Names this process, the same after a restart. */
  readonly owner: string
  readonly engine: Core
  readonly failpoint: Failpoint
  readonly vault: Vault
  readonly listener: Listener
  readonly publisher: Publisher
  readonly version: string
}

export interface PlatformOptions {
  readonly config: Config
  readonly database: Database
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly owner: string
  readonly keys: KeyRing
  readonly escrowFolder: string
  readonly failpoint: Failpoint
  readonly version: string
}

/** Reads and writes nothing yet; the database must have been migrated before anything is used. */
export function buildPlatform({ config, database, clock, random, log, owner, keys, escrowFolder, failpoint, version }: PlatformOptions): Platform {
  const { db, pool } = database
  const listener = makeListener({ connection: database.connection, log })
  const vault = makeVault({ keys, escrowFolder })
  return {
    config,
    database,
    db,
    pool,
    clock,
    random,
    log,
    owner,
    failpoint,
    version,
    ...recorder({ clock }),
    engine: makeEngine({ db, clock, random, log, owner, failpoint }),
    vault,
    listener,
    publisher: makePublisher({ db, clock, listener, log, vault }),
  }
}

/** A domain as the program runs it. */
export interface Domain {
  readonly name: string
  readonly routes?: (app: FastifyInstance) => void
  /** Work of its own beside the engine's, in processes of the role `reconcile`. */
  readonly start?: () => Promise<void>
  /** Ends that work; what is under way is waited for. */
  readonly stop?: () => Promise<void>
  /** Called once an hour: removes what is of no more use. */
  readonly removeOld?: () => Promise<void>
}
