/**
 * Counts and capacity for the overview and the datacenters. Servers with unknown hardware are left
 * out of the sums.
 */
import { contactStateOf } from '#contract/servers/contact-state.ts'
import type { Said, ServersSaid, WorstFinding } from '#contract/findings/findings.ts'
import { countServers, tallied } from '#contract/findings/said.ts'
import type { DatacenterCapacity, ServersSummary } from '../api.ts'
import type { Entry } from '../present.ts'
import { contactOf, isDoubted, saidOf } from '../present.ts'

const nothing = () => ({ total: 0, in_clusters: 0, free: 0 })

/** @param now in ms: a server that is silent in an operation is away for a while */
export function summarize(all: Iterable<Entry>, now: number): ServersSummary {
  const servers = {
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
  }
  const said: Said[] = []
  const byDatacenter = new Map<string | null, DatacenterCapacity>()
  for (const { row, facts } of all) {
    if (row.status === 'deleted' || row.stage === 'not_booted') continue
    servers.total++
    said.push(saidOf(row))
    servers[row.status]++
    const contact = contactStateOf({ operation_id: row.operation_id, talos: contactOf(row) }, now)
    if (contact !== 'unasked') servers[contact === 'answers' ? 'reachable' : contact]++
    if (isDoubted(row)) servers.unconfirmed++
    servers[row.cluster_id !== null ? 'in_clusters' : row.quarantine ? 'quarantined' : 'free']++

    const sums = byDatacenter.get(row.datacenter_id) ?? {
      datacenter_id: row.datacenter_id,
      servers: 0,
      compute_units: nothing(),
      vcpu: nothing(),
      memory_bytes: nothing(),
      disk_bytes: nothing(),
      unknown_servers: 0,
    }
    const { capacity, computeUnits: units } = facts
    const isKnown =
      capacity !== null &&
      units !== null &&
      capacity.cores !== null &&
      capacity.memory_bytes !== null
    const add = (to: { total: number; in_clusters: number; free: number }, amount: number) => {
      to.total += amount
      to[row.cluster_id ? 'in_clusters' : 'free'] += amount
    }
    if (isKnown) {
      add(sums.compute_units, units)
      // One core is sold as two vCPUs.
      add(sums.vcpu, 2 * capacity.cores!)
      add(sums.memory_bytes, capacity.memory_bytes!)
      add(sums.disk_bytes, capacity.disk_bytes ?? 0)
    }
    byDatacenter.set(row.datacenter_id, {
      ...sums,
      servers: sums.servers + 1,
      unknown_servers: sums.unknown_servers + (isKnown ? 0 : 1),
    })
  }
  return { servers: { ...servers, by_word: tallied(said) }, capacity: [...byDatacenter.values()] }
}

/** The servers of each cluster that are not well. */
export function wordsByCluster(all: Iterable<Entry>): ReadonlyMap<string, ServersSaid> {
  const found = new Map<string, WorstFinding[]>()
  for (const { row } of all)
    if (row.finding !== null && row.cluster_id !== null && row.status !== 'deleted')
      found.set(row.cluster_id, [...(found.get(row.cluster_id) ?? []), row.finding])
  return new Map([...found].map(([id, findings]) => [id, countServers(findings)]))
}
