import type { Tx } from '../../../db/db.ts'
import type { Engine } from '../../../engine/engine.ts'
import { sweepQueue } from '../../configurations/api.ts'
import {
  certificateQueue,
  changeQueue,
  clusterQueue,
  healthQueue,
  memberKey,
  memberQueue,
} from '../parts.ts'
import * as store from '../store.ts'

/** Wakes all work on a cluster and its servers. */
export async function wakeCluster(engine: Pick<Engine, 'wake'>, tx: Tx, id: string): Promise<void> {
  await engine.wake(tx, clusterQueue, id)
  await engine.wake(tx, sweepQueue, id)
  await engine.wake(tx, changeQueue, id)
  await engine.wake(tx, certificateQueue, id)
  await engine.wake(tx, healthQueue, id)
  for (const m of await store.unsettled(tx, id))
    await engine.wake(tx, memberQueue, memberKey(id, m.node_id))
}
