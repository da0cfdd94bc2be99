/** Wires the clusters domain. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ReadyKeys } from '#talos/secrets/bundle.ts'
import type { Domain, Platform } from '../../platform.ts'
import { type Clusters, clusters as makeClusters } from './clusters.ts'
import { clusterQueue, type ClusterParts, memberQueue } from './parts.ts'
import { clusterRoutes } from './routes.ts'

export type ClusterDomainParts = Pick<
  ClusterParts,
  'operations' | 'audit' | 'datacenters' | 'servers' | 'patches' | 'subnets' | 'versions' | 'dial' | 'onRemoved'
>

export function clusterDomain(platform: Platform, parts: ClusterDomainParts): { clusters: Clusters; domain: Domain } {
  const { db, clock, log, engine, vault, config } = platform
  const readyKeys = config.simulatedKeysFile === undefined ? undefined : (JSON.parse(readFileSync(config.simulatedKeysFile, 'utf8')) as ReadyKeys)
  const clusters = makeClusters({
    db,
    clock,
    log,
    engine,
    vault,
    recorder: platform,
    randomBytes: (size) => randomBytes(size),
    imageFactory: new URL(config.imageFactoryUrl).host,
    readyKeys,
    ...parts,
  })
  for (const reconciler of clusters.reconcilers) engine.register(reconciler)
  parts.operations.worksPerServer(clusterQueue, memberQueue)
  return { clusters, domain: { name: 'clusters', routes: (app) => clusterRoutes(app, clusters), start: () => clusters.resume() } }
}
