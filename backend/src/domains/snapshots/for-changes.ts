/**
 * The interface for changes of clusters: snapshots on request, and the content of a snapshot for a
 * restore.
 */
import { Problem } from '#contract/errors.ts'
import type { EtcdFile } from '../../backup/etcd-file.ts'
import { unsealWithKey } from '../../backup/key-sealed.ts'
import type { Db, Tx } from '../../db/db.ts'
import { type Caller, system } from '../../http/caller.ts'
import { begin, nowOf, type SnapshotParts, wakeSnapshot } from './parts.ts'
import * as store from './store.ts'
import { readWhole } from './taking.ts'

export const forChanges = (parts: SnapshotParts) => {
  const { stores, engine, vault } = parts
  const change = async (
    tx: Tx,
    row: store.SnapshotRow,
    columns: Parameters<typeof store.update>[2],
  ): Promise<void> => {
    const { version } = await store.update(tx, row.id, { ...columns, updated_at: nowOf(parts) })
    await parts.tell(tx, system, {
      name: 'snapshot.updated',
      object: { kind: 'snapshot', id: row.id },
      version,
    })
    await wakeSnapshot(engine, tx, row)
  }
  return {
    find: (on: Db | Tx, id: string): Promise<store.SnapshotRow | undefined> => store.find(on, id),

    /**
     * Locks a snapshot that is about to be restored, so that nobody removes it. @throws Problem
     * transition_refused if it can't be used
     */
    async hold(tx: Tx, id: string): Promise<void> {
      if ((await store.lock(tx, id))?.status !== 'ready')
        throw new Problem(
          'transition_refused',
          'The snapshot has been removed or is damaged: choose another one',
        )
    },

    /**
     * The store for a snapshot on request, with its name: the given one, that of the schedule, or
     * the only one. @throws Problem not_found, transition_refused
     */
    async storeFor(
      on: Db | Tx,
      clusterId: string,
      given: string | undefined,
    ): Promise<{ id: string; name: string }> {
      const planned = given ?? (await store.schedule(on, clusterId))?.store_id
      const [id, another] = planned === undefined ? await stores.someIds(on) : [planned]
      if (id === undefined)
        throw new Problem(
          'transition_refused',
          'There is no store yet: an admin can add one, in the console or by steelyard store add',
        )
      if (another !== undefined)
        throw new Problem(
          'transition_refused',
          'Choose a store: there are several, and the cluster has no schedule',
        )
      const name = await stores.named(on, id)
      if (name === undefined) throw new Problem('not_found', `There is no store ${id}`)
      return { id, name }
    },

    /** Begins the snapshot with this id. */
    begin: (
      tx: Tx,
      caller: Caller,
      given: { id: string; cluster: { id: string; name: string }; storeId: string },
    ) => begin(parts, tx, caller, { ...given, madeBy: 'request' }),

    /** Takes a failed snapshot again. */
    async again(tx: Tx, id: string): Promise<void> {
      const row = await store.lock(tx, id)
      if (row?.status === 'failed')
        await change(tx, row, { status: 'taking', reason: null, attempts: 0 })
    },

    /** Cancels a snapshot that isn't ready. */
    async cancel(tx: Tx, id: string): Promise<void> {
      const row = await store.lock(tx, id)
      if (row?.status === 'taking') await change(tx, row, { status: 'removing' })
    },

    /**
     * The UID of the cluster's namespace kube-system, from its newest snapshot; null if unknown.
     */
    identityOf: (on: Db | Tx, clusterId: string): Promise<string | null> =>
      store.identityOf(on, clusterId),

    /** Reads the whole file and checks it. @throws StoreError, BackupRefused, SealBroken */
    check: async (row: store.SnapshotRow, signal: AbortSignal): Promise<EtcdFile> =>
      readWhole(parts, await stores.open(row.store_id), row, signal),

    /** The bytes of the snapshot, decrypted. @throws StoreError, BackupRefused, SealBroken */
    read: async (row: store.SnapshotRow, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> =>
      unsealWithKey(vault, row.id, (await stores.open(row.store_id)).get(row.object_key, signal)),
  }
}
