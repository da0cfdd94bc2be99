/**
 * What a running operation explains: a server that a step restarts is silent for a while, and its
 * cluster lacks it. Everything else that fails meanwhile, also in a maintenance window, is told.
 */
import type { FindingKind } from '#contract/findings/kinds.ts'
import type { StandingFinding } from '../findings/api.ts'

/** A server comes back within this time after the end of a step, in ms. */
const afterMs = 5 * 60_000
/** Steps that ended after this time still explain. */
export const afterSteps = (now: Date): Date => new Date(now.getTime() - afterMs)

const ofServer: ReadonlySet<FindingKind> = new Set(['server_unreachable', 'server_not_ready'])
/** What a cluster lacks while a server restarts; with one control plane, its API and etcd too. */
const ofCluster: ReadonlySet<FindingKind> = new Set([
  'cluster_nodes_not_ready',
  'cluster_components_down',
  'cluster_api_down',
  'cluster_quorum_lost',
])

/**
 * @param touched servers on which operations work, and since when
 * @param standing every open finding
 */
export function explainedBy(
  touched: readonly { readonly server_id: string; readonly since: Date }[],
  standing: readonly StandingFinding[],
): (finding: StandingFinding) => boolean {
  const since = new Map(touched.map((one) => [one.server_id, one.since]))
  const isServer = ({ kind, object, since: began }: StandingFinding): boolean => {
    const from = since.get(object.id)
    return ofServer.has(kind) && from !== undefined && Date.parse(began) >= from.getTime()
  }
  const open = standing.filter((one) => one.ended_at === null)
  return (finding) => {
    if (isServer(finding)) return true
    if (!ofCluster.has(finding.kind)) return false
    const isUnwell = (one: StandingFinding) =>
      (one.object.kind === 'server' &&
        one.cluster?.id === finding.object.id &&
        one.severity !== 'attention') ||
      (one.kind === 'datacenter_silent' && one.datacenter?.id === finding.datacenter?.id)
    const unwell = open.filter(isUnwell)
    return unwell.length > 0 && unwell.every(isServer)
  }
}
