/**
 * Writes a backup of Steelyard to a store and reads it back. The format is that of `steelyard
 * backup`, so `steelyard restore` can read the file.
 */
import { createHash } from 'node:crypto'
import { type DumpCount, dumping } from '../../backup/dump.ts'
import { visit } from '../../backup/load.ts'
import { demandLength, passphraseIn } from '../../backup/passphrase-file.ts'
import { readRecords } from '../../backup/records.ts'
import { BackupRefused, type KnownKeys, seal, unseal } from '../../backup/sealed.ts'
import type { Job } from '../../engine/engine.ts'
import { type ObjectStore, StoreError } from '../stores/api.ts'
import { nowOf, type SnapshotParts } from './parts.ts'
import type * as store from './store.ts'

/** @throws BackupRefused if no passphrase is set, or it can't be used */
export async function backupPassphrase({ config }: Pick<SnapshotParts, 'config'>): Promise<string> {
  if (config.backupPassphraseFile === undefined)
    throw new BackupRefused(
      'STEELYARD_BACKUP_PASSPHRASE_FILE is not set: put a passphrase into a file, set this setting to its path, and start Steelyard again',
    )
  const passphrase = await passphraseIn(config.backupPassphraseFile)
  demandLength(passphrase)
  return passphrase
}

/** Passes the bytes on, and counts and hashes them. */
async function* measured(
  source: AsyncIterable<Uint8Array>,
  found: (file: Measured) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of source) {
    hash.update(piece)
    bytes += piece.byteLength
    yield piece
  }
  found({ bytes, sha256: hash.digest('hex') })
}

interface Measured {
  readonly bytes: number
  readonly sha256: string
}

/** Reads a stored backup as a whole and opens it. @throws BackupRefused, StoreError */
export async function readBackup(
  passphrase: string,
  {
    from,
    key,
    signal,
    known = new Map(),
  }: { from: Pick<ObjectStore, 'get'>; key: string; signal: AbortSignal; known?: KnownKeys },
): Promise<Measured> {
  let read: Measured | undefined
  const bytes = measured(from.get(key, signal), (file) => (read = file))
  await visit(readRecords(unseal(passphrase, bytes, known)))
  return read!
}

/** @throws BackupRefused, StoreError */
export async function makeBackup(
  parts: SnapshotParts,
  job: Job,
  row: store.SnapshotRow,
  to: ObjectStore,
  key: string,
) {
  const { config, pool, version } = parts
  const passphrase = await backupPassphrase(parts)
  const known: KnownKeys = new Map()
  const at = nowOf(parts)
  let written: Measured | undefined
  await job.effect(`backup/${row.id}`, async () => {
    const count: DumpCount = { tables: 0, rows: 0, files: 0, clustersWithoutEscrow: 0 }
    await dumping({ pool, config, version }, count, (records) =>
      to.put(
        key,
        measured(seal(passphrase, records, known), (file) => (written = file)),
        job.signal,
      ),
    )
  })
  const again = await readBackup(passphrase, { from: to, key, signal: job.signal, known })
  if (again.sha256 !== written!.sha256)
    throw new StoreError('The file in the store is not the one that was written')
  const { bytes, sha256 } = written!
  return { taken_at: at, size_bytes: bytes, stored_bytes: bytes, sha256, verified_at: nowOf(parts) }
}
