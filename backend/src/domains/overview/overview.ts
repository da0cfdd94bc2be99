/** The first page's numbers, asked of the domains that know them. Parts that the caller may not read are empty. */
import type { Attention, Overview } from '#contract/overview.ts'
import type { UserCaller } from '../../http/caller.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Operations } from '../operations/operations.ts'

export interface ServerSummary {
  readonly servers: Overview['servers']
  /** Servers that are not as they should be. */
  readonly ailing: readonly Attention[]
  readonly capacity: readonly (Omit<Overview['capacity'][number], 'datacenter'> & { readonly datacenter_id: string | null })[]
}

export interface ClusterSummary {
  readonly counts: Overview['clusters']
  /** Clusters that are not as they should be, those that failed first. */
  readonly ailing: readonly Attention[]
}

export interface OverviewParts {
  readonly datacenters: Datacenters
  readonly operations: Operations
  readonly servers: () => Promise<ServerSummary>
  readonly clusters: () => Promise<ClusterSummary>
  /** The nearest to full first. */
  readonly subnets: (most: number) => Promise<Overview['subnets']>
  readonly dialsNowhere: boolean
}

const shown = 10
const shownSubnets = 5
const noServers: ServerSummary = {
  servers: { total: 0, maintenance: 0, ready: 0, reachable: 0, unreachable: 0, away: 0, unconfirmed: 0 },
  ailing: [],
  capacity: [],
}
const noClusters: ClusterSummary = { counts: { total: 0, by_status: {} }, ailing: [] }
const none = { total: 0, in_clusters: 0, free: 0 }

export type ReadOverview = (caller: UserCaller) => Promise<Overview>

export function overview({ datacenters, operations, servers, clusters, subnets, dialsNowhere }: OverviewParts): ReadOverview {
  return async (caller) => {
    const may = (scope: UserCaller['scopes'][number]) => caller.scopes.includes(scope)
    const [places, inventory, { counts, ailing }, fullest, running, failures] = await Promise.all([
      may('datacenters:read') ? datacenters.names() : [],
      may('servers:read') ? servers() : noServers,
      may('clusters:read') ? clusters() : noClusters,
      may('network:read') ? subnets(shownSubnets) : [],
      operations.recent('running', caller.scopes, shown),
      operations.recent('failed', caller.scopes, shown),
    ])
    const byPlace = new Map(inventory.capacity.map((c) => [c.datacenter_id, c]))
    const row = (datacenter: Overview['capacity'][number]['datacenter']): Overview['capacity'][number] => {
      const { datacenter_id: _id, ...sums } = byPlace.get(datacenter?.id ?? null) ?? {
        datacenter_id: null,
        servers: 0,
        compute_units: none,
        vcpu: none,
        memory_bytes: none,
        disk_bytes: none,
        unknown_servers: 0,
      }
      return { datacenter, ...sums }
    }
    const attention = [...ailing, ...inventory.ailing]
    return {
      attention: { total: attention.length, items: attention.slice(0, shown) },
      servers: inventory.servers,
      clusters: counts,
      capacity: [...places.map(row), ...(byPlace.has(null) ? [row(null)] : [])],
      subnets: fullest,
      running,
      failures,
      dials_nowhere: dialsNowhere,
    }
  }
}
