/** Actions of the lines of a cluster's health. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { ClusterHealth, HealthState, HealthTopic } from '#contract/clusters/health.ts'
import { paths } from '../../../lib/paths.ts'
import type { Action } from '../../../ui/actions.ts'
import { changeActions } from '../change/change-actions.ts'
import type { ShownKind } from '../change/change-kinds.ts'

/** Links to at most two of the servers concerned, so that the line stays short. */
const servers = (found: readonly { readonly node_id: string | null; readonly name: string }[]): Action[] =>
  found
    .flatMap(({ node_id, name }): Action[] => (node_id === null ? [] : [{ label: `Open ${name}`, icon: 'arrow-right', to: paths.server(node_id) }]))
    .slice(0, 2)

/** The changes that solve the problem of a line. */
const remedies: Readonly<Partial<Record<HealthTopic, Readonly<Partial<Record<HealthState, readonly ShownKind[]>>>>>> = {
  etcd: { attention: ['grow'], problem: ['replace'], unknown: ['replace'] },
  database: { attention: ['defragment'], problem: ['defragment'] },
  kubernetes_api: { problem: ['replace'] },
  nodes: { problem: ['replace'] },
  snapshot: { attention: ['snapshot'], problem: ['snapshot'] },
  talos: { attention: ['upgradeTalos'] },
  kubernetes: { attention: ['upgradeKubernetes'] },
}

/** A topic's actions while it isn't OK: the changes that solve the problem, then the servers concerned. */
export function healthActions(cluster: Cluster, { lines, etcd, kubernetes_api, nodes, drift, versions }: ClusterHealth, topic: HealthTopic): Action[] {
  const state = lines.find((line) => line.topic === topic)?.state
  if (state === undefined || state === 'ok') return []
  const changes = changeActions(cluster, remedies[topic]?.[state] ?? [])
  switch (topic) {
    case 'etcd':
      return [...changes, ...servers(etcd.members.filter((m) => m.healthy !== true))]
    case 'kubernetes_api':
      return [...changes, ...servers(kubernetes_api.filter((one) => !one.ready))]
    case 'nodes':
      return [...changes, ...servers(nodes.filter((n) => n.ready !== true || n.schedulable === false))]
    case 'configuration':
      return [...changes, ...servers(drift)]
    case 'talos':
    case 'kubernetes':
      return versions[topic].next === null ? [] : changes
    case 'snapshot':
      return [...changes, { label: 'Snapshots', icon: 'arrow-right', to: paths.cluster(cluster.id, 'snapshots') }]
    default:
      return changes
  }
}
