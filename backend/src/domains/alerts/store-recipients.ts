/** SQL for the recipients of mails: the outcome for each, and when it is tried next. */
import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type RecipientRow = Selectable<Tables['delivery_recipient']>

export const recipientsOf = (on: Db | Tx, deliveryId: string): Promise<RecipientRow[]> =>
  on
    .selectFrom('delivery_recipient')
    .selectAll()
    .where('delivery_id', '=', deliveryId)
    .orderBy('address')
    .execute()

/**
 * Makes the recipients of a mail those of its channel: the channel may have been changed since the
 * last attempt. Who got the mail stays.
 */
export async function follow(
  tx: Tx,
  deliveryId: string,
  addresses: readonly string[],
  at: Date,
): Promise<void> {
  await tx
    .insertInto('delivery_recipient')
    .values(
      [...new Set(addresses)].map((address) => ({ delivery_id: deliveryId, address, next_at: at })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await tx
    .updateTable('delivery_recipient')
    .set({ next_at: null, arrived: false, problem: 'It is no recipient of the channel any more' })
    .where('delivery_id', '=', deliveryId)
    .where('next_at', 'is not', null)
    .where('address', '<>', sql<string>`all(${addresses}::text[])`)
    .execute()
}

/** Records what became of a recipient. `next_at`: when it is tried again; null: it has ended. */
export const tried = (
  tx: Tx,
  deliveryId: string,
  {
    address,
    ...outcome
  }: Pick<RecipientRow, 'address' | 'attempts' | 'next_at' | 'arrived' | 'status' | 'problem'>,
) =>
  tx
    .updateTable('delivery_recipient')
    .set(outcome)
    .where('delivery_id', '=', deliveryId)
    .where('address', '=', address)
    .execute()

/** The recipients that wait are given up with their mail. */
export const giveUpWith = (tx: Tx, deliveryId: string, problem: string) =>
  tx
    .updateTable('delivery_recipient')
    .set({ next_at: null, arrived: false, problem })
    .where('delivery_id', '=', deliveryId)
    .where('next_at', 'is not', null)
    .execute()

/**
 * The mail is sent again to those that have not got it; if all have, to all.
 */
export async function beginAgain(tx: Tx, deliveryId: string, at: Date): Promise<void> {
  const rows = await recipientsOf(tx, deliveryId)
  const lacks = rows.filter((row) => row.arrived !== true)
  await tx
    .updateTable('delivery_recipient')
    .set({ next_at: at, arrived: null })
    .where('delivery_id', '=', deliveryId)
    .where(
      'address',
      '=',
      sql<string>`any(${(lacks.length > 0 ? lacks : rows).map((row) => row.address)}::text[])`,
    )
    .execute()
}
