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
}

const upgrades = { talos: 'upgradeTalos', kubernetes: 'upgradeKubernetes' } as const satisfies Record<string, ShownKind>

/** The server to preselect in the form of a change, if there is only one. */
const onlyOne = (found: readonly { readonly node_id: string | null }[]): string | undefined =>
  found.length === 1 ? (found[0]!.node_id ?? undefined) : undefined

/** A topic's actions while it isn't OK: the changes that solve the problem, then the servers concerned. */
export function healthActions(cluster: Cluster, { lines, etcd, kubernetes_api, nodes, drift, versions }: ClusterHealth, topic: HealthTopic): Action[] {
  const state = lines.find((line) => line.topic === topic)?.state
  if (state === undefined || state === 'ok') return []
  const kinds = remedies[topic]?.[state] ?? []
  /** The changes with the server preselected, then the pages of the servers. */
  const about = (found: readonly { readonly node_id: string | null; readonly name: string }[]): Action[] => [
    ...changeActions(cluster, kinds, onlyOne(found)),
    ...servers(found),
  ]
  switch (topic) {
    case 'etcd':
      return about(etcd.members.filter((m) => m.healthy !== true))
    case 'kubernetes_api':
      return about(kubernetes_api.filter((one) => !one.ready))
    case 'nodes':
      return about(nodes.filter((n) => n.ready !== true || n.schedulable === false))
    case 'configuration':
      return about(drift)
    case 'talos':
    case 'kubernetes': {
      const { next, after } = versions[topic]
      const can = next !== null ? topic : after !== null && versions[after].next !== null ? after : null
      return can === null ? [] : changeActions(cluster, [upgrades[can]])
    }
    case 'snapshot':
      return [...changeActions(cluster, kinds), { label: 'Snapshots', icon: 'arrow-right', to: paths.cluster(cluster.id, 'snapshots') }]
    default:
      return changeActions(cluster, kinds)
  }
}
