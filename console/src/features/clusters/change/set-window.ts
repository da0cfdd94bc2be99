import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import type { MaintenanceWindow } from '#contract/clusters/changes/window.ts'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { sendUnlessEdited } from '../../../api/asking/fresh-version.ts'
import { call } from '../../../api/client.ts'

/**
 * Sets or removes the maintenance window of a cluster, unless somebody has set another one since
 * `seen` was read.
 * @throws CallError stale, held_by_files, operation_running
 */
export const setWindow = (seen: Cluster, window: MaintenanceWindow | null): Promise<Cluster> => {
  const params = { id: seen.id }
  return sendUnlessEdited(
    seen,
    () => call(clusterGet, { params }),
    (cluster) => cluster.maintenance_window ?? null,
    (version) => call(clusterWindowSet, { params, body: { window } }, { version }),
  )
}
