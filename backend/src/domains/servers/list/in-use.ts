/** How many servers and compute units are used for what, from memory. */
import type { CapacitySeries } from '#contract/measurements/measurements.ts'
import { openCcStatuses } from '#contract/marketplace/cc-statuses.ts'
import type { Entry } from '../present.ts'

const committed: ReadonlySet<string | null> = new Set(
  openCcStatuses.filter((status) => status !== 'not_committed'),
)

/** Servers with unknown hardware have no compute units. */
export function inUseOf(all: Iterable<Entry>): Record<CapacitySeries, number | null> {
  const counts = { in_clusters: 0, free: 0, not_well: 0 }
  const units = { in_clusters: 0, free: 0 }
  const promised = { committed: 0, uncommitted: 0 }
  let hasCommitment = false
  for (const { row, facts } of all) {
    if (row.status === 'deleted' || row.stage === 'not_booted') continue
    const use = row.cluster_id === null ? 'free' : 'in_clusters'
    const isWell = row.finding === null || row.finding.severity === 'attention'
    counts[isWell ? use : 'not_well']++
    units[use] += facts.computeUnits ?? 0
    const isCommitted = committed.has(row.commitment_status)
    hasCommitment ||= isCommitted
    promised[isCommitted ? 'committed' : 'uncommitted'] += facts.computeUnits ?? 0
  }
  return {
    ...counts,
    servers: counts.in_clusters + counts.free + counts.not_well,
    units_in_clusters: units.in_clusters,
    units_free: units.free,
    units_committed: hasCommitment ? promised.committed : null,
    units_uncommitted: hasCommitment ? promised.uncommitted : null,
  }
}
