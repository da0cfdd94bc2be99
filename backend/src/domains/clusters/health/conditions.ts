/** What findings about clusters are judged from: stored values of all clusters, in a few queries. */
import { lockedOutSentences } from '#contract/clusters/foreign-sentences.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ClusterCondition } from '../api.ts'
import type { CoreParts } from '../parts.ts'
import { failingActions } from '../troubles.ts'
import * as store from './store.ts'

export async function clusterConditions(
  { engine }: Pick<CoreParts, 'engine'>,
  on: Db | Tx,
): Promise<ClusterCondition[]> {
  const rows = await store.standing(on)
  if (rows.length === 0) return []
  const controlPlanes = Map.groupBy(await store.etcdMembers(on), (m) => m.cluster_id)
  const held = new Map((await store.held(on)).map(({ id, ...restored }) => [id, restored]))
  const troubles = Map.groupBy(await failingActions(on, { engine }), (f) => f.id)
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    datacenter: { id: row.datacenter_id, code: row.datacenter_code },
    status: row.status,
    reason: row.reason,
    ready_at: row.ready_at,
    talos_version: row.talos_version,
    kubernetes_version: row.kubernetes_version,
    operation_id: row.operation_id,
    problem:
      row.status === 'ready' && row.problem !== null && row.problem_since !== null
        ? { kind: row.problem, since: row.problem_since }
        : null,
    shown: { finding: row.finding, upgrade: row.upgrade },
    observed: row.observed,
    locked_out:
      row.locked_out === null
        ? null
        : { reason: lockedOutSentences[row.locked_out], since: row.locked_out_since },
    held: held.get(row.id) ?? null,
    certificates: row.certificates_ending ?? [],
    troubles: (troubles.get(row.id) ?? []).map((t) => t.trouble.message),
    control_planes: (controlPlanes.get(row.id) ?? []).map((m) => m.node_id),
  }))
}
