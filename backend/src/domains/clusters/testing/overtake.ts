/**
 * For tests of races between two calls: the second call writes a row after the first call, but has
 * read the row before the first call wrote it.
 */
import { type RawBuilder, sql } from 'kysely'
import { type Db, inTransaction } from '../../../db/db.ts'

/** Queries that lock the row of a cluster or of a server. */
export const clusterRow = (id: string): RawBuilder<unknown> =>
  sql`select 1 from cluster where id = ${id} for update`
export const serverRow = (id: string): RawBuilder<unknown> =>
  sql`select 1 from server where id = ${id} for update`

/**
 * Locks the row, starts `first` and then `second`, and unlocks the row when both wait for it.
 * PostgreSQL grants a row lock in the order of the requests. Nothing else may want the row
 * meanwhile: `ClusterWorld.alone` stops the reconcilers, which would be taken for `first`.
 * @returns the results of both calls
 */
export async function overtake<A, B>(
  db: Db,
  row: RawBuilder<unknown>,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  const both = await inTransaction(db, async (tx) => {
    await row.execute(tx)
    const { rows: own } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    const { pid } = own[0]!
    // Only the first in the line waits for the transaction itself. The others wait for the first.
    const waiting = async (count: number): Promise<void> => {
      for (const end = Date.now() + 20_000; ;) {
        const { rows } = await sql<{ n: number }>`
          with recursive blocked as (
            select ${pid}::int as pid
            union select a.pid from pg_stat_activity a join blocked b on b.pid = any(pg_blocking_pids(a.pid))
            where a.datname = current_database() and a.wait_event_type = 'Lock')
          select count(*)::int - 1 as n from blocked`.execute(db)
        if (rows[0]!.n >= count) return
        if (Date.now() > end) throw new Error(`Fewer than ${count} transactions wait for the row`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    const one = first()
    await waiting(1)
    const other = second()
    await waiting(2)
    // The pending calls are wrapped in an object: an async function would await a promise that it
    // returns.
    return { one, other }
  })
  return Promise.all([both.one, both.other])
}
