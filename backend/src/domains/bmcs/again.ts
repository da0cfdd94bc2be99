/** After a person changed something of a BMC: it is asked once, as if it were new. */
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { BmcWorld } from './parts.ts'
import type { BmcRow } from './store.ts'
import * as store from './store.ts'

export const newAccount = 'Signing in with the changed user name and password'

/**
 * A BMC that refused the password is asked again with the changed one. The session of the old
 * account isn't used any more; the BMC ends it by itself.
 */
export async function askAgain(
  { clock, tell, clients }: Pick<BmcWorld, 'clock' | 'tell' | 'clients'>,
  tx: Tx,
  caller: Caller,
  rows: readonly BmcRow[],
): Promise<void> {
  const at = new Date(clock.now())
  for (const { id, status } of rows) {
    clients.forget(id)
    await store.updateContact(tx, id, {
      session_sealed: null,
      due_at: at,
      failures: 0,
      slow: false,
    })
    if (status !== 'denied') continue
    const change = { status: 'unreachable', reason: newAccount, status_since: at } as const
    const { version } = await store.update(tx, id, change, at)
    await tell(tx, caller, { name: 'bmc.updated', object: { kind: 'bmc', id }, version })
  }
}
