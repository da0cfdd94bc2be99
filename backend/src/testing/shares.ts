import { sql } from 'kysely'
import type { Db } from '../db/db.ts'

/** Milliseconds that pass while `act` runs. */
async function msOf(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}

/**
 * How many times as long `act` takes as a fixed query of the same database, which takes about
 * 20 ms on an idle machine. Whatever slows the machine slows both, so a test may limit the result.
 * Returns the least of up to ten rounds, and stops at the first round below `enough`.
 */
export async function leastShare(
  db: Db,
  enough: number,
  act: () => Promise<unknown>,
): Promise<number> {
  const reference = () => sql`select max(md5(n::text)) from generate_series(1, 50000) n`.execute(db)
  let least = Infinity
  for (let round = 0; round < 10 && least >= enough; round++) {
    const before = await msOf(reference)
    const took = await msOf(act)
    least = Math.min(least, took / ((before + (await msOf(reference))) / 2))
  }
  return least
}
