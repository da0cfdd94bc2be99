/** Changes of clusters that begin later. */
import { inTransaction } from '../../../db/db.ts'
import { changeQueue } from '../parts.ts'
import type { ClusterWorld } from './world.ts'

/** A start so far away that a test can prepare what the change shall meet, however slow it is. */
export const inAnHour = () => ({ at: new Date(Date.now() + 3_600_000).toISOString() })

/** Lets the time of a scheduled change come now. */
export const begins = (
  { backend: { platform } }: Pick<ClusterWorld, 'backend'>,
  clusterId: string,
  operationId: string,
): Promise<void> =>
  inTransaction(platform.db, async (tx) => {
    await tx
      .updateTable('operation')
      .set({ starts_at: new Date(platform.clock.now() - 1_000) })
      .where('id', '=', operationId)
      .execute()
    await platform.engine.wake(tx, changeQueue, clusterId)
  })
