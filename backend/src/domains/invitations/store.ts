/** SQL for invitations. Nothing else uses this table. */
import { type Insertable, type Selectable, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { invitationList } from '#contract/people/invitations.ts'
import { counted } from '../../db/counted.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type InvitationRow = Selectable<Tables['invitation']>

const readers: SqlReaders<typeof invitationList.list> = {
  sort: { email: sql`email`, created_at: sql`created_at`, expires_at: sql`expires_at` },
  filters: {},
  search: containing('email', 'name'),
  tie: sql`id`,
}

/** A page of the invitations that have not expired. */
export const page = (db: Db, query: Input<typeof invitationList>['query'], now: Date) =>
  readPage(
    db.selectFrom('invitation').selectAll().where('expires_at', '>', now),
    invitationList.list,
    readers,
    query,
  )

/**
 * The number of invitations of other emails that have not expired. Until the transaction ends, no
 * other adds one.
 */
export const othersThan = (tx: Tx, email: string, now: Date): Promise<number> =>
  counted(tx, 'invitation', sql`email <> ${email} and expires_at > ${now}`)

/** Stores an invitation in place of an earlier one of the same email. */
export const put = (tx: Tx, invitation: Insertable<Tables['invitation']>): Promise<InvitationRow> =>
  tx
    .insertInto('invitation')
    .values(invitation)
    .onConflict((c) => c.column('email').doUpdateSet(invitation))
    .returningAll()
    .executeTakeFirstOrThrow()

/** The invitation of a link; undefined if the link isn't valid (any more). */
export const byHash = (db: Db, hash: Buffer, now: Date): Promise<InvitationRow | undefined> =>
  db
    .selectFrom('invitation')
    .selectAll()
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()

/** Uses up a link. Returns whether the link was valid until now. */
export const spend = async (tx: Tx, hash: Buffer): Promise<boolean> =>
  (await tx
    .deleteFrom('invitation')
    .where('hash', '=', hash)
    .returning('id')
    .executeTakeFirst()) !== undefined

export const remove = (tx: Tx, id: string): Promise<InvitationRow | undefined> =>
  tx.deleteFrom('invitation').where('id', '=', id).returningAll().executeTakeFirst()

/** Removes the invitations that somebody made. */
export const removeOf = (tx: Tx, inviterId: string): Promise<InvitationRow[]> =>
  tx.deleteFrom('invitation').where('inviter_id', '=', inviterId).returningAll().execute()

export const removeOld = (db: Db, now: Date) =>
  db.deleteFrom('invitation').where('expires_at', '<=', now).execute()
