/** SQL for racks. Where the servers stand is stored with the servers. */
import { type Insertable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

const racks = (on: Db | Tx) =>
  on
    .selectFrom('rack')
    .innerJoin('datacenter', 'datacenter.id', 'rack.datacenter_id')
    .selectAll('rack')
    .select('datacenter.code as datacenter_code')

export type RackRow = Awaited<ReturnType<typeof all>>[number]

export const all = (on: Db | Tx) => racks(on).execute()
export const byId = (on: Db | Tx, id: string): Promise<RackRow | undefined> =>
  racks(on).where('rack.id', '=', id).executeTakeFirst()

/** Locks in id order, so that concurrent calls wait instead of dead-locking. */
export const lockAll = (tx: Tx, ids: readonly string[]): Promise<RackRow[]> =>
  racks(tx)
    .where('rack.id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy('rack.id')
    .forUpdate('rack')
    .execute()
export const lock = async (tx: Tx, id: string): Promise<RackRow | undefined> =>
  (await lockAll(tx, [id]))[0]

/** Adds racks, and returns their ids in the same order. */
export async function insert(
  tx: Tx,
  rows: readonly Omit<Insertable<Tables['rack']>, 'id' | 'version'>[],
): Promise<string[]> {
  const made = await tx
    .insertInto('rack')
    .values([...rows])
    .returning('id')
    .execute()
  return made.map(({ id }) => id)
}

/** Writes a change and increments the version. The row must be locked. */
export const update = (tx: Tx, id: string, change: Updateable<Tables['rack']>) =>
  tx
    .updateTable('rack')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('rack').where('id', '=', id).execute()
