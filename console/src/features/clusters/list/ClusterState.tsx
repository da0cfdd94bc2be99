import type { Cluster } from '#contract/clusters/clusters.ts'
import { StatusDot, StatusReason } from '../../../ui/feedback/Status.tsx'
import { clusterState, serversState } from '../cluster-state.ts'

/** The word of a cluster, its servers that are not well, and the sentence. */
export function ClusterState({ cluster }: { cluster: Cluster }) {
  const { tone, word, why } = clusterState(cluster)
  const servers = serversState(cluster)
  return (
    <StatusReason
      tone={tone}
      word={word}
      why={
        servers === null ? (
          why
        ) : (
          <>
            <StatusDot tone={servers.tone}>
              {servers.count} {servers.of}
            </StatusDot>
            {why !== null && ` ${why}`}
          </>
        )
      }
    />
  )
}
