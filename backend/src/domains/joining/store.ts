/**
 * SQL for join tokens and announced machines. Names of datacenters and servers are joined from
 * their tables.
 */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { joinTokenArrivals } from '#contract/join-tokens.ts'
import type { EarlyDocuments } from '#contract/images/early.ts'
import type { Labels } from '#contract/labels/selector.ts'
import type { Input } from '#contract/operation.ts'
import { counted } from '../../db/counted.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type TokenRow = Selectable<Tables['join_token']> & { datacenter_code: string | null }
export type ArrivalRow = Selectable<Tables['join_arrival']>
export type NewArrival = Insertable<Tables['join_arrival']> & { id: string }

/**
 * Arrivals are split into shards, each worked on by one process at a time, so that a hanging
 * machine delays few others.
 */
export const joinQueue = 'join'
export const shards = 8
/** The shard of an arrival: the first digit of its random UUID. */
export const shardOf = (arrivalId: string): number => Number.parseInt(arrivalId[0]!, 16) % shards

const joinTokens = (on: Db | Tx) =>
  on
    .selectFrom('join_token')
    .leftJoin('datacenter', 'datacenter.id', 'join_token.datacenter_id')
    .selectAll('join_token')
    .select('datacenter.code as datacenter_code')

/**
 * All join tokens. There are tens or hundreds, and their status is computed, so sorting and
 * filtering happen in memory.
 */
export const tokens = (on: Db | Tx): Promise<TokenRow[]> =>
  joinTokens(on).orderBy('join_token.created_at', 'desc').orderBy('join_token.id').execute()

export const token = (on: Db | Tx, id: string): Promise<TokenRow | undefined> =>
  joinTokens(on).where('join_token.id', '=', id).executeTakeFirst()

/** Locks in id order, so that concurrent calls wait instead of dead-locking. */
export const lockTokens = (tx: Tx, ids: readonly string[]): Promise<TokenRow[]> =>
  joinTokens(tx)
    .where('join_token.id', 'in', [...ids])
    .orderBy('join_token.id')
    .forUpdate('join_token')
    .execute()

/** The number of tokens that are not revoked. Until the transaction ends, no other adds one. */
export const unrevoked = (tx: Tx): Promise<number> =>
  counted(tx, 'join_token', sql`revoked_at is null`)

export const insertToken = (tx: Tx, row: Insertable<Tables['join_token']>) =>
  tx.insertInto('join_token').values(row).execute()

