/** The figures of clusters for the overview and for `/metrics`. */
import { certificateKinds } from '#contract/clusters/certificates.ts'
import { tallied } from '#contract/findings/said.ts'
import type { Figures } from '#contract/metrics/metrics.ts'
import type { ClustersSummary } from './api.ts'
import { clusterConditions } from './health/conditions.ts'
import type { CoreParts } from './parts.ts'
import { saidOf } from './present.ts'
import * as store from './store.ts'

export async function clusterSummary({ db }: Pick<CoreParts, 'db'>): Promise<ClustersSummary> {
  const [counts, said] = await Promise.all([store.countByStatus(db), store.said(db)])
  return {
    total: counts.reduce((sum, c) => sum + c.n, 0),
    by_status: Object.fromEntries(counts.map((c) => [c.status, c.n])),
    by_word: tallied(said.map(saidOf)),
  }
}

export async function clusterFigures(parts: CoreParts): Promise<Figures> {
  const [{ by_status }, said, known] = await Promise.all([
    clusterSummary(parts),
    store.said(parts.db),
    clusterConditions(parts, parts.db),
  ])
  return {
    steelyard_clusters: Object.entries(by_status).map(([status, value]) => ({ status, value })),
    steelyard_cluster_state: said.map((row) => {
      const { word, severity } = saidOf(row)
      return { cluster: row.name, word, severity: severity ?? '', value: 1 }
    }),
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
