import type { ClusterStatus } from '#contract/clusters/clusters.ts'
import type { Overview } from '#contract/overview.ts'
import { paths } from '../../lib/paths.ts'
import type { Segment } from '../../ui/pictures/Meter.tsx'
import type { Tone } from '../../ui/feedback/Status.tsx'

type Site = Overview['capacity'][number]
const measures = ['compute_units', 'vcpu', 'memory_bytes', 'disk_bytes'] as const

/**
 * Capacity of all datacenters, and the number of servers left out because their hardware is
 * unknown.
 */
export function sums(
  sites: readonly Site[],
): Pick<Site, (typeof measures)[number]> & { unknown: number } {
  const add = (measure: (typeof measures)[number]) =>
    sites.reduce(
      (sum, s) => ({
        total: sum.total + s[measure].total,
        in_clusters: sum.in_clusters + s[measure].in_clusters,
        free: sum.free + s[measure].free,
      }),
      { total: 0, in_clusters: 0, free: 0 },
    )
  return {
    compute_units: add('compute_units'),
    vcpu: add('vcpu'),
    memory_bytes: add('memory_bytes'),
    disk_bytes: add('disk_bytes'),
    unknown: sites.reduce((n, s) => n + s.unknown_servers, 0),
  }
}

const coming: readonly ClusterStatus[] = ['pending', 'configuring', 'installing', 'bootstrapping']
const groups: readonly {
  word: string
  statuses: readonly ClusterStatus[]
  tone: Tone
  segment: Segment['tone']
  always?: boolean
}[] = [
  { word: 'Ready', statuses: ['ready'], tone: 'ok', segment: 'ok', always: true },
  { word: 'Being created', statuses: coming, tone: 'busy', segment: 'accent' },
  { word: 'Degraded', statuses: ['degraded'], tone: 'warn', segment: 'warn' },
  { word: 'Failed', statuses: ['failed'], tone: 'danger', segment: 'danger' },
  { word: 'Deleting', statuses: ['deleting'], tone: 'off', segment: 'idle' },
]

/**
 * Number of clusters per group of statuses, such as "Being created". A cluster with an unrecognised
 * status is in no group.
 */
export const clusterGroups = (byStatus: Readonly<Record<string, number>>) =>
  groups.map(({ statuses, always = false, ...group }) => ({
    ...group,
    always,
    value: statuses.reduce((n, s) => n + (byStatus[s] ?? 0), 0),
    // A list is of one status, so several are shown as groups.
    to: paths.clusters(statuses.length === 1 ? { status: statuses[0] } : { group: 'status' }),
  }))
