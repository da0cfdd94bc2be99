/** Withdraws links with which somebody could become a user, or set a password. */
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Access } from './api.ts'
import * as store from './store.ts'
import { targetOf } from './target.ts'

/**
 * Ends the links that an administrator made, because whoever holds one of them could still become a
 * user.
 */
export async function endLinksOf(
  tx: Tx,
  caller: Caller,
  makerId: string,
  { record, invitations }: Pick<Platform, 'record'> & Pick<Access, 'invitations'>,
): Promise<void> {
  await invitations.endOf(tx, caller, makerId)
  for (const person of await store.removeResetsOf(tx, makerId))
    await record(tx, caller, {
      action: 'user.password_reset_withdrawn',
      target: targetOf(person),
    })
}
