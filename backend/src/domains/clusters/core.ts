/**
 * The parts of the clusters domain that servers, patches and pools use too. They are made before those domains and need only
 * `clusterUse` and `patchRendering` of them, so that the domains are put together in one direction.
 */
import type { ClusterAccess } from '../servers/for-clusters.ts'
import { forPools } from './for-pools.ts'
import { forgetServer } from './leave/leaving.ts'
import { outside } from './outside.ts'
import { controlPlaneAddresses, type CoreParts } from './parts.ts'
import { generated, renderAgain } from './render.ts'
import { clusterSecrets } from './secrets.ts'
import * as store from './store.ts'

export function clusterCore(given: Omit<CoreParts, 'secrets'>) {
  const secrets = clusterSecrets(given)
  const parts: CoreParts = { ...given, secrets }
  /** What servers and patches use of clusters. */
  const access: ClusterAccess = {
    talosCredentials: (clusterId, { role, lifetimeMs }) => secrets.mintTalos(clusterId, [role], lifetimeMs),
    controlPlaneAddresses: (clusterId) => controlPlaneAddresses(parts, clusterId),
    generated: (on, clusterId, nodeId) => generated(parts, on, clusterId, nodeId),
    async renderedConfig(clusterId, nodeId) {
      const config = await store.newestConfig(parts.db, clusterId, nodeId)
      return config ? secrets.openConfig(parts.db, clusterId, config.sealed) : null
    },
    renderAgain: (tx, clusterId, nodeId) => renderAgain(parts, tx, clusterId, nodeId),
    outside: outside(parts),
    forgetServer: (caller, nodeId, options) => forgetServer(parts, caller, nodeId, options),
  }
  return { secrets, access, forPools: forPools(parts) }
}
