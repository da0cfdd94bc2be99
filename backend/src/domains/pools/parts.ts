/** What the pools domain is made of: passed in where the program is put together, so that a test can hold each. */
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Recorder } from '../../record.ts'
import type { ForPools as Clusters } from '../clusters/for-pools.ts'
import type { Operations } from '../operations/operations.ts'
import type { ForPools as Subnets } from '../subnets/for-pools.ts'

export interface PoolParts {
  readonly db: Db
  readonly clock: Clock
  /** From 0 up to 1. */
  readonly random: () => number
  readonly engine: Engine
  readonly recorder: Recorder
  readonly operations: Operations
  readonly clusters: Clusters
  readonly subnets: Subnets
}

/** Queue of a cluster's pools; the key is the cluster's id. */
export const poolQueue = 'cluster-pools'
