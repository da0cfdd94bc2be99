/** What the use-cases of subnets are made of. */
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/db.ts'
import type { Recorder } from '../../record.ts'
import type { ServerAddress } from '../servers/list/addresses.ts'
import type { PoolAccess } from './for-pools.ts'

export interface SubnetParts {
  readonly db: Db
  readonly clock: Clock
  readonly recorder: Recorder
  readonly servers: { addresses(): Promise<ServerAddress[]> }
  readonly pools: PoolAccess
}
