/** Pools as a part of the program: how assigned subnets reach clusters. */
import type { Domain, Platform } from '../../platform.ts'
import type { PoolParts } from './parts.ts'
import { type Pools, pools as makePools } from './pools.ts'
import { poolRoutes } from './routes.ts'

export function poolDomain(platform: Platform, parts: Pick<PoolParts, 'operations' | 'clusters' | 'subnets'>): { pools: Pools; domain: Domain } {
  const { db, clock, random, engine } = platform
  const pools = makePools({ db, clock, random, engine, recorder: platform, ...parts })
  engine.register(pools.reconciler)
  return { pools, domain: { name: 'pools', routes: (app) => poolRoutes(app, pools), start: () => pools.resume() } }
}
