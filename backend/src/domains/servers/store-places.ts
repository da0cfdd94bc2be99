/** SQL for the places of servers in racks. Hardware isn't read: it is most of a server's row. */
import { sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import { noPlace } from './places.ts'

const placed = (on: Db | Tx) =>
  on
    .selectFrom('server')
    .leftJoin('rack', 'rack.id', 'server.rack_id')
    .select([
      'server.id',
      'server.name',
      'server.serial',
      'server.version',
      'server.type',
      'server.datacenter_id',
      'server.cluster_id',
      'server.cluster_name',
      'server.operation_id',
      'server.finding',
      'server.rack_id',
      'server.rack_unit',
      'server.rack_height',
      'server.rack_face',
      'server.rack_bay',
      'rack.name as rack_name',
    ])
    .where('server.status', '<>', 'deleted')

export type PlacedRow = Awaited<ReturnType<typeof inRack>>[number]

/** The servers of a rack, from below. */
export const inRack = (on: Db | Tx, rackId: string) =>
  placed(on).where('server.rack_id', '=', rackId).orderBy('server.rack_unit').execute()

/** Locks in id order, so that concurrent calls wait instead of dead-locking. */
export const lock = (tx: Tx, ids: readonly string[]): Promise<PlacedRow[]> =>
  placed(tx)
    .where('server.id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy('server.id')
    .forUpdate('server')
    .execute()

export interface PlaceColumns {
  readonly id: string
  readonly rack_id: string | null
  readonly rack_unit: number | null
  readonly rack_height: number | null
  readonly rack_face: 'both' | 'front' | 'rear' | null
  readonly rack_bay: string | null
  readonly rack_units: number | null
}

/**
 * Writes places, and returns the new versions. Servers may take each other's places: all leave
 * theirs first, because the constraint `server_place` is checked row by row.
 */
export async function write(
  tx: Tx,
  places: readonly PlaceColumns[],
  at: Date,
): Promise<Map<string, number>> {
  if (places.length > 1)
    await tx
      .updateTable('server')
      .set(noPlace)
      .where('id', '=', sql<string>`any(${places.map(({ id }) => id)}::uuid[])`)
      .execute()
  const { rows } = await sql<{ id: string; version: number }>`
    update server set rack_id = p.rack_id, rack_unit = p.rack_unit, rack_height = p.rack_height, rack_face = p.rack_face, rack_bay = p.rack_bay, rack_units = p.rack_units,
      version = version + 1, updated_at = ${at}
    from json_to_recordset(${JSON.stringify(places)}) as p (id uuid, rack_id uuid, rack_unit int, rack_height int, rack_face text, rack_bay text, rack_units int)
    where server.id = p.id returning server.id, server.version`.execute(tx)
  return new Map(rows.map(({ id, version }) => [id, version]))
}

/** Gives the servers of a rack a new version, because what they show of it has changed. */
export const touchInRack = (tx: Tx, rackId: string, at: Date) =>
  tx
    .updateTable('server')
    .set({ version: sql<number>`version + 1`, updated_at: at })
    .where('rack_id', '=', rackId)
    .returning(['id', 'version'])
    .execute()
