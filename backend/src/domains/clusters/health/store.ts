/** SQL for what findings about clusters are judged from. */
import type { Db, Tx } from '../../../db/db.ts'
import type { Observed } from '../../../db/columns.ts'

type On = Db | Tx

/** The clusters that are not being deleted, with what findings are judged from. */
export const standing = (on: On) =>
  on
    .selectFrom('cluster')
    .innerJoin('datacenter', 'datacenter.id', 'cluster.datacenter_id')
    .select([
      'cluster.id',
      'cluster.name',
      'cluster.datacenter_id',
      'datacenter.code as datacenter_code',
      'cluster.status',
      'cluster.reason',
      'cluster.ready_at',
      'cluster.talos_version',
      'cluster.kubernetes_version',
      'cluster.operation_id',
      'cluster.finding',
      'cluster.observed',
      'cluster.upgrade',
      'cluster.problem',
      'cluster.problem_since',
      'cluster.locked_out',
      'cluster.locked_out_since',
      'cluster.certificates_ending',
    ])
    .where('cluster.deleted_at', 'is', null)
    .where('cluster.wanted', '=', 'ready')
    .$narrowType<{ datacenter_id: string }>()
    .execute()

/**
 * Stores what a cluster showed, without a new version: only findings read it. Its row is locked
 * first, as in every write of a reconciler.
 */
export const noteObserved = (tx: Tx, id: string, observed: Observed) =>
  tx
    .updateTable('cluster')
    .set({ observed: JSON.stringify(observed) })
    .where('id', '=', id)
    .where('wanted', '=', 'ready')
    .execute()

/** Control planes that have joined etcd and belong to their cluster, of all clusters. */
export const etcdMembers = (on: On) =>
  on
    .selectFrom('cluster_server')
    .select(['cluster_id', 'node_id'])
    .where('role', '=', 'control_plane')
    .where('wanted', '=', 'joined')
    .where('released_at', 'is', null)
    .where('etcd_at', 'is not', null)
    .execute()

/** The clusters that are held, and the restore since which they are. */
export const held = (on: On) =>
  on
    .selectFrom('hold')
    .innerJoin('restoration', (join) => join.onTrue())
    .select(['hold.id', 'restored_at', 'backup_made_at', 'missing'])
    .where('hold.kind', '=', 'cluster')
    .whereRef('hold.subject', '=', 'hold.id')
    .execute()
