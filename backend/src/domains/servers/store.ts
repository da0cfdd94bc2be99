/** SQL for servers and their contacts. */
import { Problem } from '#contract/errors.ts'
import type { Pool } from 'pg'
import { CompiledQuery, type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import { changesOf, happened } from '../../history.ts'
import { oneValue, valueStatement } from '../../db/one-value.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { reasons, type Remembered, remembered, stateOf } from './past.ts'

export type ServerRow = Selectable<Tables['server']> & {
  datacenter_code: string | null
  rack_name: string | null
}
/** A row as it is kept in memory: without its hardware, and without times that no list shows. */
export type ListedRow = Omit<
  ServerRow,
  'hardware' | 'hardware_at' | 'identity_since' | 'talos_noted_at' | 'updated_at'
>
export type NewServer = Insertable<Tables['server']>
export type ServerChange = Updateable<Omit<Tables['server'], 'version' | 'updated_at' | 'change'>>

/** Add the datacenter's code and the rack's name to the rows that an insert or update returns. */
const datacenterCode = sql<
  string | null
>`(select code from datacenter where datacenter.id = server.datacenter_id)`.as('datacenter_code')
const rackName = sql<string | null>`(select name from rack where rack.id = server.rack_id)`.as(
  'rack_name',
)

const servers = (on: Db | Tx) =>
  on
    .selectFrom('server')
    .leftJoin('datacenter', 'datacenter.id', 'server.datacenter_id')
    .leftJoin('rack', 'rack.id', 'server.rack_id')
    .selectAll('server')
    .select(['datacenter.code as datacenter_code', 'rack.name as rack_name'])

export const byId = (on: Db | Tx, id: string): Promise<ServerRow | undefined> =>
  servers(on).where('server.id', '=', id).executeTakeFirst()

export const missing = (id: string) => new Problem('not_found', `Server ${id} not found`)
/** @throws Problem not_found */
export function existing(row: ServerRow | undefined, id: string): ServerRow {
  if (!row) throw missing(id)
  return row
}
/** @throws Problem not_found, also if it was removed */
export const live = (row: ServerRow | undefined, id: string): ServerRow =>
  existing(row?.status === 'deleted' ? undefined : row, id)

const withIds = (on: Db | Tx, ids: readonly string[]) =>
  servers(on).where('server.id', '=', sql<string>`any(${ids}::uuid[])`)
export const byIds = (on: Db | Tx, ids: readonly string[]): Promise<ServerRow[]> =>
  withIds(on, ids).execute()

/** Servers with the times of their last contacts. */
export const withContacts = (on: Db | Tx, ids: readonly string[]) =>
  withIds(on, ids)
    .leftJoin('server_contact', 'server_contact.server_id', 'server.id')
    .select('server_contact.at as contact')
    .execute()

/** Locks in id order, so that concurrent calls wait instead of dead-locking. */
export const lock = (tx: Tx, ids: readonly string[]): Promise<ServerRow[]> =>
  withIds(tx, ids).orderBy('server.id').forUpdate('server').execute()

export const lockOne = async (tx: Tx, id: string): Promise<ServerRow | undefined> =>
  (await lock(tx, [id]))[0]

const liveServers = (on: Db | Tx) => servers(on).where('server.status', '<>', 'deleted')

export const lockByHardware = (tx: Tx, uuid: string, address: string): Promise<ServerRow[]> =>
  liveServers(tx)
    .where((e) => e.or([e('server.uuid', '=', uuid), e('server.address', '=', address)]))
    .orderBy('server.id')
    .forUpdate('server')
    .execute()

/** Removed servers with these UUIDs, the last removed one first. */
export const removedWith = (on: Db | Tx, uuids: readonly string[]) =>
  on
    .selectFrom('server')
    .select(['id', 'name', 'uuid', 'serial', 'identity_mac', 'removed_at'])
    .where('status', '=', 'deleted')
    .where('uuid', '=', sql<string>`any(${uuids}::text[])`)
    .orderBy('removed_at', 'desc')
    .execute()

/** UUIDs and addresses of servers with one of these UUIDs or addresses. */
export const knownAmong = (on: Db | Tx, uuids: readonly string[], addresses: readonly string[]) =>
  on
    .selectFrom('server')
    .select(['uuid', 'address'])
    .where('status', '<>', 'deleted')
    .where((e) =>
      e.or([
        e('uuid', '=', sql<string>`any(${uuids}::text[])`),
        e('address', '=', sql<string>`any(${addresses}::text[])`),
      ]),
    )
    .execute()

/**
 * Inserts servers and returns the new rows. A server whose name or identity is taken is not inserted
 * and is missing in the result.
 */
export async function insert(tx: Tx, rows: readonly NewServer[]): Promise<ServerRow[]> {
  const added = await tx
    .insertInto('server')
    .values(rows)
    .onConflict((c) => c.doNothing())
    .returningAll()
    .returning([datacenterCode, rackName])
    .execute()
  happened(
    tx,
    ...added.map((row) => ({
      kind: 'server_added' as const,
      object: { kind: 'server' as const, id: row.id, name: row.name },
      operation: row.operation_id,
      after: { ...stateOf(row) },
    })),
  )
  return added
}

/**
 * The row before the statement, which sees the table as it was: the remembered columns that the
 * change may alter.
 */
const rowBefore = (columns: readonly Remembered[]) =>
  sql<Pick<ServerRow, Remembered>>`(select jsonb_build_object(${sql.join(
    columns.flatMap((column) => [sql.lit(column), sql.ref(`o.${column}`)]),
  )}) from (select b.*, d.code as datacenter_code, r.name as rack_name from server b left join datacenter d on d.id = b.datacenter_id left join rack r on r.id = b.rack_id where b.id = server.id) as o)`.as(
    'row_before',
  )

/** Writes a change, bumps the version and returns the new row. The row must be locked. */
export async function update(
  tx: Tx,
  id: string,
  change: ServerChange,
  at: Date,
): Promise<ServerRow> {
  const changing = tx
    .updateTable('server')
    .set({ ...change, version: sql<number>`version + 1`, updated_at: at })
    .where('id', '=', id)
    .returningAll()
    .returning([datacenterCode, rackName])
  const columns = remembered(change)
  if (columns.length === 0) return changing.executeTakeFirstOrThrow()
  const { row_before: before, ...row } = await changing
    .returning(rowBefore(columns))
    .executeTakeFirstOrThrow()
  const [then, now] = [stateOf(before), stateOf(row)]
  happened(
    tx,
    ...changesOf({ kind: 'server', id, name: row.name }, then, now, {
      cluster: now.cluster ?? then.cluster ?? null,
      operation: row.operation_id ?? before.operation_id,
      more: reasons(row),
    }).map((entry) =>
      entry.after?.['status'] === 'deleted' ? { ...entry, kind: 'server_removed' as const } : entry,
    ),
  )
  return row
}

/** The servers that show a finding. */
export const withFindings = (on: Db | Tx) =>
  on.selectFrom('server').select(['id', 'finding']).where('finding', 'is not', null).execute()

/**
 * Stores the findings that servers show, and returns those that were written. Rows that another
 * transaction has locked are left out: waiting for them in this order could dead-lock.
 */
export async function writeFindings(
  tx: Tx,
  shown: readonly { readonly id: string; readonly finding: ServerRow['finding'] }[],
  at: Date,
): Promise<readonly { id: string; version: number }[]> {
  const texts = shown.map(({ finding }) => finding && JSON.stringify(finding))
  const { rows } = await sql<{ id: string; version: number }>`with free as (
      select server.id, s.finding
      from unnest(${shown.map(({ id }) => id)}::uuid[], ${texts}::jsonb[]) as s (id, finding)
      join server on server.id = s.id
      for update of server skip locked
    )
    update server set finding = free.finding, version = version + 1, updated_at = ${at}
    from free where server.id = free.id
    returning server.id, server.version`.execute(tx)
  return rows
}

/** Writes contacts that are newer than the stored ones. */
export async function writeContacts(
  on: Db | Tx,
  contacts: readonly { id: string; at: Date }[],
): Promise<void> {
  if (contacts.length === 0) return
  // Sorted, so that concurrent batches lock rows in the same order.
  const sorted = contacts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await sql`insert into server_contact (server_id, at)
    select c.id, c.at from unnest(${sorted.map((c) => c.id)}::uuid[], ${sorted.map((c) => c.at)}::timestamptz[]) as c (id, at)
    where exists (select from server where server.id = c.id)
    on conflict (server_id) do update set at = excluded.at where server_contact.at < excluded.at`.execute(
    on,
  )
}

/** Servers with a UUID. Boards may share one. */
export const withUuid = (on: Db | Tx, uuid: string): Promise<ServerRow[]> =>
  liveServers(on).where('server.uuid', '=', uuid).orderBy('server.id').execute()

/** Servers that have one of these marks. `boxes`: only those that nobody has booted yet. */
export const marked = async (
  on: Db | Tx,
  {
    uuids,
    serials,
    macs,
  }: { uuids: readonly string[]; serials: readonly string[]; macs: readonly string[] },
  which: 'all' | 'boxes' = 'all',
) => {
  const { rows } = await sql<{
    id: string
    name: string
    uuid: string | null
    serial: string | null
    bmc_id: string | null
    macs: string[] | null
  }>`select id, name, uuid, serial, bmc_id,
      (select array_agg(lower(port ->> 'hardware_addr')) from jsonb_array_elements(hardware -> 'interfaces') as port
        where port ->> 'hardware_addr' is not null) as macs
    from server where status <> 'deleted' and (stage = 'not_booted' or ${which === 'all'}) and (
      uuid = any(${uuids}::text[]) or serial = any(${serials}::text[])
      or exists (select from jsonb_array_elements(hardware -> 'interfaces') as port
        where lower(port ->> 'hardware_addr') = any(${macs}::text[])))
    order by id limit ${which === 'all' ? 64 : 10_000}`.execute(on)
  return rows
}

/** The server of the unique index `server_uuid` with these values. */
export const identified = (
  on: Db | Tx,
  {
    uuid,
    serial,
    identity_mac = null,
  }: { uuid: string; serial: string; identity_mac?: string | null },
): Promise<ServerRow | undefined> =>
  liveServers(on)
    .where('server.uuid', '=', uuid)
    .where(sql<boolean>`coalesce(server.serial, '') = ${serial}`)
    .where(sql<boolean>`coalesce(server.identity_mac, '') = ${identity_mac ?? ''}`)
    .executeTakeFirst()

export const inDatacenter = (on: Db | Tx, datacenterId: string): Promise<ServerRow[]> =>
  liveServers(on).where('server.datacenter_id', '=', datacenterId).execute()

/** Of the servers of a datacenter, by name. */
export const idsInDatacenter = async (on: Db | Tx, datacenterId: string): Promise<string[]> => {
  const rows = await on
    .selectFrom('server')
    .select('id')
    .where('datacenter_id', '=', datacenterId)
    .where('status', '<>', 'deleted')
    .orderBy(sql`name collate "C"`)
    .execute()
  return rows.map(({ id }) => id)
}

const reportedAddresses = sql<
  string[]
>`coalesce(jsonb_path_query_array(hardware, '$.links[*].addresses[*]'), '[]'::jsonb)`

/** Addresses of the servers of a datacenter but one; `reported` with their prefix. */
export const addressesBeside = (on: Db | Tx, datacenterId: string, id: string) =>
  on
    .selectFrom('server')
    .select(['name', 'address', 'cluster_id', reportedAddresses.as('reported')])
    .where('datacenter_id', '=', datacenterId)
    .where('status', '!=', 'deleted')
    .where('id', '!=', id)
    .execute()

/** Addresses of the servers of a cluster but one; `reported` with their prefix. */
export const addressesOfPeers = (on: Db | Tx, clusterId: string, id: string) =>
  on
    .selectFrom('server')
    .select(['name', 'address', reportedAddresses.as('reported')])
    .where('cluster_id', '=', clusterId)
    .where('status', '!=', 'deleted')
    .where('id', '!=', id)
    .orderBy('name')
    .execute()

/** Servers with these UUIDs or names. */
export const among = (
  on: Db | Tx,
  { uuids, names }: { uuids: readonly string[]; names: readonly string[] },
): Promise<ServerRow[]> =>
  liveServers(on)
    .where((e) =>
      e.or([
        e('server.uuid', '=', sql<string>`any(${uuids}::text[])`),
        e('server.name', '=', sql<string>`any(${names}::text[])`),
      ]),
    )
    .execute()

/** The last contacts of these servers, or of all. */
export async function contactsOf(on: Db | Tx, ids?: readonly string[]): Promise<Map<string, Date>> {
  const all = on.selectFrom('server_contact').select(['server_id', 'at'])
  const rows = await (
    ids ? all.where('server_id', '=', sql<string>`any(${ids}::uuid[])`) : all
  ).execute()
  return new Map(rows.map((r) => [r.server_id, r.at]))
}

const askSnapshot = valueStatement('snapshot', 'select pg_current_snapshot()::text')
/**
 * The database's current snapshot. As long as it stays the same, no transaction that wrote
 * something has ended. Asked without Kysely, which costs as much as the query itself: every list
 * asks.
 */
export const snapshot = (pool: Pool): Promise<string> => oneValue(pool, askSnapshot)

const changed = (table: string): string =>
  `${table}.change >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(${table}.change, $1::pg_snapshot)`
const allServers =
  'select server.*, datacenter.code as datacenter_code, rack.name as rack_name from server left join datacenter on datacenter.id = server.datacenter_id left join rack on rack.id = server.rack_id'
const askServers = `${allServers} where ${changed('server')}`
const askContacts = `select server_id, at from server_contact where ${changed('server_contact')}`
/**
 * Servers and contacts written by transactions that the snapshot `seen` doesn't include, in any
 * order of commits. Read the next snapshot before calling this function: a commit in between is
 * then reported twice instead of never.
 */
export async function changesSince(db: Db, seen: string) {
  const [{ rows }, { rows: contacts }] = await Promise.all([
    db.executeQuery<ServerRow>(CompiledQuery.raw(askServers, [seen])),
    db.executeQuery<{ server_id: string; at: Date }>(CompiledQuery.raw(askContacts, [seen])),
  ])
  return { rows, contacts }
}

const askNext = `${allServers} where server.id > $1 order by server.id limit $2`
/**
 * The next servers by id, for reading all of them in small portions. Asked without Kysely, which
 * would build the same query hundreds of times.
 */
export const after = async (db: Db, id: string, most: number): Promise<ServerRow[]> =>
  (await db.executeQuery<ServerRow>(CompiledQuery.raw(askNext, [id, most]))).rows
