/**
 * Takes, imports and removes snapshots. The bytes are streamed from etcd through the encryption to
 * the store; the whole file is never in memory or on this disk. Then the file is read back,
 * decrypted and compared, and only then the snapshot is ready. Each attempt writes a file with
 * another name, so that a suspended process can't overwrite the file of the process that has taken
 * over.
 */
import { canReadSnapshot } from '#contract/clusters/changes/snapshots.ts'
import { Problem } from '#contract/errors.ts'
import { waitedText, waitingText, waitLimits } from '#contract/rule.ts'
import { TalosError } from '#talos/client/errors.ts'
import { supportedMinor } from '#talos/versions.ts'
import type { EtcdFile } from '../../backup/etcd-file.ts'
import { checkedEtcdFile } from '../../backup/etcd-stream.ts'
import { sealWithKey, unsealWithKey } from '../../backup/key-sealed.ts'
import { BackupRefused } from '../../backup/sealed.ts'
import type { Tx } from '../../db/db.ts'
import type { Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { heldCounts } from '../../engine/holds.ts'
import { isForNow } from '../../for-now.ts'
import { system } from '../../http/caller.ts'
import { SealBroken } from '../../vault/cipher.ts'
import { type ObjectStore, StoreError } from '../stores/api.ts'
import { makeBackup } from './own-backup.ts'
import {
  installation,
  nowOf,
  scopeOf,
  type SnapshotParts,
  snapshotQueue,
  wakeSnapshot,
} from './parts.ts'
import { tooMany } from './schedule.ts'
import * as store from './store.ts'
import { timeLimit } from '../../time-limit.ts'

/** etcd's largest database (`--quota-backend-bytes`), with its checksum. */
const largestEtcd = 8 * 1024 ** 3 + 32
const mostAttempts = 4
/**
 * Interrupted attempts count as well, so that a snapshot that crashes the process is not tried for
 * ever.
 */
const mostInterrupted = 12
const pausesMs = [5_000, 30_000, 120_000]
/**
 * Time limit of one attempt, in ms: the largest database of etcd (8 GiB), written and read back at
 * 10 MB/s.
 */
const deadlineMs = 2 * 3_600_000

/** Thrown if the snapshot was removed meanwhile. */
class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

/** The file to import can't become a snapshot. Another attempt would read the same file. */
class Unusable extends BackupRefused {}

/**
 * How long a scheduled snapshot may still wait for what is refused only for now, in ms. Time in
 * which Steelyard didn't run doesn't count.
 */
const patienceMs = (job: Job, { made_by, created_at }: store.SnapshotRow): number =>
  made_by === 'schedule' ? waitLimits.snapshot - Math.min(job.elapsedMs(created_at), job.upMs()) : 0

const isKnown = (error: unknown): error is Error =>
  error instanceof StoreError ||
  error instanceof TalosError ||
  error instanceof Problem ||
  error instanceof BackupRefused ||
  error instanceof SealBroken

const compact = (at: Date): string => at.toISOString().replaceAll(/[-:]|\.\d+/g, '')
const keyOf = ({ id, cluster_id }: store.SnapshotRow, at: Date, attempt: number): string =>
  `${cluster_id === null ? `${installation}/` : `clusters/${cluster_id}/`}${compact(at)}-${id.slice(0, 8)}${attempt === 1 ? '' : `-${attempt}`}.${cluster_id === null ? 'backup' : 'etcd'}`

const targetOf = (row: store.SnapshotRow) =>
  row.cluster_id === null
    ? { kind: 'installation', id: row.id }
    : { kind: 'cluster', id: row.cluster_id, name: row.cluster_name! }

/** The audit actions of a backup of Steelyard. */
const ofBackup = {
  'cluster.snapshot_taken': 'installation.backed_up',
  'cluster.snapshot_failed': 'installation.backup_failed',
} as const

/**
 * Reads a whole stored snapshot. @throws BackupRefused, SealBroken, StoreError if it is incomplete,
 * changed or can't be read
 */
export async function readWhole(
  { vault }: Pick<SnapshotParts, 'vault'>,
  from: Pick<ObjectStore, 'get'>,
  row: Pick<store.SnapshotRow, 'id' | 'object_key'>,
  signal: AbortSignal,
): Promise<EtcdFile> {
  let file: EtcdFile | undefined
  for await (const _piece of checkedEtcdFile(
    unsealWithKey(vault, row.id, from.get(row.object_key, signal)),
    (found) => (file = found),
  ))
    signal.throwIfAborted()
  return file!
}

export function taking(parts: SnapshotParts): Reconciler {
  const { clusters, stores, vault, record, engine } = parts

  /** Changes the snapshot if it still has the status that was read. @throws Overtaken */
  const write = (job: Job, row: store.SnapshotRow, act: (tx: Tx) => Promise<void>): Promise<void> =>
    job.fence.write(async (tx) => {
      if ((await store.lock(tx, row.id))?.status !== row.status) throw new Overtaken()
      await act(tx)
    })
  const tell = (
    tx: Tx,
    { id, cluster_id }: Pick<store.SnapshotRow, 'id' | 'cluster_id'>,
    version: number,
  ) =>
    parts.tell(tx, system, {
      name: 'snapshot.updated',
      object: { kind: 'snapshot', id },
      version,
      ...scopeOf({ cluster_id }),
    })

  /**
   * @throws Unusable if the file is no whole snapshot, or of an etcd that the cluster can't read
   */
  const imported = async (
    row: store.SnapshotRow,
    put: () => Promise<number>,
    made: () => string | null,
  ): Promise<number> => {
    const stored = await put().catch((error: unknown) => {
      throw error instanceof BackupRefused ? new Unusable(error.message, { cause: error }) : error
    })
    const { talos_version: talos } = (await clusters.find(parts.db, row.cluster_id!))!
    const readable = canReadSnapshot({
      made: made(),
      runs: supportedMinor(talos)?.etcd ?? null,
      talos,
    })
    if (!readable.ok) throw new Unusable(readable.reason)
    return stored
  }

  /** Writes the file and reads it back. */
  const make = async (job: Job, row: store.SnapshotRow, to: ObjectStore, key: string) => {
    const { signal } = job
    let file: EtcdFile | undefined
    const about = {
      what: 'etcd snapshot',
      id: row.id,
      cluster: row.cluster_name!,
      cluster_id: row.cluster_id!,
    } as const
    const put = (bytes: AsyncIterable<Uint8Array>) =>
      to.put(
        key,
        sealWithKey(
          vault,
          about,
          checkedEtcdFile(bytes, (found) => (file = found)),
        ),
        signal,
      )
    const at = nowOf(parts)
    const { name, version, stored } = await job.effect(`snapshot/${row.id}`, async () => {
      if (row.source_key !== null)
        return {
          name: null,
          version: null,
          stored: await imported(
            row,
            () => put(to.get(row.source_key!, signal, largestEtcd)),
            () => file!.version,
          ),
        }
      return clusters.readEtcd(row.cluster_id!, signal, async (from, bytes) => ({
        ...from,
        stored: await put(bytes),
      }))
    })
    const { sizeBytes, sha256, revision, version: dataVersion, identity, encryption } = file!
    const again = await readWhole(parts, to, { id: row.id, object_key: key }, signal)
    if (again.sha256 !== sha256)
      throw new StoreError('The file in the store is not the one that was written')
    return {
      taken_from: name,
      taken_at: at,
      etcd_version: dataVersion ?? version,
      revision,
      identity,
      encryption: JSON.stringify(encryption),
      size_bytes: sizeBytes,
      sha256,
      stored_bytes: stored,
      verified_at: nowOf(parts),
    }
  }

  /** Removes the snapshots that the schedule no longer keeps. */
  const thin = async (tx: Tx, row: store.SnapshotRow): Promise<void> => {
    const schedule =
      row.made_by === 'schedule' ? await store.schedule(tx, row.cluster_id) : undefined
    if (!schedule) return
    // A copy that was restored on trial would remove the backups of the original. Who resumes the
    // clusters works with this one.
    if (row.cluster_id === null && (await heldCounts(tx)).cluster > 0) return
    const ready = (await store.scheduled(tx, row.cluster_id)).map((one) => ({
      id: one.id,
      takenAt: one.taken_at!,
    }))
    for (const id of tooMany(
      ready,
      { keepCount: schedule.keep_count, keepDays: schedule.keep_days },
      parts.clock.now(),
    )) {
      // A snapshot from which a cluster is being restored is removed after the next one. That of a
      // failed restore stays for a retry, unless a user removes it.
      if ((await store.lock(tx, id))?.status !== 'ready' || (await store.mayBeRestored(tx, id)))
        continue
      const { version } = await store.update(tx, id, {
        status: 'removing',
        updated_at: nowOf(parts),
      })
      await tell(tx, { id, cluster_id: row.cluster_id }, version)
      await wakeSnapshot(engine, tx, { id, cluster_id: row.cluster_id })
    }
  }

  const failed = async (
    job: Job,
    row: store.SnapshotRow,
    key: string,
    reason: string,
  ): Promise<void> => {
    await stores
      .open(row.store_id)
      .then((to) => to.remove(key, AbortSignal.any([job.signal, timeLimit(30_000)])))
      .catch(() => undefined)
    await write(job, row, async (tx) => {
      const { version } = await store.update(tx, row.id, {
        status: 'failed',
        reason,
        updated_at: nowOf(parts),
      })
      await recorded(tx, row, 'cluster.snapshot_failed', { key, reason }, version)
    })
  }

  const take = async (job: Job, row: store.SnapshotRow): Promise<Outcome> => {
    const attempt = row.attempts + 1
    const key = keyOf(row, row.created_at, attempt)
    if (row.attempts - row.waits >= mostInterrupted)
      return failed(job, row, row.object_key, `Interrupted ${row.attempts} times`)
    await write(
      job,
      row,
      async (tx) => void (await store.update(tx, row.id, { attempts: attempt, object_key: key })),
    )
    try {
      const to = await stores.open(row.store_id)
      // Removes the file of an earlier attempt. An error is ignored here, because the attempt
      // itself then fails with it.
      if (row.attempts > 0) await to.remove(row.object_key, job.signal).catch(() => undefined)
      const made =
        row.cluster_id === null
          ? await makeBackup(parts, job, row, to, key)
          : await make(job, row, to, key)
      await stores.note(row.store_id, null)
      await write(job, row, async (tx) => {
        const { version } = await store.update(tx, row.id, {
          ...made,
          status: 'ready',
          reason: null,
          updated_at: nowOf(parts),
        })
        await recorded(tx, row, 'cluster.snapshot_taken', { key }, version)
        await thin(tx, row)
      })
      return undefined
    } catch (error) {
      if (job.signal.aborted || !isKnown(error)) throw error
      if (error instanceof StoreError) await stores.note(row.store_id, error.message)
      const leftMs = isForNow(error) ? patienceMs(job, row) : 0
      const hasWaited = leftMs <= 0 && isForNow(error) && row.waits > 0
      // Nobody has asked for a scheduled one, so a rule's refusal ends it at once.
      const isRefused = row.made_by === 'schedule' && error instanceof Problem && !isForNow(error)
      const counted = attempt - row.waits
      const isSpent = leftMs <= 0 && counted >= mostAttempts
      if (hasWaited || isRefused || isSpent || error instanceof Unusable)
        return failed(
          job,
          row,
          key,
          hasWaited ? waitedText(waitLimits.snapshot, error.message) : error.message,
        )
      await write(job, row, async (tx) => {
        const { version } = await store.update(tx, row.id, {
          ...(leftMs > 0 && { waits: row.waits + 1 }),
          reason:
            leftMs > 0
              ? waitingText(new Date(job.now() + leftMs), error.message)
              : `Attempt ${counted} of ${mostAttempts} failed: ${error.message}`,
          updated_at: nowOf(parts),
        })
        await tell(tx, row, version)
      })
      return { againMs: pausesMs[Math.min(attempt, pausesMs.length) - 1]! }
    }
  }

  const remove = async (job: Job, row: store.SnapshotRow): Promise<void> => {
    try {
      const from = await stores.open(row.store_id)
      await job.effect(`remove/${row.id}`, () => from.remove(row.object_key, job.signal))
    } catch (error) {
      if (job.signal.aborted || !(error instanceof StoreError)) throw error
      await write(job, row, async (tx) => {
        const { version } = await store.update(tx, row.id, {
          reason: error.message,
          updated_at: nowOf(parts),
        })
        await tell(tx, row, version)
      })
      throw error
    }
    await write(job, row, async (tx) => {
      const { version } = await store.update(tx, row.id, {
        status: 'removed',
        reason: null,
        updated_at: nowOf(parts),
      })
      await parts.tell(tx, system, {
        name: 'snapshot.removed',
        object: { kind: 'snapshot', id: row.id },
        version,
        ...scopeOf(row),
      })
    })
  }

  const recorded = async (
    tx: Tx,
    row: store.SnapshotRow,
    action: 'cluster.snapshot_taken' | 'cluster.snapshot_failed',
    after: object,
    version: number,
  ): Promise<void> => {
    await record(tx, system, {
      action: row.cluster_id === null ? ofBackup[action] : action,
      target: targetOf(row),
      after: { ...after, snapshot: row.id },
      event: {
        name: 'snapshot.updated',
        object: { kind: 'snapshot', id: row.id },
        version,
        ...scopeOf(row),
      },
    })
    if (row.cluster_id === null) return
    // The cluster shows its last snapshot and the reason if that failed.
    if (await clusters.lock(tx, row.cluster_id)) await clusters.touch(tx, system, row.cluster_id)
  }

  return {
    queue: snapshotQueue,
    concurrency: 2,
    deadlineMs,
    async reconcile(job) {
      const row = await store.find(parts.db, job.key.split('/')[1]!)
      try {
        if (row?.status === 'taking') return await take(job, row)
        if (row?.status === 'removing') await remove(job, row)
        return undefined
      } catch (error) {
        if (error instanceof Overtaken) return { againMs: 0 }
        throw error
      }
    },
  }
}