/** A change by a user: increments the version. */
export const changeToken = (
  tx: Tx,
  id: string,
  change: Updateable<Tables['join_token']>,
  at: Date,
) =>
  tx
    .updateTable('join_token')
    .set({ ...change, updated_at: at, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()

/**
 * A change by announcements. The version stays, so that a user's revocation isn't refused as stale.
 */
export const countUses = (tx: Tx, id: string, uses: number, at: Date) =>
  tx.updateTable('join_token').set({ uses, last_used_at: at }).where('id', '=', id).execute()

const readers: SqlReaders<typeof joinTokenArrivals.list> = {
  sort: { at: sql`at` },
  filters: {},
  search: containing('uuid', 'serial', 'address', 'mac', 'reason'),
  tie: sql`id`,
}

/**
 * A page of a token's arrivals, with the names of their servers, which may have been removed since.
 */
export function arrivals(db: Db, tokenId: string, query: Input<typeof joinTokenArrivals>['query']) {
  const serverName = sql<
    string | null
  >`(select name from server where server.id = join_arrival.server_id)`.as('server_name')
  return readPage(
    db.selectFrom('join_arrival').selectAll().select(serverName).where('token_id', '=', tokenId),
    joinTokenArrivals.list,
    readers,
    query,
  )
}
export type ShownArrival = Awaited<ReturnType<typeof arrivals>>['rows'][number]

/** Arrivals of these UUIDs with these tokens. */
export const arrivalsOf = (
  tx: Tx,
  tokenIds: readonly string[],
  uuids: readonly string[],
): Promise<ArrivalRow[]> =>
  tx
    .selectFrom('join_arrival')
    .selectAll()
    .where('token_id', 'in', [...tokenIds])
    .where('uuid', 'in', [...uuids])
    .execute()

const rewritten = [
  'serial',
  'mac',
  'address',
  'host_name',
  'early',
  'counted',
  'at',
  'result',
  'reason',
] as const
/** Inserts or overwrites rows. An existing row keeps its server. */
export async function writeArrivals(tx: Tx, rows: readonly NewArrival[]): Promise<void> {
  if (rows.length === 0) return
  await tx
    .insertInto('join_arrival')
    .values([...rows])
    .onConflict((c) =>
      c
        .column('id')
        .doUpdateSet((e) =>
          Object.fromEntries(rewritten.map((column) => [column, e.ref(`excluded.${column}`)])),
        ),
    )
    .execute()
}

/**
 * Stores a refused arrival for users to see, at most `most` per token. A row that was accepted
 * before is unchanged.
 */
export async function writeRefused(tx: Tx, row: NewArrival, most: number): Promise<void> {
  await sql`insert into join_arrival (id, token_id, uuid, serial, mac, address, at, result, reason, shard)
    select ${row.id}, ${row.token_id}, ${row.uuid}, ${row.serial}, ${row.mac}, ${row.address}, ${row.at}, 'refused', ${row.reason}, ${row.shard}
    where (select count(*) from join_arrival where token_id = ${row.token_id} and result = 'refused') < ${most}::int
    on conflict (token_id, uuid, address) do update set at = excluded.at, reason = excluded.reason, serial = excluded.serial, mac = excluded.mac
    where join_arrival.result = 'refused'`.execute(tx)
}

export type Waiting = ArrivalRow & {
  token_name: string
  token_revoked_at: Date | null
  datacenter_id: string | null
  /** Of new servers. */
  labels: Labels
  /** Documents of the image that the machine booted. */
  documents: EarlyDocuments | null
}

const waiting = (on: Db | Tx) =>
  on
    .selectFrom('join_arrival')
    .innerJoin('join_token', 'join_token.id', 'join_arrival.token_id')
    .leftJoin('early_documents', (join) =>
      join
        .onRef('early_documents.token_id', '=', 'join_arrival.token_id')
        .onRef('early_documents.digest', '=', 'join_arrival.early'),
    )
    .selectAll('join_arrival')
    .select([
      'early_documents.documents',
      'join_token.name as token_name',
      'join_token.revoked_at as token_revoked_at',
      'join_token.datacenter_id',
      'join_token.labels',
    ])
    .where('join_arrival.result', '=', 'waiting')

/** Arrivals that wait to be dialled, newest first: the newest have had the fewest tries. */
export const waitingIn = (db: Db, shard: number): Promise<Waiting[]> =>
  waiting(db)
    .where('join_arrival.shard', '=', shard)
    .orderBy('join_arrival.at', 'desc')
    .limit(2000)
    .execute()

/** Locks the row and returns it, if it still waits for a machine with this host name. */
export const lockWaiting = (
  tx: Tx,
  { id, host_name }: Pick<ArrivalRow, 'id' | 'host_name'>,
): Promise<Waiting | undefined> =>
  waiting(tx)
    .where('join_arrival.id', '=', id)
    .where('join_arrival.host_name', '=', host_name)
    .forUpdate('join_arrival')
    .executeTakeFirst()

/** How the wait for a machine ended. */
export type End = Pick<ArrivalRow, 'result' | 'reason'> & { readonly server_id?: string }

export const settle = (tx: Tx, id: string, how: End) =>
  tx
    .updateTable('join_arrival')
    .set({ ...how, host_name: null })
    .where('id', '=', id)
    .execute()

/**
 * Removes arrivals that were refused before `refusedBefore`, all arrivals of tokens that ended
 * before `tokensBefore`, and tokens that were revoked before, unless an image has the token. The
 * number of revoked tokens has no limit, and each list reads them all.
 */
export async function removeOld(
  db: Db,
  { refusedBefore, tokensBefore }: { refusedBefore: Date; tokensBefore: Date },
): Promise<void> {
  await db
    .deleteFrom('join_arrival')
    .where('result', '=', 'refused')
    .where('at', '<', refusedBefore)
    .execute()
  await db
    .deleteFrom('join_arrival')
    .where('at', '<', tokensBefore)
    .where(
      'token_id',
      'in',
      sql<string>`(select id from join_token where revoked_at < ${tokensBefore} or expires_at < ${tokensBefore})`,
    )
    .execute()
  await sql`
    delete from join_token t where revoked_at < ${tokensBefore}
      and not exists (select from join_arrival where token_id = t.id)
      and not exists (select from image where token_id = t.id)`.execute(db)
}

/** Documents of an image by their digest; undefined if the token has none of this digest. */
export const earlyDocuments = async (
  on: Db | Tx,
  tokenId: string,
  digest: string,
): Promise<EarlyDocuments | undefined> =>
  (
    await on
      .selectFrom('early_documents')
      .select('documents')
      .where('token_id', '=', tokenId)
      .where('digest', '=', digest)
      .executeTakeFirst()
  )?.documents

/** The number of sets of documents of a token. Until the transaction ends, no other adds one. */
export const earlyCount = (tx: Tx, tokenId: string): Promise<number> =>
  counted(tx, 'early_documents', sql`token_id = ${tokenId}`)

export const insertEarly = (
  tx: Tx,
  row: { token_id: string; digest: string; documents: EarlyDocuments; created_at: Date },
) =>
  tx
    .insertInto('early_documents')
    .values({ ...row, documents: JSON.stringify(row.documents) })
    .execute()

export const sealedKey = async (tx: Tx): Promise<Uint8Array | undefined> =>
  (await tx.selectFrom('join_key').select('key_sealed').executeTakeFirst())?.key_sealed
export const insertKey = (tx: Tx, key_sealed: Uint8Array) =>
  tx.insertInto('join_key').values({ key_sealed }).execute()
