/** SQL for offers, the search for the offer of a cluster, and the nonces of proofs. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { offerList } from '#contract/marketplace/offers.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type OfferRow = Selectable<Tables['offer']> & {
  readonly cluster_name: string | null
  readonly datacenter_code: string | null
}
export type OfferColumns = Updateable<Tables['offer']>

const listed = (on: On) =>
  on
    .selectFrom('offer')
    .leftJoin('cluster', 'cluster.id', 'offer.cluster_id')
    .leftJoin('datacenter', 'datacenter.id', 'offer.datacenter_id')
    .selectAll('offer')
    .select(['cluster.name as cluster_name', 'datacenter.code as datacenter_code'])

const readers: SqlReaders<typeof offerList.list> = {
  sort: {
    cluster: sql.ref('cluster.name'),
    datacenter: sql.ref('datacenter.code'),
    compute_units: sql`(offer.resources->>'compute_units')::int`,
    status: sql.ref('offer.status'),
    created_at: sql.ref('offer.created_at'),
  },
  filters: {
    status: (status) => sql`offer.status = ${status}`,
    datacenter: (wanted) =>
      sql`(datacenter.code = ${wanted} or offer.datacenter_id::text = ${wanted})`,
    cluster: (wanted) => sql`(cluster.name = ${wanted} or offer.cluster_id::text = ${wanted})`,
  },
  search: containing(
    'offer.id',
    'cluster.name',
    'datacenter.code',
    'offer.access_address',
    'offer.status',
  ),
  tie: sql`offer.id`,
  nullsLast: true,
}

export const page = (
  db: Db,
  query: Input<typeof offerList>['query'],
): Promise<{ rows: OfferRow[]; total: number }> =>
  readPage(listed(db), offerList.list, readers, query)

export const find = (on: On, id: string): Promise<OfferRow | undefined> =>
  listed(on).where('offer.id', '=', id).executeTakeFirst()

export const ofCluster = (on: On, clusterId: string): Promise<OfferRow | undefined> =>
  listed(on).where('offer.cluster_id', '=', clusterId).executeTakeFirst()

/**
 * The offer, with its row locked until the transaction ends. A lock on the cluster, if it is
 * needed, is taken before this one.
 */
export async function lock(tx: Tx, id: string): Promise<OfferRow | undefined> {
  const held = await tx
    .selectFrom('offer')
    .select('id')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return held && find(tx, id)
}

export const insert = (tx: Tx, offer: Insertable<Tables['offer']>) =>
  tx.insertInto('offer').values(offer).execute()

