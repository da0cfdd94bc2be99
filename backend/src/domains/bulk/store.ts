/** SQL for the servers of acts on many. */
import type { Db, Tx } from '../../db/db.ts'

export interface ItemRow {
  readonly server_id: string
  readonly version: number
  readonly cluster_id: string | null
  /** Of the draft that is committed; null if there is none. */
  readonly commitment_version: number | null
  /**
   * The operation on the server, or the act itself if there is nothing to follow; null before it was
   * begun.
   */
  readonly begun_id: string | null
}

export const insertItems = (
  tx: Tx,
  operation_id: string,
  items: readonly Omit<ItemRow, 'begun_id'>[],
) =>
  tx
    .insertInto('server_bulk_item')
    .values(items.map((one, position) => ({ ...one, operation_id, position })))
    .execute()

/** In the order of carrying out. */
export const itemsOf = (on: Db | Tx, operationId: string): Promise<ItemRow[]> =>
  on
    .selectFrom('server_bulk_item')
    .select(['server_id', 'version', 'cluster_id', 'commitment_version', 'begun_id'])
    .where('operation_id', '=', operationId)
    .orderBy('position')
    .execute()

/** Records the operation on a server. False if one was recorded before. */
export async function noteBegun(
  tx: Tx,
  operationId: string,
  serverId: string,
  begun_id: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('server_bulk_item')
    .set({ begun_id })
    .where('operation_id', '=', operationId)
    .where('server_id', '=', serverId)
    .where('begun_id', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
