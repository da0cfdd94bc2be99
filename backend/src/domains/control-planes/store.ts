/** SQL for claims: one control plane of a cluster at a time is sent something. */
import { sql } from 'kysely'
import type { Db } from '../../db/db.ts'

interface Claim {
  readonly clusterId: string
  readonly nodeId: string
}

/** False: another control plane of the cluster is claimed. */
export async function claim(
  db: Db,
  { clusterId, nodeId }: Claim,
  now: Date,
  until: Date,
): Promise<boolean> {
  const taken = await db
    .insertInto('control_plane_claim')
    .values({ cluster_id: clusterId, node_id: nodeId, until })
    .onConflict((conflict) =>
      conflict
        .column('cluster_id')
        .doUpdateSet({ node_id: nodeId, until })
        .where((e) =>
          e.or([
            e('control_plane_claim.node_id', '=', nodeId),
            e('control_plane_claim.until', '<', now),
          ]),
        ),
    )
    .returning(sql<string>`cluster_id`.as('id'))
    .executeTakeFirst()
  return taken !== undefined
}

export const release = (db: Db, { clusterId, nodeId }: Claim) =>
  db
    .deleteFrom('control_plane_claim')
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)
    .execute()
