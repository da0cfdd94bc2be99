/** When a cluster is looked at the next time. */
import { clusterQueue } from '../parts.ts'
import type { ClusterWorld } from './world.ts'

export function looksAt(world: ClusterWorld, clusterId: string) {
  const { db, clock } = world.backend.platform
  return {
    /** Lets the cluster wait for its next look, from a moment at which nobody looks at it. */
    restsFor: (ms: number) =>
      world.until(
        () =>
          db
            .updateTable('wake_up')
            .set({ due_at: new Date(clock.now() + ms) })
            .where('queue', '=', clusterQueue)
            .where('key', '=', clusterId)
            .where('owner', 'is', null)
            .executeTakeFirst(),
        ({ numUpdatedRows }) => numUpdatedRows === 1n,
      ),
    /** Whether the cluster is looked at now, or soon. */
    async isDueWithin(ms: number): Promise<boolean> {
      const { owner, due_at: due } = await db
        .selectFrom('wake_up')
        .select(['owner', 'due_at'])
        .where('queue', '=', clusterQueue)
        .where('key', '=', clusterId)
        .executeTakeFirstOrThrow()
      return owner !== null || (due !== null && due.getTime() < clock.now() + ms)
    },
  }
}
