/** The figures of clusters for the overview. */
import type { ClustersSummary } from './api.ts'
import type { CoreParts } from './parts.ts'
import * as store from './store.ts'

export async function clusterSummary({ db }: Pick<CoreParts, 'db'>): Promise<ClustersSummary> {
  const counts = await store.countByStatus(db)
  return {
    total: counts.reduce((sum, c) => sum + c.n, 0),
    by_status: Object.fromEntries(counts.map((c) => [c.status, c.n])),
  }
}
