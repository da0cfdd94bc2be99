/** Actions of the lines of a cluster's health. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { ClusterHealth } from '#contract/clusters/health.ts'
import { paths } from '../../../lib/paths.ts'
import type { Action } from '../../../ui/actions.ts'
import { remedyActions } from '../change/change-actions.ts'

type Line = ClusterHealth['lines'][number]

/** Links to at most two of the servers concerned, so that the line stays short. */
const servers = (found: readonly { readonly node_id: string | null; readonly name: string }[]): Action[] =>
  found
    .flatMap(({ node_id, name }): Action[] => (node_id === null ? [] : [{ label: `Open ${name}`, icon: 'arrow-right', to: paths.server(node_id) }]))
    .slice(0, 2)

/** A topic's actions while it isn't OK: the changes that settle the problem, then the servers concerned. */
export function healthActions(cluster: Cluster, { etcd, kubernetes_api, nodes, drift }: ClusterHealth, { topic, state, remedies }: Line): Action[] {
  if (state === 'ok') return []
  return [...remedyActions(cluster, remedies), ...about()]

  function about(): Action[] {
    switch (topic) {
      case 'etcd':
        return servers(etcd.members.filter((m) => m.healthy !== true))
      case 'kubernetes_api':
        return servers(kubernetes_api.filter((one) => !one.ready))
      case 'nodes':
        return servers(nodes.filter((n) => n.ready !== true || n.schedulable === false))
      case 'configuration':
        return servers(drift)
      case 'snapshot':
        return [{ label: 'Snapshots', icon: 'arrow-right', to: paths.cluster(cluster.id, 'snapshots') }]
      default:
        return []
    }
  }
}
