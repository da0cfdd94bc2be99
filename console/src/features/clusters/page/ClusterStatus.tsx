import type { Cluster } from '#contract/clusters/clusters.ts'
import { paths } from '../../../lib/paths.ts'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { clusterState, serversState } from '../cluster-state.ts'

/** The word of the cluster, and beside it how many of its servers are not well. */
export function ClusterStatus({ cluster }: { cluster: Cluster }) {
  const { tone, word } = clusterState(cluster)
  const servers = serversState(cluster)
  return (
    <>
      <StatusDot tone={tone}>{word}</StatusDot>
      {servers !== null && (
        <StatusDot tone={servers.tone} whole>
          <a href={paths.cluster(cluster.id, 'servers')}>
            <b className="num">{servers.count}</b> {servers.of}
          </a>
        </StatusDot>
      )}
    </>
  )
}
