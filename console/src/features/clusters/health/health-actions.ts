/** Actions of the lines of a cluster's health. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { ClusterHealth } from '#contract/clusters/health.ts'
import { paths } from '../../../lib/paths.ts'
import type { Action } from '../../../ui/actions.ts'
import { remedyActions } from '../change/change-actions.ts'

type Line = ClusterHealth['lines'][number]

/** Links to at most two of the servers concerned, so that the line stays short. */
const servers = (
  found: readonly { readonly node_id: string | null; readonly name: string }[],
): Action[] =>
  found
    .flatMap(({ node_id, name }): Action[] =>
      node_id === null
        ? []
        : [{ label: `Open ${name}`, icon: 'arrow-right', to: paths.server(node_id) }],
    )
    .slice(0, 2)

/**
 * A topic's actions while it isn't OK: the changes that settle the problem, then the servers
 * concerned.
 */
export function healthActions(
  cluster: Cluster,
  { etcd, kubernetes_api, nodes, drift }: ClusterHealth,
  { topic, state, remedies }: Line,
): Action[] {
  if (state === 'ok') return []
  return [...remedyActions(cluster, remedies), ...about()]

  function about(): Action[] {
    // A silent control plane is the cause if others have no leader or can't serve Kubernetes.
    const silent = new Set(etcd.members.filter((m) => m.healthy === null).map((m) => m.node_id))
    const silentFirst = <T extends { readonly node_id: string | null }>(found: readonly T[]): T[] =>
      found.toSorted((a, b) => Number(silent.has(b.node_id)) - Number(silent.has(a.node_id)))
    switch (topic) {
      case 'etcd':
        return servers(silentFirst(etcd.members.filter((m) => m.healthy !== true)))
      case 'kubernetes_api':
        return servers(silentFirst(kubernetes_api.filter((one) => !one.ready)))
      case 'nodes':
        // While the Kubernetes API doesn't answer, every node is unknown and none is the cause.
        return servers(nodes.filter((n) => n.ready === false || n.schedulable === false))
      case 'configuration':
        return servers(drift)
      case 'snapshot':
        return [
          { label: 'Snapshots', icon: 'arrow-right', to: paths.cluster(cluster.id, 'snapshots') },
        ]
      default:
        return []
    }
  }
}
