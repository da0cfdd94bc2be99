/** The overview of a time of the past, from what the history records. */
import * as z from 'zod/mini'
import { unitsOf } from '#contract/capacity.ts'
import {
  mostPastFindings,
  overviewGetPast,
  type PastOverview,
} from '#contract/history/past-overview.ts'
import type { ServerState } from '#contract/history/kinds.ts'
import { findingObjects } from '#contract/findings/kinds.ts'
import { permits } from '#contract/permissions.ts'
import type { UserCaller } from '../../http/caller.ts'
import { Serialised } from '../../http/serve.ts'
import type { Findings } from '../findings/api.ts'
import type { History } from '../history/api.ts'

const dayMs = 24 * 3_600_000
const notRecorded = ['servers.away', 'capacity.datacenter.id', 'subnets', 'running', 'failures']

type Sums = PastOverview['capacity'][number]
const nothing = () => ({ total: 0, in_clusters: 0, free: 0 })
const noSums = (code: string | null): Sums => ({
  datacenter: code === null ? null : { id: null, code },
  servers: 0,
  compute_units: nothing(),
  vcpu: nothing(),
  memory_bytes: nothing(),
  disk_bytes: nothing(),
  unknown_servers: 0,
})

/** Capacity by datacenter. Servers whose hardware isn't known are counted apart. */
function capacityOf(states: readonly Partial<ServerState>[]): Sums[] {
  const found = new Map<string | null, Sums>()
  for (const { capacity, cluster, datacenter = null } of states) {
    const sums = found.get(datacenter) ?? noSums(datacenter)
    found.set(datacenter, sums)
    sums.servers++
    const units = capacity ? unitsOf(capacity) : null
    if (!capacity || units === null) {
      sums.unknown_servers++
      continue
    }
    const add = (to: Sums['vcpu'], amount: number) => {
      to.total += amount
      to[cluster ? 'in_clusters' : 'free'] += amount
    }
    add(sums.compute_units, units)
    // One core is sold as two vCPUs.
    add(sums.vcpu, 2 * capacity.cores!)
    add(sums.memory_bytes, capacity.memory_bytes!)
    add(sums.disk_bytes, capacity.disk_bytes ?? 0)
  }
  return [...found]
    .toSorted(([a], [b]) => (a === null ? 1 : b === null ? -1 : a < b ? -1 : 1))
    .map(([, sums]) => sums)
}

/** Parts that the caller may not read are empty. @throws Problem bad_request, before_history */
export async function overviewOfPast(
  {
    findings,
    history,
  }: { findings: Pick<Findings, 'past'>; history: Pick<History, 'past' | 'digest'> },
  caller: UserCaller,
  at: string,
): Promise<Serialised> {
  const time = new Date(at)
  const may = (scope: UserCaller['scopes'][number]) => caller.scopes.includes(scope)
  await history.past.demand(time)
  const servers = may('servers:read')
    ? (await history.past.servers(time)).filter((one) => !one.isRemoved)
    : []
  const clusters = may('clusters:read')
    ? (await history.past.clusters(time)).filter((one) => !one.isRemoved)
    : []
  const open = await findings.past.open(time)
  const worst = await findings.past.worst(time)
  const seen = open.filter(
    ({ object }) => permits(caller.scopes, findingObjects[object.kind].read).ok,
  )
  const states = servers.map(({ state }) => state)
  const count = (passes: (state: Partial<ServerState>) => boolean): number =>
    states.filter(passes).length
  const by_status: Record<string, number> = {}
  for (const { id, state } of clusters) {
    const finding = worst.get(id)
    const isDegraded = state.status === 'ready' && finding && finding.severity !== 'attention'
    const status = isDegraded ? 'degraded' : (state.status ?? 'unknown')
    by_status[status] = (by_status[status] ?? 0) + 1
  }
  const answer = z.parse(overviewGetPast.answer, {
    findings: { total: seen.length, items: seen.slice(0, mostPastFindings) },
    servers: {
      total: states.length,
      maintenance: count(({ status }) => status === 'maintenance'),
      ready: count(({ status }) => status === 'ready'),
      reachable: count(({ reachable }) => reachable === true),
      unreachable: count(({ reachable }) => reachable === false),
      away: null,
      unconfirmed: count(({ identity }) => identity !== 'confirmed'),
    },
    clusters: { total: clusters.length, by_status },
    capacity: capacityOf(states),
    subnets: null,
    running: null,
    failures: null,
    last_day: await history.digest(caller, new Date(time.getTime() - dayMs), time),
    at: time.toISOString(),
    not_recorded: notRecorded,
  })
  return new Serialised(JSON.stringify(answer))
}
