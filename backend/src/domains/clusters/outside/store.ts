/** SQL for outside changes to machines of clusters. */
import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'

type On = Db | Tx
export type ConfigRow = Pick<Selectable<Tables['cluster_server_config']>, 'generation' | 'sealed' | 'created_at' | 'held_at'>

const configsOf = (on: On, clusterId: string, nodeId: string) =>
  on
    .selectFrom('cluster_server_config')
    .select(['generation', 'sealed', 'created_at', 'held_at'])
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)

/** The newest two configurations that the machine is known to have held. */
export const heldConfigs = (on: On, clusterId: string, nodeId: string): Promise<ConfigRow[]> =>
  configsOf(on, clusterId, nodeId).where('held_at', 'is not', null).orderBy('generation', 'desc').limit(2).execute()

/** The configuration of the installation. */
export const firstConfig = (on: On, clusterId: string, nodeId: string): Promise<ConfigRow | undefined> =>
  configsOf(on, clusterId, nodeId).orderBy('generation').limit(1).executeTakeFirst()

export const newestConfig = (on: On, clusterId: string, nodeId: string): Promise<ConfigRow | undefined> =>
  configsOf(on, clusterId, nodeId).orderBy('generation', 'desc').limit(1).executeTakeFirst()

export const holdConfig = (tx: Tx, clusterId: string, nodeId: string, generation: number, at: Date) =>
  tx
    .updateTable('cluster_server_config')
    .set({ held_at: sql<Date>`coalesce(held_at, ${at})` })
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)
    .where('generation', '=', generation)
    .execute()

export const base = (on: On, clusterId: string, nodeId: string) =>
  on.selectFrom('cluster_server_base').select(['sealed']).where('cluster_id', '=', clusterId).where('node_id', '=', nodeId).executeTakeFirst()

export const putBase = (tx: Tx, row: { cluster_id: string; node_id: string; sealed: Uint8Array; created_at: Date }) =>
  tx
    .insertInto('cluster_server_base')
    .values(row)
    .onConflict((c) => c.columns(['cluster_id', 'node_id']).doUpdateSet({ sealed: row.sealed, created_at: row.created_at }))
    .execute()
