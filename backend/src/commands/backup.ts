/** `backup FILE`: database, key file and escrow into one file, sealed with a passphrase. Runs beside a Steelyard that runs, or without. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { counted } from '#contract/words.ts'
import { dump, type DumpCount } from '../backup/dump.ts'
import { minuteOf } from '../backup/settle.ts'
import { writeBackup } from '../backup/write.ts'
import { systemClock } from '../clock.ts'
import { ConfigRefused, readConfig } from '../config.ts'
import { inTransaction } from '../db/db.ts'
import { openDatabase } from '../db/open.ts'
import { system } from '../http/caller.ts'
import { silent } from '../log.ts'
import { recorder } from '../record.ts'
import { Refusal } from '../refusal.ts'
import { readArguments, readPassphrase } from './passphrase.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

export const sizeOf = (bytes: number): string => (bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(0)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`)

/** Aborted by the first signal that asks the program to stop. */
export function untilAsked({ stopAsked }: Pick<Surroundings, 'stopAsked'>): AbortSignal {
  const abort = new AbortController()
  void stopAsked.then((signal) => abort.abort(new Refusal(`Stopped by ${signal}`)))
  return abort.signal
}

export async function backup(args: readonly string[], around: Surroundings): Promise<number> {
  const { out, err, version } = around
  const given = readArguments(args)
  if (!given) {
    err('Usage: steelyard backup FILE [--passphrase-file FILE]\n')
    return exitCodes.usage
  }
  const file = path.resolve(around.cwd, given.file)
  try {
    const config = readConfig(around.environment, around.cwd)
    // Looked at first: opening a database would make one.
    if (!(await stat(config.keyFile).catch(() => undefined))) throw new Refusal(`There is no key file at ${config.keyFile}, so nothing can be backed up`)
    if (await stat(file).catch(() => undefined)) throw new Refusal(`${file} exists already, and is not overwritten: give another name`)
    const passphrase = await readPassphrase(given.passphraseFile, true, around)
    const opened = await openDatabase({ config, machine: around.machine, log: silent, beside: true })
    try {
      const { db, pool } = opened.database
      const count: DumpCount = { tables: 0, rows: 0, files: 0, clustersWithoutEscrow: 0 }
      const client = await pool.connect()
      const records = dump({ client, config, version, now: () => systemClock.now() }, count)
      const { contents, bytes } = await writeBackup(file, passphrase, records, untilAsked(around)).finally(() => client.release())
      // The audit log records it, because file and passphrase together give every secret.
      await inTransaction(db, (tx) =>
        recorder({ clock: systemClock }).record(tx, system, {
          action: 'installation.backed_up',
          target: { kind: 'installation', id: contents.manifest.installation },
        }),
      )
      out(
        `Backed up to ${file} (${sizeOf(bytes)}): ${counted(contents.rows, 'row')} of ${counted(contents.tables, 'table')} as of ${minuteOf(new Date(contents.manifest.madeAt))}, the key file, and ${counted(contents.files.length - 1, 'escrow file')}. It was read back and holds\n`,
      )
      if (count.clustersWithoutEscrow > 0)
        err(`The escrow files of ${counted(count.clustersWithoutEscrow, 'cluster')} lie in the data folder of another process, and are not in this backup\n`)
      return exitCodes.ok
    } finally {
      await opened.close()
    }
  } catch (error) {
    err(`${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof ConfigRefused ? exitCodes.usage : exitCodes.failure
  }
}
