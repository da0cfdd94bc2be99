/** SQL for capacity commitments. The names of servers, clusters and datacenters are only read. */
import {
  type Insertable,
  type RawBuilder,
  type Selectable,
  sql,
  type SqlBool,
  type Updateable,
} from 'kysely'
import { ccList, ccStatuses, openCcStatuses, type ccCounts } from '#contract/marketplace/ccs.ts'
import { type OfferStatus } from '#contract/marketplace/offers.ts'
import type { Input } from '#contract/operation.ts'
import { type Db, likePattern, type Tx } from '../../db/db.ts'
import { containing, exactly, narrowed, readPage, type SqlReaders, within } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx

/** A commitment with everything that is shown. */
export interface CcRow extends Selectable<Tables['capacity_commitment']> {
  readonly server_name: string
  readonly server_status: 'ready' | 'maintenance' | 'deleted'
  readonly server_removed_at: Date | null
  readonly unreachable_since: Date | null
  readonly cluster_id: string | null
  readonly cluster_name: string | null
  readonly datacenter_id: string | null
  readonly datacenter_code: string | null
  readonly offer_status: OfferStatus | null
  readonly offer_access_address: string | null
  readonly offer_proven_at: Date | null
}

/**
 * Left joins, although each commitment has a server: PostgreSQL leaves out such a join if only the
 * number of rows is needed.
 */
const listed = (on: On) =>
  on
    .selectFrom('capacity_commitment as cc')
    .leftJoin('server', 'server.id', 'cc.server_id')
    .leftJoin('datacenter', 'datacenter.id', 'server.datacenter_id')
    .leftJoin('offer', 'offer.id', 'cc.offer_id')

const whole = (on: On) =>
  listed(on)
    .selectAll('cc')
    .select([
      sql<string>`server.name`.as('server_name'),
      sql<CcRow['server_status']>`server.status`.as('server_status'),
      'server.removed_at as server_removed_at',
      // A server doesn't answer while an operation installs or restarts it.
      sql<Date | null>`case when not server.reachable and server.status <> 'deleted' and server.operation_id is null then server.unreachable_since end`.as(
        'unreachable_since',
      ),
      'server.cluster_id',
      'server.cluster_name',
      'server.datacenter_id',
      'datacenter.code as datacenter_code',
      'offer.status as offer_status',
      'offer.access_address as offer_access_address',
      'offer.proven_at as offer_proven_at',
    ])

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ofServers = containing('s.name', 's.cluster_name')

/**
 * Searches the servers instead of each commitment with its server, and offer ids only for text that
 * can be part of one: a fifth of the work.
 */
function search(q: string): RawBuilder<SqlBool> {
  if (uuidPattern.test(q)) return sql`(cc.id = ${q}::uuid or cc.server_id = ${q}::uuid)`
  const ofServer = sql<SqlBool>`cc.server_id in (select s.id from server s where ${ofServers(q)})`
  return /^[0-9a-fx]+$/i.test(q)
    ? sql`(${ofServer} or cc.offer_id like ${likePattern(q.toLowerCase())})`
    : ofServer
}

const readers: SqlReaders<typeof ccList.list> = {
  sort: {
    server: sql`server.name collate "C"`,
    datacenter: sql`datacenter.code collate "C"`,
    cluster: sql`server.cluster_name collate "C"`,
    compute_units: sql`cc.compute_units`,
    vcpu: sql`cc.cores`,
    memory: sql`cc.memory_bytes`,
    disk: sql`cc.disk_bytes`,
    price: sql`cc.hourly`,
    expires_at: sql`cc.expires_at`,
    status: sql`array_position(${[...ccStatuses]}::text[], cc.status)`,
    created_at: sql`cc.created_at`,
  },
  filters: {
    status: (wanted) => sql`cc.status = ${wanted}`,
    datacenter: (wanted) =>
      sql`server.datacenter_id in (select d.id from datacenter d where d.code = ${wanted} or d.id::text = ${wanted})`,
    cluster: (wanted) =>
      sql`(server.cluster_name = ${wanted} or server.cluster_id::text = ${wanted})`,
    // Whole numbers, so that the index can be used.
    cu: (range) =>
      within(
        sql`cc.compute_units`,
        range,
        (text) => sql`ceil(${exactly(text)})::bigint`,
        (text) => sql`floor(${exactly(text)})::bigint`,
      ),
    price: (range) => within(sql`cc.hourly`, range),
    currency: (wanted) => sql`cc.currency = ${wanted}`,
    server: (wanted) =>
      sql`cc.server_id in (select s.id from server s where s.name = ${wanted} or s.id::text = ${wanted})`,
  },
  search,
  tie: sql`cc.created_at desc, cc.id`,
  nullsLast: true,
}

