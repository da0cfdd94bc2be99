/** Withdraws links with which somebody could become a user, or set a password. */
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Access } from './api.ts'
import * as store from './store.ts'
import { targetOf } from './target.ts'

type Person = Parameters<typeof targetOf>[0]

const recordWithdrawal = (
  tx: Tx,
  caller: Caller,
  person: Person,
  record: Platform['record'],
): Promise<void> =>
  record(tx, caller, { action: 'user.password_reset_withdrawn', target: targetOf(person) })

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
    await recordWithdrawal(tx, caller, person, record)
}

/**
 * Ends the link with which a user could set a password: after a change of the role, because it was
 * checked only for the former role whether its maker may enter the account, and after a change of
 * the password, which the link would undo.
 */
export async function endLinkFor(
  tx: Tx,
  caller: Caller,
  person: Person,
  { record }: Pick<Platform, 'record'>,
): Promise<void> {
  if (await store.removeResetFor(tx, person.id)) await recordWithdrawal(tx, caller, person, record)
}
