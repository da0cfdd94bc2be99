/** Dependencies of the snapshots domain, its queues, and the function that begins a snapshot. */
import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { KnownClusters } from '../cluster-facts/api.ts'
import type { Stores } from '../stores/api.ts'
import * as store from './store.ts'

export interface SnapshotParts extends Platform {
  readonly clusters: Pick<KnownClusters, 'find' | 'lock' | 'idOf' | 'touch' | 'readEtcd'> & {
    /** The clusters that are not being deleted. */
    readonly conditions: (
      on: Db,
    ) => Promise<readonly { readonly id: string; readonly name: string }[]>
  }
  readonly stores: Pick<Stores, 'open' | 'hold' | 'note' | 'some' | 'known'>
}

/**
 * Queue of snapshots; the key is `<cluster id>/<snapshot id>`, so that pausing a cluster's work
 * after a restore of Steelyard also pauses its snapshots.
 */
export const snapshotQueue = 'snapshot'
/** Used instead of a cluster's id in the keys of Steelyard's own backups. */
export const installation = 'installation'
/** Queue of schedules; the key is the cluster's id. */
export const scheduleQueue = 'snapshot-schedule'

export const nowOf = ({ clock }: Pick<Platform, 'clock'>): Date => new Date(clock.now())

export const wakeSnapshot = (
  engine: Pick<Engine, 'wake'>,
  tx: Tx,
  { id, cluster_id }: { id: string; cluster_id: string | null },
): Promise<void> => engine.wake(tx, snapshotQueue, `${cluster_id ?? installation}/${id}`)

/** Events of backups go to admins only. */
export const scopeOf = ({ cluster_id }: { cluster_id: string | null }) =>
  cluster_id === null ? { scope: 'users:manage' } : {}

interface Beginning {
  /** Default: a new id. */
  readonly id?: string
  /** null: a backup of Steelyard itself. */
  readonly cluster: { readonly id: string; readonly name: string } | null
  readonly storeId: string
  readonly madeBy: 'request' | 'schedule' | 'import'
  /** The file in the store to import. */
  readonly source?: string
  /** What the snapshot is taken for. */
  readonly purpose?: string | undefined
  /** Default: the caller. */
  readonly createdBy?: string | null | undefined
}

/** Begins a snapshot in the caller's transaction. @throws Problem not_found for the store */
export async function begin(
  parts: SnapshotParts,
  tx: Tx,
  caller: Caller,
  {
    id = randomUUID(),
    cluster,
    storeId,
    madeBy,
    source,
    purpose,
    createdBy = callerName(caller),
  }: Beginning,
): Promise<store.SnapshotRow> {
  await parts.stores.hold(tx, storeId)
  const at = nowOf(parts)
  const row = await store.insert(tx, {
    id,
    cluster_id: cluster?.id ?? null,
    cluster_name: cluster?.name ?? null,
    store_id: storeId,
    object_key: `${cluster === null ? installation : `clusters/${cluster.id}`}/${id}`,
    source_key: source ?? null,
    made_by: madeBy,
    created_by: createdBy,
    purpose: purpose ?? null,
    created_at: at,
    updated_at: at,
  })
  await parts.tell(tx, caller, {
    name: 'snapshot.created',
    object: { kind: 'snapshot', id },
    version: row.version,
    ...scopeOf(row),
  })
  await wakeSnapshot(parts.engine, tx, row)
  return row
}
