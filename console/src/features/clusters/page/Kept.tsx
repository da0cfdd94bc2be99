import type { Cluster } from '#contract/clusters/clusters.ts'
import { keptOf } from '#contract/clusters/existing.ts'
import { keptSentences } from '#contract/clusters/foreign-sentences.ts'
import { clusterKeyReplace } from '#contract/clusters/takeover.ts'
import { call } from '../../../api/client.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { allowed } from '../../../api/session.ts'
import { type Action, confirm } from '../../../ui/actions.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'

const replaceKey = (c: Cluster, address: string | null): Action => ({
  label: 'Replace cluster key',
  icon: 'key',
  danger: true,
  can: allowed(clusterKeyReplace),
  run: () =>
    confirm({
      title: `Replace the key of ${c.name}?`,
      label: 'Replace key',
      text: `The key ${address ?? 'in the cluster'} is deleted, and Steelyard makes one of its own. The offers that use it, also those of another Steelyard, can't be proved any more.`,
      danger: true,
      typed: c.name,
      act: async () => {
        await call(clusterKeyReplace, { params: { id: c.id }, body: { address, confirm: c.name } })
        await refreshClusters()
      },
    }),
})

/** Says that the cluster's own key was kept at its takeover, and replaces it. */
export function KeptKey({ cluster: c }: { cluster: Cluster }) {
  const kept = keptOf(c, 'cluster_key')
  if (kept === null) return null
  return (
    <Alert tone="warn">
      <div className="stack stack2">
        <p>{keptSentences.cluster_key(kept)}</p>
        <div className="row wrap">
          <ActionButton {...replaceKey(c, kept.address)} size="small" />
        </div>
      </div>
    </Alert>
  )
}

/** Says that the role binding in the cluster, which was kept, gives operators no access. */
export function KeptBinding({ cluster: c }: { cluster: Cluster }) {
  const kept = keptOf(c, 'operator_binding')
  return kept && <Alert tone="warn">{keptSentences.operator_binding(kept)}</Alert>
}