/** Changes columns that users see, increments the version and returns the new row. */
export async function update(
  tx: Tx,
  id: string,
  change: OfferColumns,
  at: Date,
): Promise<OfferRow> {
  await tx
    .updateTable('offer')
    .set({ ...change, updated_at: at, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()
  return (await find(tx, id))!
}

/** Records another proof. The version stays, so that a proof never makes a user's change stale. */
export const noteProof = (tx: Tx, id: string, at: Date) =>
  tx.updateTable('offer').set({ proven_at: at }).where('id', '=', id).execute()

/** The living cluster whose key has this address. */
export const clusterOfAddress = (
  on: On,
  address: string,
): Promise<{ id: string; name: string } | undefined> =>
  on
    .selectFrom('cluster')
    .select(['id', 'name'])
    .where('chain_address', '=', address)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()

/** Stores a used nonce. False if it was used before. */
export async function spendNonce(tx: Tx, nonce: string, expiresAt: Date): Promise<boolean> {
  const made = await tx
    .insertInto('offer_proof')
    .values({ nonce, expires_at: expiresAt })
    .onConflict((c) => c.doNothing())
    .returning('nonce')
    .executeTakeFirst()
  return made !== undefined
}

export const removeNonces = (db: Db, before: Date) =>
  db.deleteFrom('offer_proof').where('expires_at', '<', before).execute()

/** Begins the search for a cluster's offer, or begins it again. */
export const openSearch = (tx: Tx, clusterId: string, since: Date) =>
  tx
    .insertInto('offer_detection')
    .values({ cluster_id: clusterId, since })
    .onConflict((c) => c.column('cluster_id').doUpdateSet({ since, ended_at: null }))
    .execute()

export const endSearch = (tx: Tx, clusterId: string, at: Date) =>
  tx
    .updateTable('offer_detection')
    .set({ ended_at: at })
    .where('cluster_id', '=', clusterId)
    .where('ended_at', 'is', null)
    .execute()

export const removeSearch = (tx: Tx, clusterId: string) =>
  tx.deleteFrom('offer_detection').where('cluster_id', '=', clusterId).execute()

export type Search = Awaited<ReturnType<typeof searches>>[number]
/** The searches for offers of clusters that exist, are not being deleted, and have no offer. */
export const searches = (on: On) =>
  on
    .selectFrom('offer_detection')
    .innerJoin('cluster', 'cluster.id', 'offer_detection.cluster_id')
    .leftJoin('offer', 'offer.cluster_id', 'cluster.id')
    .select([
      'offer_detection.cluster_id',
      'offer_detection.since',
      'offer_detection.ended_at',
      'cluster.ready_at',
      'cluster.status',
    ])
    .where('cluster.deleted_at', 'is', null)
    .where('cluster.wanted', '=', 'ready')
    .where('offer.id', 'is', null)
    .orderBy('cluster.created_at')
    .execute()

/**
 * Offers without a cluster, with the cluster that they belong to: the one whose address is the
 * offer's access address, or else the one that has more than half of the offer's servers. At most
 * one offer for each cluster without an offer.
 */
export async function matches(on: On): Promise<{ cluster_id: string; offer_id: string }[]> {
  const { rows } = await sql<{ cluster_id: string; offer_id: string }>`
    with shared as (
      select offer.id, member.cluster_id, count(*) as servers
      from offer join cluster_server member on member.node_id = any(offer.node_ids) and member.released_at is null and member.wanted = 'joined'
      where offer.cluster_id is null
      group by offer.id, member.cluster_id
    ), candidate as (
      select offer.id as offer_id, cluster.id as cluster_id, 0 as rank, offer.updated_at
      from offer join cluster on cluster.chain_address = offer.access_address
      where offer.cluster_id is null
      union all
      select offer.id, shared.cluster_id, 1, offer.updated_at
      from shared join offer on offer.id = shared.id
      where 2 * shared.servers > cardinality(offer.node_ids)
    )
    select * from (
      select distinct on (candidate.cluster_id) candidate.cluster_id, candidate.offer_id, candidate.rank
      from candidate join cluster on cluster.id = candidate.cluster_id
      where cluster.deleted_at is null and cluster.wanted = 'ready' and not exists (select from offer own where own.cluster_id = cluster.id)
      order by candidate.cluster_id, candidate.rank, candidate.updated_at desc, candidate.offer_id
    ) best order by rank`.execute(on)
  return rows
}

/**
 * The offer of each of these clusters, whether it has the cluster's address, and since when
 * Steelyard looks for it.
 */
export const statesOf = (on: On, clusterIds: readonly string[]) =>
  on
    .selectFrom('cluster')
    .leftJoin('offer', 'offer.cluster_id', 'cluster.id')
    .leftJoin('offer_detection', (join) =>
      join
        .onRef('offer_detection.cluster_id', '=', 'cluster.id')
        .on('offer_detection.ended_at', 'is', null),
    )
    .select(['cluster.id', 'offer.id as offer_id', 'offer_detection.since'])
    .select(
      sql<boolean>`coalesce(offer.access_address = cluster.chain_address, false)`.as(
        'is_address_set',
      ),
    )
    .where('cluster.id', '=', sql<string>`any(${clusterIds}::uuid[])`)
    .execute()
