/** What other domains may call of snapshots of clusters' etcd. */
import type { ChosenStore } from '#contract/clusters/changes/snapshot-first.ts'
import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import type { Snapshot, SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import type { EtcdFile } from '../../backup/etcd-file.ts'
import type { Columns } from '../../db/columns.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { KnownStore } from '../stores/api.ts'
import type { SnapshotCondition } from './store.ts'

export {
  backupCondition,
  isBusy,
  newestFile,
  problems,
  type SnapshotCondition,
  snapshotConditions,
  uses,
} from './store.ts'
export {
  backupsSaid,
  type BackupTrouble,
  backupTrouble,
  newestSaid,
  removedEarly,
  type SnapshotTrouble,
  snapshotTrouble,
  unscheduledSaid,
} from './trouble.ts'

type On = Db | Tx

/** A snapshot as it is stored. */
export interface StoredSnapshot {
  readonly id: string
  readonly cluster_id: string | null
  readonly cluster_name: string | null
  readonly made_by: Snapshot['made_by']
  readonly status: Snapshot['status']
  readonly reason: string | null
  /** The store and the key of its file there. */
  readonly store_id: string
  readonly object_key: string
  readonly sha256: string | null
  readonly taken_at: Date | null
  readonly etcd_version: string | null
  /** UID of the cluster's namespace kube-system; null if unknown. */
  readonly identity: string | null
  readonly encryption: Columns['snapshot.encryption'] | null
  readonly updated_at: Date
}

export interface Snapshots {
  /** Undefined if it was removed. */
  readonly find: (on: On, id: string) => Promise<StoredSnapshot | undefined>
  /** Whether there was a snapshot with this id, which is removed. */
  readonly wasRemoved: (on: On, id: string) => Promise<boolean>
  /** The newest snapshot that can be restored, and what is judged of the cluster's snapshots. */
  readonly last: (
    clusterId: string,
  ) => Promise<{ snapshot: Snapshot | null; condition: SnapshotCondition }>
  /** The schedule of a cluster; null if it has none. @throws Problem not_found for the cluster */
  readonly scheduleOf: (clusterId: string) => Promise<SnapshotSchedule | null>
  /**
   * Sets the schedule of a cluster in the transaction that creates it. @throws Problem not_found for
   * the store
   */
  readonly firstSchedule: (
    tx: Tx,
    caller: Caller,
    cluster: { readonly id: string; readonly name: string },
    wish: NewSnapshotSchedule,
  ) => Promise<void>
  /** The name of a store; null if there is no such store. */
  readonly storeName: (on: On, id: string) => Promise<string | null>
  /**
   * Locks a snapshot that is about to be restored, so that nobody removes it. @throws Problem
   * transition_refused if it can't be used
   */
  readonly hold: (tx: Tx, id: string) => Promise<void>
  /**
   * The store for a snapshot on request: the given one, that of the schedule, or the only one.
   */
  readonly storeFor: (
    on: On,
    clusterId: string,
    given: string | undefined,
  ) => Promise<ChosenStore<KnownStore>>
  /** Begins the snapshot with this id. @throws Problem not_found for the store */
  readonly begin: (
    tx: Tx,
    caller: Caller,
    given: {
      id: string
      cluster: { id: string; name: string }
      storeId: string
      purpose?: string
      createdBy?: string | null
    },
  ) => Promise<void>
  /** Takes a failed snapshot again. */
  readonly again: (tx: Tx, id: string) => Promise<void>
  /** Cancels a snapshot that isn't ready. */
  readonly cancel: (tx: Tx, id: string) => Promise<void>
  /**
   * The UID of the cluster's namespace kube-system, from its newest snapshot; null if unknown.
   */
  readonly identityOf: (on: On, clusterId: string) => Promise<string | null>
  /** Reads the whole file and checks it. @throws StoreError, BackupRefused, SealBroken */
  readonly check: (snapshot: StoredSnapshot, signal: AbortSignal) => Promise<EtcdFile>
  /** The bytes of the snapshot, decrypted. @throws StoreError, BackupRefused, SealBroken */
  readonly read: (
    snapshot: StoredSnapshot,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<Uint8Array>>
  /** Called in the transaction that removes a cluster. Its snapshots stay. */
  readonly clusterRemoved: (tx: Tx, clusterId: string) => Promise<void>
}
