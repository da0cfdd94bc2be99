/** `restore FILE`: puts a backup into an empty database, and key file and escrow where there are none. Changes nothing where it fails. */
import path from 'node:path'
import { counted } from '#contract/words.ts'
import { isMissing, putFiles, type SavedFile } from '../backup/files.ts'
import { demandKnownSchema, load } from '../backup/load.ts'
import type { KnownKeys } from '../backup/sealed.ts'
import { minuteOf, settle, type Settled } from '../backup/settle.ts'
import { check, readBackup } from '../backup/write.ts'
import { systemClock } from '../clock.ts'
import { type Config, ConfigRefused, readConfig } from '../config.ts'
import type { Database } from '../db/db.ts'
import { readMigrations } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { system } from '../http/caller.ts'
import { silent } from '../log.ts'
import { auditOf } from '../record.ts'
import { whyRefused } from '../refusal.ts'
import { untilAsked } from './backup.ts'
import { readArguments, readPassphrase } from './passphrase.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

interface Restore {
  readonly config: Config
  readonly file: string
  readonly passphrase: string
  readonly known: KnownKeys
  /** Of the backup, those that are not there yet. */
  readonly missing: readonly SavedFile[]
  readonly signal: AbortSignal
}

/** The database went away before it confirmed the commit. */
class EndUnknown extends Error {
  constructor(cause: unknown) {
    super('The database did not say whether the restore was completed: see with doctor whether it is empty, and if so, restore again', { cause })
  }
}

/** Everything in one transaction; the files are put in their places right before its end, and taken away again if it doesn't come to that. */
async function restoreInto({ pool }: Database, { config, file, passphrase, known, missing, signal }: Restore): Promise<Settled> {
  const migrations = await readMigrations()
  const client = await pool.connect()
  const stop = () => client.release(true)
  signal.addEventListener('abort', stop, { once: true })
  try {
    await client.query('begin')
    let takeAway: (() => Promise<void>) | undefined
    let settled: Settled
    try {
      const { manifest } = await load(client, readBackup(file, passphrase, known), migrations)
      const now = new Date(systemClock.now())
      settled = await settle(client, new Date(manifest.madeAt), now)
      const target = { kind: 'installation', id: manifest.installation }
      const after = {
        backup_made_at: manifest.madeAt,
        schema: manifest.migrations.length,
        clusters_held: settled.clusters,
        operations_held: settled.operations,
      }
      await client.query('insert into outbox (at, audit) values ($1, $2)', [
        now,
        JSON.stringify(auditOf(system, { action: 'installation.restored', target, after })),
      ])
      signal.throwIfAborted()
      takeAway = await putFiles(config, missing)
    } catch (error) {
      await takeAway?.()
      await client.query('rollback').catch(() => undefined)
      throw signal.aborted ? signal.reason : error
    }
    // From here on it may have happened even if the answer is lost: then the files must stay.
    await client.query('commit').catch((cause: unknown) => {
      throw new EndUnknown(cause)
    })
    return settled
  } finally {
    signal.removeEventListener('abort', stop)
    if (!signal.aborted) client.release()
  }
}

export async function restore(args: readonly string[], around: Surroundings): Promise<number> {
  const { out, err } = around
  const given = readArguments(args)
  if (!given) {
    err('Usage: steelyard restore FILE [--passphrase-file FILE]\n')
    return exitCodes.usage
  }
  const file = path.resolve(around.cwd, given.file)
  try {
    const config = readConfig(around.environment, around.cwd)
    const passphrase = await readPassphrase(given.passphraseFile, false, around)
    // The whole file first, before anything is begun: a damaged one is refused with nothing touched.
    const known: KnownKeys = new Map()
    const { manifest, files, rows } = await check(file, passphrase, known)
    demandKnownSchema(manifest, await readMigrations())
    const missing: SavedFile[] = []
    for (const saved of files) if (await isMissing(config, saved)) missing.push(saved)
    const opened = await openDatabase({ config, machine: around.machine, log: silent })
    try {
      const { clusters, operations } = await restoreInto(opened.database, { config, file, passphrase, known, missing, signal: untilAsked(around) })
      out(
        `Restored ${counted(rows, 'row')} of ${minuteOf(new Date(manifest.madeAt))} (Steelyard ${manifest.version}) and ${counted(missing.length, 'file')}. ` +
          `Everybody signs in anew. ${counted(clusters, 'cluster')} and ${counted(operations, 'open operation')} are held: ` +
          `nothing is sent to a server of theirs until somebody has looked and resumed it\n`,
      )
      return exitCodes.ok
    } finally {
      await opened.close()
    }
  } catch (error) {
    const message =
      error instanceof Error && 'syscall' in error ? `${file} can't be read: ${whyRefused(error)}` : error instanceof Error ? error.message : String(error)
    err(error instanceof EndUnknown ? `${message}\n` : `${message}. Nothing was changed\n`)
    return error instanceof ConfigRefused ? exitCodes.usage : exitCodes.failure
  }
}
