/** SQL for API tokens. Nothing else uses this table. */
import { type Insertable, type Selectable, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { apiTokenList } from '#contract/people/api-tokens.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type TokenRow = Selectable<Tables['api_token']> &
  Pick<Selectable<Tables['person']>, 'email' | 'role' | 'disabled_at'> & { person_name: string }

const withPerson = (db: Db | Tx) =>
  db
    .selectFrom('api_token')
    .innerJoin('person', 'person.id', 'api_token.person_id')
    .selectAll('api_token')
    .select(['person.email', 'person.role', 'person.disabled_at', 'person.name as person_name'])

export const byHash = (db: Db, hash: Buffer): Promise<TokenRow | undefined> =>
  withPerson(db).where('api_token.hash', '=', hash).executeTakeFirst()
export const byId = (db: Db | Tx, id: string): Promise<TokenRow | undefined> =>
  withPerson(db).where('api_token.id', '=', id).executeTakeFirst()
export const byIds = (db: Db, ids: readonly string[]): Promise<TokenRow[]> =>
  withPerson(db).where('api_token.id', 'in', ids).execute()

const readersAt = (now: Date): SqlReaders<typeof apiTokenList.list> => ({
  sort: {
    name: sql`api_token.name`,
    expires_at: sql`api_token.expires_at`,
    last_used_at: sql`api_token.last_used_at`,
    created_at: sql`api_token.created_at`,
  },
  filters: {
    status: (status) =>
      status === 'usable'
        ? sql`api_token.expires_at > ${now}`
        : sql`api_token.expires_at <= ${now}`,
  },
  search: containing('api_token.name', 'person.email'),
  tie: sql`api_token.id`,
  nullsLast: true,
})

/** A page of a person's tokens, or of everybody's if `personId` is undefined. */
export function page(
  db: Db,
  query: Input<typeof apiTokenList>['query'],
  { personId, now }: { personId: string | undefined; now: Date },
) {
  const all = withPerson(db)
  return readPage(
    personId === undefined ? all : all.where('api_token.person_id', '=', personId),
    apiTokenList.list,
    readersAt(now),
    query,
  )
}

export const count = async (tx: Tx, personId: string): Promise<number> =>
  (
    await tx
      .selectFrom('api_token')
      .select(sql<number>`count(*)::int`.as('n'))
      .where('person_id', '=', personId)
      .executeTakeFirstOrThrow()
  ).n

export const insert = async (tx: Tx, token: Insertable<Tables['api_token']>): Promise<string> =>
  (await tx.insertInto('api_token').values(token).returning('id').executeTakeFirstOrThrow()).id

export const isSessionOpen = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx
    .selectFrom('session')
    .select('id')
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()) !== undefined

export const touch = (db: Db, id: string, at: Date, ip: string) =>
  db
    .updateTable('api_token')
    .set({ last_used_at: at, last_used_ip: ip })
    .where('id', '=', id)
    .execute()

export const ofPerson = (tx: Tx, personId: string): Promise<TokenRow[]> =>
  withPerson(tx)
    .where('api_token.person_id', '=', personId)
    .orderBy('api_token.created_at')
    .execute()

/** Returns whether the token existed. */
export const remove = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.deleteFrom('api_token').where('id', '=', id).returning('id').executeTakeFirst()) !==
  undefined

export const removeOld = (db: Db, before: Date) =>
  db.deleteFrom('api_token').where('expires_at', '<', before).execute()
