/**
 * Counts and capacity for the overview and the datacenters. Servers with unknown hardware are left
 * out of the sums.
 */
import type { Attention } from '#contract/overview.ts'
import { driftSentence } from '#contract/servers/drift.ts'
import { contactStateOf, troubleOf } from '#contract/servers/server-trouble.ts'
import type { DatacenterCapacity, ServersSummary } from '../api.ts'
import type { Entry } from '../present.ts'
import { contactOf, isDoubted, nodeOf, trialOf } from '../present.ts'

const attentionKinds = {
  failed: 'server_failed',
  unreachable: 'server_unreachable',
  not_ready: 'server_not_ready',
} as const

/** Sort rank. Servers of clusters come before free ones. */
const urgency = {
  server_failed: 0,
  server_unreachable: 0,
  server_not_ready: 2,
  server_change_undone: 4,
  server_patches_wait: 6,
  server_drifted: 8,
} as const

type Ailing = Attention & { readonly kind: keyof typeof urgency }

function ailingOf(entries: readonly Entry[], now: number): Attention[] {
  const found = entries.flatMap(({ row }): { isUsed: boolean; item: Ailing }[] => {
    const trouble = troubleOf(
      {
        status: row.status,
        operation_id: row.operation_id,
        talos: contactOf(row),
        kubernetes: nodeOf(row),
        // Failures are told with the clusters (`clusters/summary.ts`).
        failure: null,
      },
      now,
    )
    const about = { id: row.id, name: row.name }
    const isUsed = row.cluster_id !== null
    const ails = (kind: Ailing['kind'], since: string | null, reason: string | null) => [
      { isUsed, item: { ...about, kind, since, reason } },
    ]
    if (trouble) return ails(attentionKinds[trouble.kind], trouble.since, trouble.reason)
    // The server runs: what is left is its configuration.
    const trial = trialOf(row)
    if (trial?.state === 'undone') return ails('server_change_undone', trial.since, trial.reason)
    if (isUsed && row.pending)
      return ails('server_patches_wait', row.pending.since, row.pending.reason)
    return row.drift_since === null
      ? []
      : ails('server_drifted', row.drift_since.toISOString(), driftSentence)
  })
  const rank = ({ isUsed, item }: (typeof found)[number]) => urgency[item.kind] + (isUsed ? 0 : 1)
  return found
    .toSorted(
      (a, b) =>
        rank(a) - rank(b) ||
        (b.item.since ?? '').localeCompare(a.item.since ?? '') ||
        a.item.name.localeCompare(b.item.name),
    )
    .map((f) => f.item)
}

const nothing = () => ({ total: 0, in_clusters: 0, free: 0 })

/** @param now in ms, because servers that are away during an operation don't need attention yet */
export function summarize(all: Iterable<Entry>, now: number): ServersSummary {
  const entries = [...all]
  const servers = {
    total: 0,
    maintenance: 0,
    ready: 0,
    reachable: 0,
    unreachable: 0,
    away: 0,
    unconfirmed: 0,
  }
  const byDatacenter = new Map<string | null, DatacenterCapacity>()
  for (const { row, facts } of entries) {
    if (row.status === 'deleted') continue
    servers.total++
    servers[row.status]++
    const contact = contactStateOf(
      { status: row.status, operation_id: row.operation_id, talos: contactOf(row) },
      now,
    )
    if (contact !== 'unasked') servers[contact === 'answers' ? 'reachable' : contact]++
    if (isDoubted(row)) servers.unconfirmed++

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
  return { servers, ailing: ailingOf(entries, now), capacity: [...byDatacenter.values()] }
}