/**
 * Only ids are sorted, because whole rows of many commitments don't fit into the memory of a sort.
 */
export async function page(
  on: On,
  query: Input<typeof ccList>['query'],
): Promise<{ rows: CcRow[]; total: number }> {
  const { rows: ids, total } = await readPage(
    listed(on).select('cc.id'),
    ccList.list,
    readers,
    query,
  )
  if (ids.length === 0) return { rows: [], total }
  const found = new Map(
    (
      await whole(on)
        .where(
          'cc.id',
          'in',
          ids.map(({ id }) => id),
        )
        .execute()
    ).map((row) => [row.id, row]),
  )
  // A commitment is never deleted.
  return { rows: ids.map(({ id }) => found.get(id)!), total }
}

/** Number of matching commitments by status. A status without any is missing. */
export const counts = (on: On, query: Input<typeof ccCounts>['query']) =>
  narrowed(listed(on), ccList.list, readers, query)
    .select(['cc.status', sql<number>`count(*)::int`.as('n')])
    .groupBy('cc.status')
    .execute()

export const byId = (on: On, id: string): Promise<CcRow | undefined> =>
  whole(on).where('cc.id', '=', id).executeTakeFirst()

/** The id of the server of a commitment, which never changes. */
export const serverOf = async (on: On, id: string): Promise<string | undefined> =>
  (
    await on
      .selectFrom('capacity_commitment')
      .select('server_id')
      .where('id', '=', id)
      .executeTakeFirst()
  )?.server_id

/** Locks a commitment until the transaction ends. The row of its server must be locked before. */
export async function locked(tx: Tx, id: string): Promise<CcRow | undefined> {
  await tx.selectFrom('capacity_commitment').select('id').where('id', '=', id).forUpdate().execute()
  return byId(tx, id)
}

/** The commitment of a server that has not ended. */
export const openOf = (on: On, serverId: string) =>
  on
    .selectFrom('capacity_commitment')
    .select(['id', 'status'])
    .where('server_id', '=', serverId)
    .where('status', 'in', openCcStatuses)
    .executeTakeFirst()

/** The drafts of these servers. */
export const draftsOf = (on: On, serverIds: readonly string[]): Promise<CcRow[]> =>
  serverIds.length === 0
    ? Promise.resolve([])
    : whole(on)
        .where('cc.server_id', 'in', serverIds)
        .where('cc.status', '=', 'not_committed')
        .execute()

/** The commitment that lists of servers show: the newest that was not removed. */
export const shownOf = (on: On, serverId: string) =>
  on
    .selectFrom('capacity_commitment')
    .select(['id', 'status'])
    .where('server_id', '=', serverId)
    .where('status', '<>', 'removed')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()

/** Whether there is an offer with this id. Offers are never deleted. */
export const hasOffer = async (on: On, id: string): Promise<boolean> =>
  (await on.selectFrom('offer').select('id').where('id', '=', id).executeTakeFirst()) !== undefined

export const insert = async (
  tx: Tx,
  row: Insertable<Tables['capacity_commitment']>,
): Promise<string> =>
  (await tx.insertInto('capacity_commitment').values(row).returning('id').executeTakeFirstOrThrow())
    .id

export type CcColumns = Omit<
  Updateable<Tables['capacity_commitment']>,
  'id' | 'server_id' | 'version'
>

/** Writes a change, bumps the version and returns the new row. The row must be locked. */
export async function update(tx: Tx, id: string, change: CcColumns): Promise<CcRow> {
  await tx
    .updateTable('capacity_commitment')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()
  return (await byId(tx, id))!
}

/** Records at which reading of the hardware the capacity was compared, without a new version. */
export const noteMeasured = (tx: Tx, id: string, at: Date | null) =>
  tx.updateTable('capacity_commitment').set({ measured_at: at }).where('id', '=', id).execute()

/**
 * Ids of commitments that need a look: due, of a removed server, or without the newest capacity of
 * a draft or an unknown one.
 */
export async function overdue(on: On, now: Date, most: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from capacity_commitment where due_at <= ${now}
    union
    select cc.id from capacity_commitment cc join server s on s.id = cc.server_id
      where s.status = 'deleted' and cc.status in ('waiting_delegation', 'active')
    union
    select cc.id from capacity_commitment cc join server s on s.id = cc.server_id
      where cc.status in ('not_committed', 'waiting_delegation', 'waiting_start', 'active') and (cc.status = 'not_committed' or cc.compute_units is null)
        and s.status <> 'deleted' and s.hardware_at is not null and s.hardware_at is distinct from cc.measured_at
    limit ${most}`.execute(on)
  return rows.map((r) => r.id)
}
