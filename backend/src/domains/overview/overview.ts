/**
 * The overview page, collected from the other domains. Parts that the caller may not read are empty.
 * Parts that fail for a reason of their own are null, so that the others are still shown.
 */
import { mostOperations, type Overview, overviewGet } from '#contract/overview.ts'
import { isDatabaseTrouble } from '../../causes/causes.ts'
import type { Config } from '../../config.ts'
import type { UserCaller } from '../../http/caller.ts'
import { type Serialised, serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Alerts } from '../alerts/api.ts'
import type { Clusters, ClustersSummary } from '../clusters/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Findings } from '../findings/api.ts'
import type { History } from '../history/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Servers, ServersSummary } from '../servers/api.ts'
import type { Subnets } from '../subnets/api.ts'
import { overviewOfPast } from './past.ts'

interface OverviewParts {
  readonly config: Pick<Config, 'dialNetworks'>
  readonly clock: Platform['clock']
  readonly log: Platform['log']
  readonly datacenters: Datacenters
  readonly operations: Operations
  readonly servers: Pick<Servers, 'summary'>
  readonly clusters: Pick<Clusters, 'summary'>
  readonly subnets: Pick<Subnets, 'fullest'>
  readonly findings: Pick<Findings, 'attention' | 'past'>
  readonly alerts: Alerts
  readonly history: Pick<History, 'digest' | 'past'>
}

const shownSubnets = 5
const dayMs = 24 * 3_600_000
const noServers: ServersSummary = {
  servers: {
    total: 0,
    maintenance: 0,
    ready: 0,
    reachable: 0,
    unreachable: 0,
    away: 0,
    unconfirmed: 0,
    in_clusters: 0,
    quarantined: 0,
    free: 0,
    by_word: [],
  },
  capacity: [],
}
const noClusters: ClustersSummary = { total: 0, by_status: {}, by_word: [] }
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
  alerts,
  history,
  clock,
  log,
}: OverviewParts): Domain => ({
  name: 'overview',
  routes(app) {
    serve(app)(overviewGet, async (call): Promise<Overview | Serialised> => {
      const caller = signedIn(call.caller)
      const { at } = call.query
      if (at !== undefined) return overviewOfPast({ findings, history }, caller, at)
      const may = (scope: UserCaller['scopes'][number]) => caller.scopes.includes(scope)
      const part = <T>(name: string, read: Promise<T>): Promise<T | null> =>
        read.catch((error: unknown) => {
          // Then no part can be read, and the whole call fails with the right answer.
          if (isDatabaseTrouble(error)) throw error
          log.error('overview.part_failed', { key: name, error })
          return null
        })
      const [places, inventory, counts, ...parts] = await Promise.all([
        may('datacenters:read') ? datacenters.names() : [],
        may('servers:read') ? servers.summary() : noServers,
        may('clusters:read') ? clusters.summary() : noClusters,
        may('network:read') ? part('subnets', subnets.fullest(shownSubnets)) : [],
        part(
          'attention',
          alerts.silencesInForce().then((silences) => findings.attention(caller, silences)),
        ),
        part('running', operations.recent('running', caller.scopes, mostOperations)),
        part('failures', operations.recent('failed', caller.scopes, mostOperations)),
        part('last day', history.digest(caller, new Date(clock.now() - dayMs))),
      ])
      const [fullest, attention, running, failures, lastDay] = parts
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
        last_day: lastDay,
        dials_nowhere: config.dialNetworks.length === 0,
      }
    })
  },
})
