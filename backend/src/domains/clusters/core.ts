/**
 * The parts of the clusters domain that servers, patches and pools use too. They are made before those domains and need only
 * `clusterUse` and `patchRendering` of them, so that the domains are put together in one direction.
 */
import type { TalosRole } from '#talos/pki/certificates.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
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
  const access = {
    /** Minted client credentials for a cluster's Talos API, not stored; null if the cluster doesn't exist. */
    talosCredentials: (clusterId: string, { role, lifetimeMs }: { role: TalosRole; lifetimeMs: number }) => secrets.mintTalos(clusterId, [role], lifetimeMs),
    /** Addresses of a cluster's control planes, for the endpoints of a talosconfig. */
    controlPlaneAddresses: (clusterId: string) => controlPlaneAddresses(parts, clusterId),
    generated: (on: Db | Tx, clusterId: string, nodeId: string) => generated(parts, on, clusterId, nodeId),
    /** The last rendered configuration of a server with plaintext secrets, or null. */
    async renderedConfig(clusterId: string, nodeId: string): Promise<string | null> {
      const config = await store.newestConfig(parts.db, clusterId, nodeId)
      return config ? secrets.openConfig(parts.db, clusterId, config.sealed) : null
    },
    renderAgain: (tx: Tx, clusterId: string, nodeId: string) => renderAgain(parts, tx, clusterId, nodeId),
    outside: outside(parts),
    forgetServer: (caller: Caller, nodeId: string, options: Parameters<typeof forgetServer>[3]) => forgetServer(parts, caller, nodeId, options),
  }
  return { secrets, access, forPools: forPools(parts) }
}
