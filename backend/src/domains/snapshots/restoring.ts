/** What changes of clusters use: snapshots on request, and the content of one for a restore. */
import { storeOf } from '#contract/clusters/changes/snapshot-first.ts'
import { Problem } from '#contract/errors.ts'
import { unsealWithKey } from '../../backup/key-sealed.ts'
import type { Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Snapshots } from './api.ts'
import { begin, nowOf, type SnapshotParts, wakeSnapshot } from './parts.ts'
import * as store from './store.ts'
import { readWhole } from './taking.ts'

export function restoring(
  parts: SnapshotParts,
): Omit<Snapshots, 'last' | 'clusterRemoved' | 'scheduleOf' | 'firstSchedule' | 'storeName'> {
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
    find: store.find,
    wasRemoved: store.wasRemoved,

    async hold(tx, id) {
      if ((await store.lock(tx, id))?.status !== 'ready')
        throw new Problem(
          'transition_refused',
          'The snapshot has been removed or is damaged: choose another one',
        )
    },

    async storeFor(on, clusterId, given) {
      const id = given ?? (await store.schedule(on, clusterId))?.store_id
      if (id === undefined) return storeOf(undefined, await stores.some(on))
      const planned = await stores.known(on, id)
      if (planned === undefined) return { ok: false, reason: `There is no store ${id}` }
      return storeOf(planned, [])
    },

    async begin(tx, caller, given) {
      await begin(parts, tx, caller, { ...given, madeBy: 'request' })
    },

    async again(tx, id) {
      const row = await store.lock(tx, id)
      if (row?.status === 'failed')
        await change(tx, row, { status: 'taking', reason: null, attempts: 0, waits: 0 })
    },

    async cancel(tx, id) {
      const row = await store.lock(tx, id)
      if (row?.status === 'taking') await change(tx, row, { status: 'removing' })
    },

    identityOf: store.identityOf,

    check: async (row, signal) => readWhole(parts, await stores.open(row.store_id), row, signal),

    read: async (row, signal) =>
      unsealWithKey(vault, row.id, (await stores.open(row.store_id)).get(row.object_key, signal)),
  }
}
