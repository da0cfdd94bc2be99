/** SQL for datacenters. Nothing else knows these tables. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.ts'

export type DatacenterRow = Selectable<Tables['datacenter']>
export type NewDatacenter = Omit<Insertable<Tables['datacenter']>, 'id' | 'index' | 'created_at' | 'updated_at' | 'version'>

/** All of them: a provider has tens, and what stands in each is counted by other domains, so that sorting and searching happen in memory. */
export const all = (db: Db): Promise<DatacenterRow[]> => db.selectFrom('datacenter').selectAll().orderBy('code').execute()

export const get = (on: Db | Tx, id: string): Promise<DatacenterRow | undefined> =>
  on.selectFrom('datacenter').selectAll().where('id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<DatacenterRow | undefined> =>
  tx.selectFrom('datacenter').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

/** Counts the city's index up in a row of its own, which locks it: two at once wait for each other, and a removed code never comes back. */
export async function nextIndex(tx: Tx, city: { country_code: string; city_code: string }, wanted: number | undefined): Promise<number> {
  const { last_index } = await tx
    .insertInto('city_index')
    .values({ country_code: city.country_code, city_code: city.city_code, last_index: wanted ?? 1 })
    .onConflict((c) =>
      c
        .columns(['country_code', 'city_code'])
        .doUpdateSet({ last_index: wanted === undefined ? sql`city_index.last_index + 1` : sql`greatest(city_index.last_index, ${wanted}::int)` }),
    )
    .returning('last_index')
    .executeTakeFirstOrThrow()
  return wanted ?? last_index
}

export const insert = (tx: Tx, datacenter: NewDatacenter & { index: number }, at: Date): Promise<DatacenterRow> =>
  tx
    .insertInto('datacenter')
    .values({ ...datacenter, created_at: at, updated_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()

export const update = (tx: Tx, id: string, change: Updateable<Tables['datacenter']>, at: Date): Promise<DatacenterRow> =>
  tx
    .updateTable('datacenter')
    .set({ ...change, updated_at: at, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('datacenter').where('id', '=', id).execute()
