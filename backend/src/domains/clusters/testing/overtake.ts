/** Runs two changes of one row in a given order: the second writes after the first, but has read before it. */
import { type RawBuilder, sql } from 'kysely'
import { type Db, inTransaction } from '../../../db/db.ts'

/** Of a cluster; of a server. */
export const clusterRow = (id: string): RawBuilder<unknown> => sql`select 1 from cluster where id = ${id} for update`
export const serverRow = (id: string): RawBuilder<unknown> => sql`select 1 from server where id = ${id} for update`

/**
 * Holds the row until `first` waits for it, and `second` behind it; then lets them go on. Who waits for a row gets it in the order of coming.
 * @returns what both came to
 */
export async function overtake<A, B>(db: Db, row: RawBuilder<unknown>, first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  const waiting = async (count: number): Promise<void> => {
    for (const end = Date.now() + 20_000; ;) {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      if (rows[0]!.n >= count) return
      if (Date.now() > end) throw new Error(`Not ${count} wait for the row`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const both = await inTransaction(db, async (tx) => {
    await row.execute(tx)
    const one = first()
    await waiting(1)
    const other = second()
    await waiting(2)
    // Returned in an object, because an async function would await the calls.
    return { one, other }
  })
  return Promise.all([both.one, both.other])
}
