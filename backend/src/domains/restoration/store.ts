/**
 * SQL for held objects. Reads tables of several domains, because a restore concerns all domains.
 */
import { sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'

/** The last restore; undefined after all objects that it put on hold were resumed. */
export const restored = (on: Db | Tx) =>
  on
    .selectFrom('restoration')
    .select(['backup_made_at', 'restored_at', 'missing'])
    .where((e) => e.exists(e.selectFrom('hold').select('subject')))
    .executeTakeFirst()

export const heldClusters = (on: Db | Tx) =>
  on
    .selectFrom('cluster')
    .select(['id', 'name'])
    .where('id', 'in', (e) => e.selectFrom('hold').select('hold.id').where('kind', '=', 'cluster'))
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()

export const clusterExists = async (on: Db | Tx, id: string): Promise<boolean> =>
  (await on
    .selectFrom('cluster')
    .select('id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()) !== undefined

export const serversOf = (on: Db | Tx, clusterId: string) =>
  on
    .selectFrom('server')
    .select(['name', 'reachable'])
    .where('cluster_id', '=', clusterId)
    .where('status', '<>', 'deleted')
    .orderBy('name')
    .execute()

/** The held cluster because of which an operation is held; undefined if there is none. */
export async function clusterOf(on: Db | Tx, operationId: string): Promise<string | undefined> {
  const row = await on
    .selectFrom('operation')
    .innerJoin('hold', (join) =>
      join.on(sql<boolean>`hold.subject::text = split_part(operation.queue_key, '/', 1)`),
    )
    .select('hold.id')
    .where('operation.id', '=', operationId)
    .where('hold.kind', '=', 'cluster')
    .executeTakeFirst()
  return row?.id
}
