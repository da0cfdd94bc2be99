/** Upgrades that stopped half way, from the steps of their operations. */
import type { StoppedUpgrade } from './api.ts'
import type { Found } from './store.ts'

/** The step after which a server has the new version, by its key without the server. */
const arrived = { clusterUpgradeTalos: 'upgrade', clusterUpgradeKubernetes: 'kubelet' } as const

const versionIn = (given: unknown): string | null => {
  const { change } = (given ?? {}) as { change?: { version?: unknown } | null }
  return typeof change?.version === 'string' ? change.version : null
}

export function stoppedUpgrade({ row, steps }: Found): StoppedUpgrade[] {
  const { kind, status, target_id, ended_at } = row
  if (kind !== 'clusterUpgradeTalos' && kind !== 'clusterUpgradeKubernetes') return []
  if (status !== 'failed' && status !== 'cancelled') return []
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
      status,
      version: versionIn(row.arguments),
      reason: row.reason,
      ended_at,
      servers: { done, of: turns.length },
    },
  ]
}
