/**
 * Names the causes of findings that are judged by themselves: what a silent or broken server, or a
 * full etcd, takes from its cluster. A pure function. A cause is named only if it is open itself, so
 * that a finding whose cause nobody knows keeps standing alone.
 */
import type { FindingKind } from '#contract/findings/kinds.ts'
import { type Judged, keyOf, refTo } from './judged.ts'

/** Findings that cause each other in a row. */
const longestChain = 4

/** Kinds about a server whose node, etcd or API server may be lacking for that reason. */
const ofServer: readonly FindingKind[] = [
  'server_unreachable',
  'server_failed',
  'server_etcd_failed',
  'server_disk_missing',
  'server_not_ready',
]
/**
 * What causes a finding about a cluster, the likeliest first. `servers`: findings about its servers,
 * or about its control planes only. `cluster`: others about the cluster. A full etcd refuses the
 * leases by which nodes and components say that they live.
 */
const causes: Readonly<
  Partial<
    Record<
      FindingKind,
      {
        readonly servers?: 'all' | 'control planes'
        readonly cluster?: readonly FindingKind[]
      }
    >
  >
> = {
  cluster_api_down: { servers: 'control planes', cluster: ['cluster_etcd_full'] },
  cluster_api_server_down: { servers: 'control planes', cluster: ['cluster_etcd_full'] },
  cluster_components_down: { servers: 'control planes', cluster: ['cluster_etcd_full'] },
  cluster_etcd_member_ill: { servers: 'control planes' },
  cluster_nodes_not_ready: {
    servers: 'all',
    cluster: ['cluster_quorum_lost', 'cluster_api_down', 'cluster_etcd_full'],
  },
  cluster_action_fails: { cluster: ['cluster_quorum_lost', 'cluster_api_down'] },
}

/** The oldest of the first kind that is there. */
function first(all: readonly Judged[], kinds: readonly FindingKind[]): Judged | undefined {
  for (const kind of kinds) {
    const some = all.filter((one) => one.kind === kind)
    if (some.length > 0)
      return some.reduce((a, b) =>
        (b.since?.getTime() ?? Infinity) < (a.since?.getTime() ?? Infinity) ? b : a,
      )
  }
  return undefined
}

interface Around {
  /** The findings of silent servers, by the server's id; of those that fell silent together, theirs. */
  readonly silent: ReadonlyMap<string, Judged>
  /** Ids of control planes, by the cluster. */
  readonly controlPlanes: ReadonlyMap<string, ReadonlySet<string>>
  /** The silent servers, by the cluster. */
  readonly silentIn: ReadonlyMap<string | null, readonly { readonly id: string }[]>
}

/** The same findings, each with its cause. Linear: only findings of one cluster are compared. */
export function withCauses(all: readonly Judged[], around: Around): Judged[] {
  const byCluster = Map.groupBy(all, ({ cluster }) => cluster?.id ?? null)
  const causeOf = (one: Judged): Judged | undefined => {
    // What a silent server lacks was seen before, and is part of its silence.
    if (one.kind === 'server_disk_missing' || one.kind === 'server_etcd_failed')
      return around.silent.get(one.object.id)
    const of = causes[one.kind]
    if (of === undefined) return undefined
    const { id } = one.object
    const beside = (byCluster.get(id) ?? []).filter((other) => other !== one)
    const members = around.controlPlanes.get(id)
    const counts = (serverId: string) =>
      of.servers === 'all' || (of.servers !== undefined && (members?.has(serverId) ?? false))
    const servers = [
      ...(around.silentIn.get(id) ?? [])
        .filter((server) => counts(server.id))
        .flatMap((server) => around.silent.get(server.id) ?? []),
      ...beside.filter((other) => other.object.kind === 'server' && counts(other.object.id)),
    ]
    return first(servers, ['datacenter_silent', ...ofServer]) ?? first(beside, of.cluster ?? [])
  }
  return all.map((one) => {
    if (one.causedBy !== undefined) return one
    const cause = causeOf(one)
    return cause === undefined || cause === one ? one : { ...one, causedBy: refTo(cause) }
  })
}

/** Causes come before what they cause, so that these can name them. */
export function causesFirst(all: readonly Judged[]): Judged[] {
  const byKey = new Map(all.map((one) => [keyOf({ ...one, objectId: one.object.id }), one]))
  const depthOf = ({ causedBy }: Judged, most: number): number => {
    const cause = causedBy === undefined || most === 0 ? undefined : byKey.get(keyOf(causedBy))
    return cause === undefined ? 0 : 1 + depthOf(cause, most - 1)
  }
  return all
    .map((one) => ({ one, depth: depthOf(one, longestChain) }))
    .toSorted((a, b) => a.depth - b.depth)
    .map(({ one }) => one)
}
