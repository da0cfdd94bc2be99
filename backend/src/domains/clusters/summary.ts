/** The figures of clusters for the overview and for `/metrics`. */
import { certificateKinds } from '#contract/clusters/certificates.ts'
import type { Figures } from '#contract/metrics/metrics.ts'
import type { ClustersSummary } from './api.ts'
import { clusterConditions } from './health/conditions.ts'
import type { CoreParts } from './parts.ts'
import * as store from './store.ts'

export async function clusterSummary({ db }: Pick<CoreParts, 'db'>): Promise<ClustersSummary> {
  const counts = await store.countByStatus(db)
  return {
    total: counts.reduce((sum, c) => sum + c.n, 0),
    by_status: Object.fromEntries(counts.map((c) => [c.status, c.n])),
  }
}

export async function clusterFigures(parts: CoreParts): Promise<Figures> {
  const [{ by_status }, known] = await Promise.all([
    clusterSummary(parts),
    clusterConditions(parts, parts.db),
  ])
  return {
    steelyard_clusters: Object.entries(by_status).map(([status, value]) => ({ status, value })),
    steelyard_cluster_info: known.map((c) => ({
      cluster: c.name,
      datacenter: c.datacenter.code,
      talos_version: c.talos_version,
      kubernetes_version: c.kubernetes_version,
      value: 1,
    })),
    steelyard_cluster_certificate_expiry_timestamp_seconds: known.flatMap(
      ({ name: cluster, certificates }) =>
        certificates.map(({ kind, name, ends_at }) => ({
          cluster,
          certificate: certificateKinds[kind].title,
          server: name ?? '',
          value: Date.parse(ends_at) / 1000,
        })),
    ),
  }
}
