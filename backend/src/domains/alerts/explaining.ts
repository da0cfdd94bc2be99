/**
 * What a running operation explains: a server that a step restarts is silent for a while, and its
 * cluster lacks it. Everything else that fails meanwhile, also in a maintenance window, is told.
 */
import type { FindingKind } from '#contract/findings/kinds.ts'
import type { ClusterCondition } from '../clusters/api.ts'
import type { StandingFinding } from '../incidents/api.ts'
import type { ServerCondition } from '../servers/api.ts'

/** A server comes back within this time after the end of a step, in ms. */
const afterMs = 5 * 60_000
/** Steps that ended after this time still explain. */
export const afterSteps = (now: Date): Date => new Date(now.getTime() - afterMs)

const ofServer: ReadonlySet<FindingKind> = new Set(['server_unreachable', 'server_not_ready'])
/** What a cluster lacks while a control plane restarts; if it is the only one, its API and etcd too. */
const ofControlPlanes: ReadonlySet<FindingKind> = new Set([
  'cluster_components_down',
  'cluster_api_server_down',
  'cluster_api_down',
  'cluster_quorum_lost',
])

/** A server on which an operation works, and since when. */
export interface Touched {
  readonly server_id: string
  readonly since: Date
}

/** The state of servers and clusters now. */
export interface Conditions {
  readonly servers: readonly Pick<
    ServerCondition,
    'id' | 'cluster' | 'talos' | 'kubernetes' | 'failure'
  >[]
  readonly clusters: readonly Pick<ClusterCondition, 'id' | 'control_planes' | 'observed'>[]
}

type Server = Conditions['servers'][number]

/** Since when a server is silent, and since when its node is not Ready. */
const lacks = ({ talos, kubernetes }: Server): (string | null)[] => [
  ...(talos.reachable === false ? [talos.unreachable_since] : []),
  ...(kubernetes?.ready === false ? [kubernetes.since] : []),
]

/**
 * A server that an operation restarts has no finding for its first 15 minutes, so what a cluster
 * lacks is explained from the state of its servers, and not only from their findings.
 * @param standing every open finding
 */
export function explainedBy(
  touched: readonly Touched[],
  standing: readonly StandingFinding[],
  conditions: Conditions,
): (finding: StandingFinding) => boolean {
  const since = new Map(touched.map((one) => [one.server_id, one.since.getTime()]))
  const isAfter = (id: string, began: string | null): boolean => {
    const from = since.get(id)
    return from !== undefined && (began === null || Date.parse(began) >= from)
  }
  const isServer = ({ kind, object, since: began }: StandingFinding): boolean =>
    ofServer.has(kind) && isAfter(object.id, began)
  const isExplained = (server: Server): boolean =>
    server.failure === null && lacks(server).every((began) => isAfter(server.id, began))
  const unwellIn = Map.groupBy(
    conditions.servers.filter((one) => one.failure !== null || lacks(one).length > 0),
    (one) => one.cluster?.id,
  )
  const found = standing.filter(
    ({ ended_at, object, severity }) =>
      ended_at === null && object.kind === 'server' && severity !== 'attention',
  )

  /** Whether the restart of a control plane is why the cluster lacks this. */
  const isOfControlPlane = (finding: StandingFinding, unwell: readonly Server[]): boolean => {
    const cluster = conditions.clusters.find((one) => one.id === finding.object.id)
    if (!cluster) return false
    const ill = cluster.observed?.api_servers.filter((one) => one.ill !== null) ?? []
    if (finding.kind === 'cluster_api_server_down' && ill.length > 0)
      return ill.every(({ node_id }) => node_id !== null && since.has(node_id))
    const all = cluster.control_planes
    const away = unwell.filter(({ id }) => all.includes(id)).length
    // Every control plane is asked for the API, and etcd bears the loss of fewer than half of them.
    const isOfWhole = finding.kind === 'cluster_api_down' || finding.kind === 'cluster_quorum_lost'
    if (away > 0 && (!isOfWhole || away * 2 >= all.length)) return true
    // The machine of the only control plane answers before its API server does.
    return (
      finding.kind === 'cluster_api_down' &&
      all.length > 0 &&
      all.every((id) => isAfter(id, finding.since))
    )
  }

  return (finding) => {
    if (isServer(finding)) return true
    const isOfAny = finding.kind === 'cluster_nodes_not_ready'
    if (!isOfAny && !ofControlPlanes.has(finding.kind)) return false
    const unwell = unwellIn.get(finding.object.id) ?? []
    if (!unwell.every(isExplained)) return false
    if (!found.filter((one) => one.cluster?.id === finding.object.id).every(isServer)) return false
    return isOfAny ? unwell.length > 0 : isOfControlPlane(finding, unwell)
  }
}
