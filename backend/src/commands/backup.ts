/**
 * `backup FILE`: writes database, key file and escrow files to one file, encrypted with a
 * passphrase. Works whether or not Steelyard is running. `restore FILE`: loads a backup into an
 * empty database and writes the missing key and escrow files. Changes nothing if it fails.
 */
import { stat } from 'node:fs/promises'
import { counted, minuteOf } from '#contract/words.ts'
import { type DumpCount, dumping } from '../backup/dump.ts'
import { isMissing, putFiles, type SavedFile } from '../backup/files.ts'
import { demandKnownSchema, load } from '../backup/load.ts'
import type { KnownKeys } from '../backup/sealed.ts'
import { settle } from '../backup/settle.ts'
import { check, readBackup, writeBackup } from '../backup/write.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { type Database, inTransaction } from '../db/db.ts'
import { readMigrations } from '../db/migrate.ts'
import { system } from '../http/caller.ts'
import { auditOf, recorder } from '../record.ts'
import { Refusal, whyRefused } from '../refusal.ts'
import { messageOf, withDatabase, withSettings } from './command.ts'
import { readArguments, readPassphrase } from './passphrase.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

const sizeOf = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(0)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`

/** Aborted at the first signal that tells the program to stop. */
function untilAsked({ stopAsked }: Surroundings): AbortSignal {
  const abort = new AbortController()
  void stopAsked.then((signal) => abort.abort(new Refusal(`Stopped by ${signal}`)))
  return abort.signal
}

export async function backup(args: readonly string[], around: Surroundings): Promise<number> {
  const { out, err, version } = around
  const given = readArguments('backup', args, around)
  if (!given) return exitCodes.usage
  const { file, passphraseFile } = given
  return withSettings(around, async (config) => {
    // Checked before the database is opened, because opening would create a missing database.
    if (!(await stat(config.keyFile).catch(() => undefined)))
      throw new Refusal(`There is no key file at ${config.keyFile}, so nothing can be backed up`)
    if (await stat(file).catch(() => undefined))
      throw new Refusal(`${file} exists already, and is not overwritten: give another name`)
    const passphrase = await readPassphrase(passphraseFile, true, around)
    return withDatabase(config, around, async ({ db, pool }) => {
      const count: DumpCount = { tables: 0, rows: 0, files: 0, clustersWithoutEscrow: 0 }
      const { contents, bytes } = await dumping({ pool, config, version }, count, (records) =>
        writeBackup(file, passphrase, records, untilAsked(around)),
      )
      const target = { kind: 'installation', id: contents.manifest.installation }
      // The audit log records every backup, because file and passphrase together reveal all
      // secrets.
      await inTransaction(db, (tx) =>
        recorder({ clock: systemClock }).record(tx, system, {
          action: 'installation.backed_up',
          target,
        }),
      )
      out(
        `Backed up to ${file} (${sizeOf(bytes)}): ${counted(contents.rows, 'row')} of ${counted(contents.tables, 'table')} as of ${minuteOf(new Date(contents.manifest.madeAt))}, the key file, and ${counted(contents.files.length - 1, 'escrow file')}. The file was read back and is valid\n`,
      )
      if (count.clustersWithoutEscrow > 0)
        err(
          `The escrow files of ${counted(count.clustersWithoutEscrow, 'cluster')} are in the data folder of another process, and not in this backup\n`,
        )
      return exitCodes.ok
    })
  })
}

interface Restore {
  readonly config: Config
  readonly file: string
  readonly passphrase: string
  readonly known: KnownKeys
  /** Files of the backup that don't exist here yet. */
  readonly missing: readonly SavedFile[]
  readonly signal: AbortSignal
}

/** The connection to the database was lost before the commit was confirmed. */
class EndUnknown extends Error {
  constructor(cause: unknown) {
    super(
      'It is not known whether the restore was completed: run doctor to see whether the database is empty; if it is, restore again',
      { cause },
    )
  }
}

/**
 * Restores everything in one transaction. The files are written right before the commit, and
 * removed again if the transaction fails.
 */
async function restoreInto(
  { pool }: Database,
  { config, file, passphrase, known, missing, signal }: Restore,
) {
  const migrations = await readMigrations()
  const client = await pool.connect()
  const stop = () => client.release(true)
  signal.addEventListener('abort', stop, { once: true })
  try {
    await client.query('begin')
    let takeAway: (() => Promise<void>) | undefined
    let settled: Awaited<ReturnType<typeof settle>>
    try {
      const { manifest } = await load(client, readBackup(file, passphrase, known), migrations)
      const now = new Date(systemClock.now())
      settled = await settle(client, { madeAt: new Date(manifest.madeAt), now })
      const target = { kind: 'installation', id: manifest.installation }
      const after = {
        backup_made_at: manifest.madeAt,
        schema: manifest.migrations.length,
        clusters_held: settled.clusters,
        operations_held: settled.operations,
      }
      const audit = auditOf(system, { action: 'installation.restored', target, after })
      await client.query('insert into outbox (at, audit) values ($1, $2)', [
        now,
        JSON.stringify(audit),
      ])
      signal.throwIfAborted()
      takeAway = await putFiles(config, missing)
    } catch (error) {
      await takeAway?.()
      await client.query('rollback').catch(() => undefined)
      throw signal.aborted ? signal.reason : error
    }
    // From here on the commit may succeed even if the response is lost, so the files must stay.
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
  const given = readArguments('restore', args, around)
  if (!given) return exitCodes.usage
  const { file, passphraseFile } = given
  const sentence = (error: unknown): string => {
    if (error instanceof EndUnknown) return error.message
    return `${error instanceof Error && 'syscall' in error ? `${file} can't be read: ${whyRefused(error)}` : messageOf(error)}. Nothing was changed`
  }
  const act = async (config: Config): Promise<number> => {
    const passphrase = await readPassphrase(passphraseFile, false, around)
    // Checks the whole file first, so that a damaged backup is refused before anything is changed.
    const known: KnownKeys = new Map()
    const { manifest, files, rows } = await check(file, passphrase, known)
    demandKnownSchema(manifest, await readMigrations())
    const missing: SavedFile[] = []
    for (const saved of files) if (await isMissing(config, saved)) missing.push(saved)
    const into = (database: Database) =>
      restoreInto(database, {
        config,
        file,
        passphrase,
        known,
        missing,
        signal: untilAsked(around),
      })
    const { clusters, operations } = await withDatabase(config, around, into, { beside: false })
    around.out(
      `Restored ${counted(rows, 'row')} of ${minuteOf(new Date(manifest.madeAt))} (Steelyard ${manifest.version}) and ${counted(missing.length, 'file')}. ` +
        `Everybody has to sign in again. ${counted(clusters, 'cluster')} and ${counted(operations, 'open operation')} are held: ` +
        `nothing is sent to their servers until somebody has checked and resumed them\n`,
    )
    return exitCodes.ok
  }
  return withSettings(around, act, { sentence })
}
