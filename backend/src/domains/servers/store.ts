/** SQL for servers. Only the patches domain also uses `patch`. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type ServerRow = Omit<Selectable<Tables['server']>, 'change'> & { datacenter_code: string | null }
export type NewServer = Insertable<Tables['server']>
export type ServerChange = Updateable<Omit<Tables['server'], 'version' | 'updated_at' | 'change'>>

const columns = [
  'server.id',
  'server.name',
  'server.status',
  'server.type',
  'server.datacenter_id',
  'server.cluster_id',
  'server.cluster_name',
  'server.operation_id',
  'server.address',
  'server.identity_state',
  'server.identity_since',
  'server.identity_note',
  'server.uuid',
  'server.serial',
  'server.manufacturer',
  'server.product',
  'server.seen_uuid',
  'server.seen_serial',
  'server.predecessor_id',
  'server.fingerprint',
  'server.hardware',
  'server.hardware_at',
  'server.stage',
  'server.unmet',
  'server.talos_version',
  'server.schematic',
  'server.secure_boot',
  'server.system_disk',
  'server.reachable',
  'server.unreachable_since',
  'server.reason',
  'server.node_ready',
  'server.node_reason',
  'server.node_since',
  'server.drift_since',
  'server.drift_seen',
  'server.patch_count',
  'server.patch_links',
  'server.version',
  'server.created_at',
  'server.updated_at',
  'server.removed_at',
] as const

/** For the row that is written. */
const datacenterCode = sql<string | null>`(select code from datacenter where datacenter.id = server.datacenter_id)`.as('datacenter_code')

const servers = (on: Db | Tx) =>
  on.selectFrom('server').leftJoin('datacenter', 'datacenter.id', 'server.datacenter_id').select(columns).select('datacenter.code as datacenter_code')

export const byId = (on: Db | Tx, id: string): Promise<ServerRow | undefined> => servers(on).where('server.id', '=', id).executeTakeFirst()

export const byIds = (on: Db | Tx, ids: readonly string[]): Promise<ServerRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : servers(on)
        .where('server.id', 'in', [...ids])
        .execute()

/** Locks in id order, so that concurrent calls wait instead of dead-locking. */
export const lock = (tx: Tx, ids: readonly string[]): Promise<ServerRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : servers(tx)
        .where('server.id', 'in', [...ids])
        .orderBy('server.id')
        .forUpdate('server')
        .execute()

export const lockOne = async (tx: Tx, id: string): Promise<ServerRow | undefined> => (await lock(tx, [id]))[0]

export const live = (on: Db | Tx) => servers(on).where('server.status', '<>', 'deleted')

export const lockByHardware = (tx: Tx, uuid: string, address: string): Promise<ServerRow[]> =>
  live(tx)
    .where((e) => e.or([e('server.uuid', '=', uuid), e('server.address', '=', address)]))
    .orderBy('server.id')
    .forUpdate('server')
    .execute()

/** The last removed server with this hardware. */
export const removedByHardware = (on: Db | Tx, uuid: string, serial: string | null): Promise<ServerRow | undefined> =>
  servers(on)
    .where('server.status', '=', 'deleted')
    .where('server.uuid', '=', uuid)
    .where('server.serial', 'is not distinct from', serial)
    .orderBy('server.removed_at', 'desc')
    .executeTakeFirst()

/** undefined if the name or UUID is taken; the caller finds out which. */
export function insert(tx: Tx, server: NewServer): Promise<ServerRow | undefined> {
  return tx
    .insertInto('server')
    .values(server)
    .onConflict((c) => c.doNothing())
    .returning(columns)
    .returning(datacenterCode)
    .executeTakeFirst()
}

export const hasUuid = async (tx: Tx, uuid: string): Promise<boolean> =>
  (await tx.selectFrom('server').select('id').where('uuid', '=', uuid).where('status', '<>', 'deleted').executeTakeFirst()) !== undefined

/** Writes a change, bumps the version and returns the new row. The row must be locked. */
export function update(tx: Tx, id: string, change: ServerChange, at: Date): Promise<ServerRow> {
  return tx
    .updateTable('server')
    .set({ ...change, version: sql<number>`version + 1`, updated_at: at })
    .where('id', '=', id)
    .returning(columns)
    .returning(datacenterCode)
    .executeTakeFirstOrThrow()
}

/** Writes contacts that are newer than the stored ones. */
export async function writeContacts(tx: Tx, contacts: readonly { id: string; at: Date }[]): Promise<void> {
  if (contacts.length === 0) return
  // Sorted, so that concurrent batches lock rows in the same order.
  const sorted = contacts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await sql`insert into server_contact (server_id, at)
    select c.id, c.at from unnest(${sorted.map((c) => c.id)}::uuid[], ${sorted.map((c) => c.at)}::timestamptz[]) as c (id, at)
    where exists (select from server where server.id = c.id)
    on conflict (server_id) do update set at = excluded.at where server_contact.at < excluded.at`.execute(tx)
}

export const liveByUuid = (on: Db | Tx, uuid: string): Promise<ServerRow | undefined> => live(on).where('server.uuid', '=', uuid).executeTakeFirst()

export const inDatacenter = (on: Db | Tx, datacenterId: string): Promise<ServerRow[]> => live(on).where('server.datacenter_id', '=', datacenterId).execute()

export async function contactsOf(on: Db | Tx, ids: readonly string[]): Promise<Map<string, Date>> {
  if (ids.length === 0) return new Map()
  const rows = await on
    .selectFrom('server_contact')
    .select(['server_id', 'at'])
    .where('server_id', 'in', [...ids])
    .execute()
  return new Map(rows.map((r) => [r.server_id, r.at]))
}

export interface Changes {
  readonly rows: ServerRow[]
  readonly contacts: { server_id: string; at: Date }[]
  /** Pass it to the next call to get later changes. */
  readonly seen: string
}

/**
 * Servers and contacts written since `seen`, and perhaps some before. A transaction that was open at `seen` had a number not below the
 * snapshot's minimum, so nothing is missed in any commit order.
 * @param seen from the last result; '0' for everything
 */
export async function changesSince(db: Db, seen: string): Promise<Changes> {
  // Read the mark before the rows: a commit in between is reported twice rather than never.
  const mark = await sql<{ seen: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as seen`.execute(db)
  const [rows, contacts] = await Promise.all([
    servers(db)
      .where(sql<boolean>`server.change >= ${seen}::xid8`)
      .execute(),
    db
      .selectFrom('server_contact')
      .select(['server_id', 'at'])
      .where(sql<boolean>`change >= ${seen}::xid8`)
      .execute(),
  ])
  return { rows, contacts, seen: mark.rows[0]!.seen }
}
