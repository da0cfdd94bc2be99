/** SQL for upgrades of Talos: the target of each server, and its progress. */
import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'

export type TargetRow = Selectable<Tables['talos_upgrade']>

/** The target of a server; that of an earlier pass of the operation is replaced. */
export const put = (tx: Tx, row: Insertable<Tables['talos_upgrade']>) =>
  tx
    .insertInto('talos_upgrade')
    .values(row)
    .onConflict((c) =>
      c.columns(['operation_id', 'node_id']).doUpdateSet({
        ...row,
        round: 0,
        boot_id: null,
        written_at: null,
        intent_at: null,
        sent_at: null,
        followed_at: null,
      }),
    )
    .execute()

export const get = (
  on: Db | Tx,
  operationId: string,
  nodeId: string,
): Promise<TargetRow | undefined> =>
  on
    .selectFrom('talos_upgrade')
    .selectAll()
    .where('operation_id', '=', operationId)
    .where('node_id', '=', nodeId)
    .executeTakeFirst()

export const ofOperation = (on: Db | Tx, operationId: string): Promise<TargetRow[]> =>
  on.selectFrom('talos_upgrade').selectAll().where('operation_id', '=', operationId).execute()

/** The newest upgrade or rollback that was sent to the server. */
export const lastSent = (on: Db | Tx, nodeId: string): Promise<TargetRow | undefined> =>
  on
    .selectFrom('talos_upgrade')
    .selectAll()
    .where('node_id', '=', nodeId)
    .where('sent_at', 'is not', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()

export const update = (
  tx: Tx,
  { operation_id, node_id }: Pick<TargetRow, 'operation_id' | 'node_id'>,
  change: Updateable<Tables['talos_upgrade']>,
) =>
  tx
    .updateTable('talos_upgrade')
    .set(change)
    .where('operation_id', '=', operation_id)
    .where('node_id', '=', node_id)
    .execute()
