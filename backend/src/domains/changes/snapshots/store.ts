/** SQL for the recovery of a cluster from a snapshot. */
import { type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'

export type RecoveryRow = Selectable<Tables['cluster_recovery']>

/** Begins a recovery and replaces the record of an earlier one. */
export const begin = async (
  tx: Tx,
  row: { cluster_id: string; operation_id: string; snapshot_id: string },
): Promise<void> => {
  await tx.deleteFrom('cluster_recovery').where('cluster_id', '=', row.cluster_id).execute()
  await tx.insertInto('cluster_recovery').values(row).execute()
}

/** The recovery of this operation. */
export const recovery = (
  on: Db | Tx,
  clusterId: string,
  operationId: string,
): Promise<RecoveryRow> =>
  on
    .selectFrom('cluster_recovery')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('operation_id', '=', operationId)
    .executeTakeFirstOrThrow()

export const note = (tx: Tx, clusterId: string, change: Updateable<Tables['cluster_recovery']>) =>
  tx.updateTable('cluster_recovery').set(change).where('cluster_id', '=', clusterId).execute()

/** Records an order to start etcd before it is sent. */
export const noteCall = (
  tx: Tx,
  clusterId: string,
  order: Pick<RecoveryRow, 'called_at' | 'boot_id' | 'etcd_start'>,
) =>
  tx
    .updateTable('cluster_recovery')
    .set({ ...order, calls: sql<number>`calls + 1` })
    .where('cluster_id', '=', clusterId)
    .execute()

export const drop = (tx: Tx, clusterId: string) =>
  tx.deleteFrom('cluster_recovery').where('cluster_id', '=', clusterId).execute()
