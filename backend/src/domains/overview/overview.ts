/**
 * The figures of the overview page, collected from the other domains. Parts that the caller may not
 * read are empty.
 */
import { type Overview, overviewGet } from '#contract/overview.ts'
import type { Config } from '../../config.ts'
import type { UserCaller } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import type { Clusters, ClustersSummary } from '../clusters/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Findings } from '../findings/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Servers, ServersSummary } from '../servers/api.ts'
import type { Subnets } from '../subnets/api.ts'

interface OverviewParts {
  readonly config: Pick<Config, 'dialNetworks'>
  readonly datacenters: Datacenters
  readonly operations: Operations
  readonly servers: Pick<Servers, 'summary'>
  readonly clusters: Pick<Clusters, 'summary'>
  readonly subnets: Pick<Subnets, 'fullest'>
  readonly findings: Pick<Findings, 'worst'>
}

const shown = 10
const shownSubnets = 5
const noServers: ServersSummary = {
  servers: {
    total: 0,
    maintenance: 0,
    ready: 0,
    reachable: 0,
    unreachable: 0,
    away: 0,
    unconfirmed: 0,
  },
  capacity: [],
}
const noClusters: ClustersSummary = { total: 0, by_status: {} }
const none = { total: 0, in_clusters: 0, free: 0 }
const noCapacity = {
  servers: 0,
  compute_units: none,
  vcpu: none,
  memory_bytes: none,
  disk_bytes: none,
  unknown_servers: 0,
}

export const overview = ({
  config,
  datacenters,
  operations,
  servers,
  clusters,
  subnets,
  findings,
}: OverviewParts): Domain => ({
  name: 'overview',
  routes(app) {
    serve(app)(overviewGet, async (call): Promise<Overview> => {
      const caller = signedIn(call.caller)
      const may = (scope: UserCaller['scopes'][number]) => caller.scopes.includes(scope)
      const [places, inventory, counts, fullest, attention, running, failures] = await Promise.all([
        may('datacenters:read') ? datacenters.names() : [],
        may('servers:read') ? servers.summary() : noServers,
        may('clusters:read') ? clusters.summary() : noClusters,
        may('network:read') ? subnets.fullest(shownSubnets) : [],
        findings.worst(caller, shown),
        operations.recent('running', caller.scopes, shown),
        operations.recent('failed', caller.scopes, shown),
      ])
      const byPlace = new Map(
        inventory.capacity.map(({ datacenter_id, ...sums }) => [datacenter_id, sums]),
      )
      const row = (datacenter: Overview['capacity'][number]['datacenter']) => ({
        datacenter,
        ...(byPlace.get(datacenter?.id ?? null) ?? noCapacity),
      })
      return {
        attention,
        servers: inventory.servers,
        clusters: counts,
        capacity: [...places.map(row), ...(byPlace.has(null) ? [row(null)] : [])],
        subnets: fullest,
        running,
        failures,
        dials_nowhere: config.dialNetworks.length === 0,
      }
    })
  },
})
