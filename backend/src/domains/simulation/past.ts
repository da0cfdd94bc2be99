/** The simulated history of 30 days: what people and Steelyard did, and a few incidents. Pure. */
import type { HistoryKind } from '#contract/history/kind-names.ts'
import type { HistoryValues } from '#contract/history/kinds.ts'
import type { OperationKind } from '#contract/operations.ts'
import type { SimulatedEntry } from '../history/api.ts'
import {
  minuteMs,
  momentOf,
  pastDays,
  type SimulatedCluster,
  silencesOf,
  versionBefore,
} from './incidents.ts'

const people = ['ada@steelyard.demo', 'grace@steelyard.demo'] as const
const disk = 'disk nvme1n1, SAMSUNG MZQL23T8HCLS, 3.84 TB'

interface Written {
  readonly by?: string
  readonly before?: HistoryValues
  readonly after?: HistoryValues
}
type Of = { readonly cluster: SimulatedCluster; readonly node?: SimulatedCluster['nodes'][number] }

export function pastOf(clusters: readonly SimulatedCluster[], now: number): SimulatedEntry[] {
  const entries: SimulatedEntry[] = []
  const write = (ms: number, { cluster, node }: Of, kind: HistoryKind, written: Written) => {
    if (ms >= now) return
    const { by = null, before, after } = written
    const { id, name } = node ?? cluster
    entries.push({
      at: new Date(ms),
      kind,
      object: { kind: node === undefined ? 'cluster' : 'server', id, name },
      cluster: { id: cluster.id, name: cluster.name },
      by,
      ...(before && { before }),
      ...(after && { after }),
    })
  }
  const finding = (from: number, to: number, of: Of, after: HistoryValues) => {
    write(from, of, 'finding_began', { after })
    write(to, of, 'finding_ended', { after })
  }
  /** An operation of a person. `fails`: the reason of its first attempt. */
  const operation = (
    ms: number,
    of: Of,
    kind: OperationKind,
    { by, minutes, fails }: { by: string; minutes: number; fails?: string },
  ) => {
    const ends = ms + minutes * minuteMs
    const ended = (at: number, after: HistoryValues) =>
      write(at, of, 'operation_ended', { after: { operation: kind, ...after } })
    write(ms, of, 'operation_requested', { by, after: { operation: kind } })
    if (fails === undefined) return ended(ends, { status: 'done', round: 1 })
    ended(ends, { status: 'failed', round: 1, reason: fails })
    write(ends + 20 * minuteMs, of, 'operation_retried', {
      by,
      after: { operation: kind, round: 2 },
    })
    return ended(ends + 41 * minuteMs, { status: 'done', round: 2 })
  }

  for (const [c, cluster] of clusters.entries()) {
    const at = (daysAgo: number, hour: number) => momentOf(now, daysAgo, hour)
    const node = (n: number) => ({ cluster, node: cluster.nodes[n % cluster.nodes.length]! })
    if (cluster.nodes.length === 0) continue
    const [ada, grace] = [people[c % 2]!, people[(c + 1) % 2]!]

    // A snapshot every night. One fails, and the next one ends the finding.
    const failed = 6 + c
    for (let day = pastDays - 1; day >= 0; day--) {
      const [began, ended] = [at(day, 2 + c / 4), at(day, 2 + c / 4) + 3 * minuteMs]
      const isFailed = day === failed && c === 0
      write(began, { cluster }, 'operation_requested', { after: { operation: 'clusterSnapshot' } })
      write(ended, { cluster }, 'operation_ended', {
        after: {
          operation: 'clusterSnapshot',
          round: 1,
          ...(isFailed
            ? { status: 'failed', reason: 'the store answered 503 Service Unavailable' }
            : { status: 'done' }),
        },
      })
      if (isFailed)
        finding(
          ended,
          ended + 24 * 60 * minuteMs,
          { cluster },
          {
            finding: 'cluster_snapshot_failed',
            severity: 'attention',
            reason: 'The store answered 503 Service Unavailable.',
          },
        )
    }

    // Upgrades that ended well, the second one at the second attempt.
    const upgrade = at(21 - c, 20)
    const talos = versionBefore(cluster.talos_version)
    if (talos !== null) {
      const versions = {
        before: { talos_version: talos },
        after: { talos_version: cluster.talos_version },
      }
      const minutes = 7 * (cluster.nodes.length + 1)
      operation(upgrade, { cluster }, 'clusterUpgradeTalos', { by: grace, minutes })
      for (const n of cluster.nodes.keys())
        write(upgrade + 7 * (n + 1) * minuteMs, node(n), 'server_version', versions)
      write(upgrade + minutes * minuteMs, { cluster }, 'cluster_version', versions)
    }
    const kubernetes = versionBefore(cluster.kubernetes_version)
    if (kubernetes !== null) {
      operation(at(12 - c, 9), { cluster }, 'clusterUpgradeKubernetes', {
        by: ada,
        minutes: 26,
        ...(c === 1 && { fails: 'The API server did not answer within 5 minutes' }),
      })
      write(at(12 - c, 10.5), { cluster }, 'cluster_version', {
        before: { kubernetes_version: kubernetes },
        after: { kubernetes_version: cluster.kubernetes_version },
      })
    }

    // What people did by day.
    for (const [daysAgo, hour, n] of [
      [28, 10, 0],
      [18, 14, 1],
      [2, 11, 2],
    ] as const)
      write(at(daysAgo, hour + c), node(n), 'patch_changed', {
        by: ada,
        after: { patch: 'kernel-tuning' },
      })
    operation(at(14, 16 + c), node(1), 'serverReboot', { by: grace, minutes: 4 })
    operation(at(5, 8 + c), { cluster }, 'clusterDefragment', { by: ada, minutes: 3 })

    // A change by hand, taken back after half an hour.
    write(at(4, 13.5 + c), node(0), 'server_drift', {
      before: { drifted: false },
      after: { drifted: true },
    })
    write(at(4, 14 + c), node(0), 'server_drift', {
      before: { drifted: true },
      after: { drifted: false },
    })
  }

  // A disk that failed, and was replaced in the morning.
  const [first] = clusters
  const broken = first?.nodes.at(-1)
  if (first !== undefined && broken !== undefined) {
    const of = { cluster: first, node: broken }
    const [gone, back] = [momentOf(now, 16, 4.4), momentOf(now, 16, 9.7)]
    write(gone, of, 'server_hardware', { before: { hardware: [disk] }, after: { hardware: [] } })
    write(back, of, 'server_hardware', { before: { hardware: [] }, after: { hardware: [disk] } })
    finding(gone, back, of, {
      finding: 'server_disk_missing',
      severity: 'degraded',
      reason: 'The disk nvme1n1 does not answer any more.',
    })
  }

  for (const { cluster, node, from, to, reason } of silencesOf(clusters, now)) {
    const of = { cluster, node }
    write(from, of, 'server_contact', {
      before: { reachable: true },
      after: { reachable: false, reason },
    })
    write(to, of, 'server_contact', { before: { reachable: false }, after: { reachable: true } })
    finding(from + minuteMs, to, of, {
      finding: 'server_unreachable',
      severity: 'down',
      reason: `No answer; ${reason}.`,
    })
  }
  return entries
}
