/** What findings are judged from: the servers that are not well, from memory. */
import type { ServerCondition, ServerConditions } from '../api.ts'
import {
  contactOf,
  type Entry,
  failedInstallsOf,
  failureOf,
  nodeOf,
  powerOf,
  trialOf,
} from '../present.ts'

const time = (at: Date | null): string | null => at?.toISOString() ?? null

/** All servers that are not removed: those that answer are counted, those that are not well named. */
export function conditionsOf(entries: Iterable<Entry>): Omit<ServerConditions, 'duplicates'> {
  const unwell: ServerCondition[] = []
  const answering = new Map<string, number>()
  for (const { row } of entries) {
    if (row.status === 'deleted' || row.stage === 'not_booted') continue
    if (row.reachable === true && row.datacenter_id !== null)
      answering.set(row.datacenter_id, (answering.get(row.datacenter_id) ?? 0) + 1)
    const trial = trialOf(row)
    const install = row.cluster_id === null ? failedInstallsOf(row) : null
    const left = row.cluster_id === null ? row.left_cluster : null
    const isWell =
      row.reachable !== false &&
      row.node_ready !== false &&
      row.failed_at === null &&
      row.drift_since === null &&
      row.pending === null &&
      trial?.state !== 'undone' &&
      row.identity_state !== 'changed' &&
      left === null &&
      install === null
    if (isWell) continue
    unwell.push({
      id: row.id,
      name: row.name,
      status: row.status,
      operation_id: row.operation_id,
      datacenter:
        row.datacenter_id !== null && row.datacenter_code !== null
          ? { id: row.datacenter_id, code: row.datacenter_code }
          : null,
      cluster:
        row.cluster_id !== null && row.cluster_name !== null
          ? { id: row.cluster_id, name: row.cluster_name }
          : null,
      talos: contactOf(row),
      kubernetes: nodeOf(row),
      failure: failureOf(row),
      undone: trial?.state === 'undone' ? trial : null,
      pending: row.pending,
      drift_since: time(row.drift_since),
      left_cluster: left,
      install,
      power: powerOf(row),
      doubt: row.identity_state === 'changed' ? (row.identity_note ?? '') : null,
    })
  }
  return { unwell, answering }
}
