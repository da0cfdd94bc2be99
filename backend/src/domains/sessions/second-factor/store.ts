/**
 * SQL for second factors: authenticator apps, recovery codes, passkeys. Nothing else uses these
 * tables.
 */
import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'

export type PasskeyRow = Selectable<Tables['passkey']>
export interface Factors {
  readonly totp_since: Date | null
  readonly passkeys: number
  readonly recovery_codes: number
}

export const factors = async (db: Db | Tx, personId: string): Promise<Factors> => {
  const { rows } = await sql<Factors>`select
    (select since from totp where person_id = ${personId}) as totp_since,
    (select count(*)::int from passkey where person_id = ${personId}) as passkeys,
    (select count(*)::int from recovery_code where person_id = ${personId}) as recovery_codes`.execute(
    db,
  )
  return rows[0]!
}

/** Locks the person's row, so that changes of the second factors are serialised. */
export const lockPerson = (tx: Tx, personId: string) =>
  tx
    .selectFrom('person')
    .select(['id', 'role'])
    .where('id', '=', personId)
    .forUpdate()
    .executeTakeFirstOrThrow()

export const totp = (db: Db | Tx, personId: string) =>
  db.selectFrom('totp').selectAll().where('person_id', '=', personId).executeTakeFirst()

export const putPending = (
  tx: Tx,
  pending: { person_id: string; pending_sealed: Uint8Array; pending_until: Date },
) =>
  tx
    .insertInto('totp')
    .values(pending)
    .onConflict((c) =>
      c.column('person_id').doUpdateSet({
        pending_sealed: pending.pending_sealed,
        pending_until: pending.pending_until,
      }),
    )
    .execute()

/** Makes the pending app the person's app. `step`: the time step of the code that confirmed it. */
export const confirmPending = (
  tx: Tx,
  personId: string,
  { step, at }: { step: number; at: Date },
) =>
  tx
    .updateTable('totp')
    .set((e) => ({
      secret_sealed: e.ref('pending_sealed'),
      since: at,
      last_step: step,
      pending_sealed: null,
      pending_until: null,
    }))
    .where('person_id', '=', personId)
    .execute()

/**
 * Records that the code of a time step was used. Returns false if a code of this step or of a later
 * one was used before.
 */
export async function spendStep(tx: Tx, personId: string, step: number): Promise<boolean> {
  const row = await tx
    .updateTable('totp')
    .set({ last_step: step })
    .where('person_id', '=', personId)
    .where('secret_sealed', 'is not', null)
    .where((e) => e.or([e('last_step', 'is', null), e('last_step', '<', step)]))
    .returning('person_id')
    .executeTakeFirst()
  return row !== undefined
}

/** Returns whether the person had an app. */
export const removeTotp = async (tx: Tx, personId: string): Promise<boolean> =>
  ((
    await tx
      .deleteFrom('totp')
      .where('person_id', '=', personId)
      .returning('since')
      .executeTakeFirst()
  )?.since ?? null) !== null

export const putRecoveryCodes = async (
  tx: Tx,
  personId: string,
  hashes: readonly Uint8Array[],
): Promise<void> => {
  await removeRecoveryCodes(tx, personId)
  await tx
    .insertInto('recovery_code')
    .values(hashes.map((hash) => ({ person_id: personId, hash })))
    .execute()
}

/** Uses up a code. Returns whether it existed. */
export const spendRecoveryCode = async (
  tx: Tx,
  personId: string,
  hash: Uint8Array,
): Promise<boolean> =>
  (await tx
    .deleteFrom('recovery_code')
    .where('person_id', '=', personId)
    .where('hash', '=', hash)
    .returning('person_id')
    .executeTakeFirst()) !== undefined

export const removeRecoveryCodes = (tx: Tx, personId: string) =>
  tx.deleteFrom('recovery_code').where('person_id', '=', personId).execute()

export const passkeys = (db: Db | Tx, personId: string): Promise<PasskeyRow[]> =>
  db
    .selectFrom('passkey')
    .selectAll()
    .where('person_id', '=', personId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()

export const passkeyOf = (db: Db, credentialId: string): Promise<PasskeyRow | undefined> =>
  db.selectFrom('passkey').selectAll().where('credential_id', '=', credentialId).executeTakeFirst()

export const hasPasskey = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.selectFrom('passkey').select('id').where('id', '=', id).executeTakeFirst()) !==
  undefined

/** Undefined if the passkey is known already. */
export const insertPasskey = (
  tx: Tx,
  passkey: Insertable<Tables['passkey']>,
): Promise<PasskeyRow | undefined> =>
  tx
    .insertInto('passkey')
    .values(passkey)
    .onConflict((c) => c.doNothing())
    .returningAll()
    .executeTakeFirst()

/**
 * Records a use of a passkey. Returns false if its counter has changed since it was read: the same
 * answer was given twice at once.
 */
export async function usePasskey(
  db: Db,
  { id, counter }: Pick<PasskeyRow, 'id' | 'counter'>,
  next: { counter: number; backed_up: boolean; at: Date },
): Promise<boolean> {
  const row = await db
    .updateTable('passkey')
    .set({ counter: next.counter, backed_up: next.backed_up, last_used_at: next.at })
    .where('id', '=', id)
    .where('counter', '=', counter)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export const renamePasskey = (
  tx: Tx,
  { id, personId, name }: { id: string; personId: string; name: string },
): Promise<PasskeyRow | undefined> =>
  tx
    .updateTable('passkey')
    .set({ name })
    .where('id', '=', id)
    .where('person_id', '=', personId)
    .returningAll()
    .executeTakeFirst()

/** Removes one passkey of a person, or all. Returns the number of removed ones. */
export async function removePasskeys(tx: Tx, personId: string, id?: string): Promise<number> {
  const theirs = tx.deleteFrom('passkey').where('person_id', '=', personId)
  return (await (id === undefined ? theirs : theirs.where('id', '=', id)).returning('id').execute())
    .length
}
