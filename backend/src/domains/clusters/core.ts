/**
 * The parts of the clusters domain that servers, patches and pools use too. They are made before those domains and need only
 * `clusterUse` and `patchRendering` of them, so that the domains are put together in one direction.
 */
import type { Platform } from '../../platform.ts'
import type { DialPolicy } from '../../talos-fleet/dial-policy.ts'
import type { Operations } from '../operations/operations.ts'
import type { PatchRendering } from '../patches/patches.ts'
import type { ClusterAccess, ForClusters } from '../servers/for-clusters.ts'
import { forPools } from './for-pools.ts'
import { leaving } from './leave/leaving.ts'
import { outside as makeOutside } from './outside/outside.ts'
import { reach } from './reach.ts'
import { rendering } from './render.ts'
import { clusterSecrets } from './secrets.ts'
import * as store from './store.ts'

export interface CoreParts extends Platform {
  readonly operations: Operations
  readonly servers: ForClusters
  readonly patches: Pick<PatchRendering, 'render'>
  readonly dial: Pick<DialPolicy, 'check'>
}

export type ClusterCore = ReturnType<typeof clusterCore>

export function clusterCore(parts: CoreParts) {
  const { db, servers } = parts
  const secrets = clusterSecrets(parts)
  const rendered = rendering(parts, secrets)
  const reached = reach(parts, secrets)
  const left = leaving(parts, secrets, reached)
  const outside = makeOutside(parts, secrets)
  /** What servers and patches use of clusters. */
  const access: ClusterAccess = {
    talosCredentials: (clusterId, { role, lifetimeMs }) => secrets.mintTalos(clusterId, [role], lifetimeMs),
    async controlPlaneAddresses(clusterId) {
      const members = (await store.members(db, clusterId)).filter((m) => m.role === 'control_plane' && m.released_at === null && m.wanted === 'joined')
      const ids = members.map((m) => m.node_id)
      return (await servers.forPlan(db, ids)).map((f) => f.address)
    },
    generated: rendered.generated,
    async renderedConfig(clusterId, nodeId) {
      const config = await store.newestConfig(db, clusterId, nodeId)
      return config ? secrets.openConfig(db, clusterId, config.sealed) : null
    },
    renderAgain: rendered.renderAgain,
    outside,
    forgetServer: (caller, nodeId, options) => left.forgetServer(caller, nodeId, options),
  }
  return { secrets, rendered, reached, left, outside, access, forPools: forPools(parts, reached) }
}
