/** Upgrades that stopped half way or wait, from the steps of their operations. */
import type { StoppedUpgrade } from './api.ts'
import { arrived } from './store-judged.ts'
import type { Found, OperationRow } from './store.ts'

export function stoppedUpgrade({
  row,
  steps,
}: Found<OperationRow & { readonly to_version: string | null }>): StoppedUpgrade[] {
  const { kind, status, target_id } = row
  if (kind !== 'clusterUpgradeTalos' && kind !== 'clusterUpgradeKubernetes') return []
  const waits = steps.find((s) => s.status === 'waiting')
  const isOver = status === 'failed' || status === 'cancelled'
  const ended_at = isOver ? row.ended_at : (waits?.started_at ?? null)
  if (target_id === null || ended_at === null) return []
  const turns = steps.filter((s) => s.node_id !== null && s.key.split('/')[0] === arrived[kind])
  const done = turns.filter((s) => s.status === 'done').length
  // A cancelled upgrade that has changed no server, or all, has left nothing half way.
  if (status === 'cancelled' && (done === 0 || done === turns.length)) return []
  return [
    {
      operation_id: row.id,
      cluster_id: target_id,
      kind,
      status: isOver ? status : 'waiting',
      version: row.to_version,
      reason: isOver ? row.reason : (waits?.reason ?? row.reason),
      ended_at,
      servers: { done, of: turns.length },
      left: turns.flatMap((s) => (s.status === 'done' ? [] : s.node_id!)),
    },
  ]
}
