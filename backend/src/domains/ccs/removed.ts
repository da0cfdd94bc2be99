import type { Tx } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import * as store from './store.ts'

/** Queue of the reconciler. Its keys are the ids of commitments. */
export const ccQueue = 'commitment'

/** Called in the transaction that removes a server: its commitments end after the commit. */
export async function serverRemoved(
  { engine }: { readonly engine: Pick<Engine, 'wake'> },
  tx: Tx,
  serverId: string,
): Promise<void> {
  const open = await store.openOf(tx, serverId)
  if (open) await engine.wake(tx, ccQueue, open.id)
}
