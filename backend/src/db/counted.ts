/** Numbers of rows for limits that hold however many transactions add rows at once. */
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { lock, type Tx } from './db.ts'
import type { Tables } from './tables.gen.ts'

/**
 * The number of rows of the table, of those that `where` selects if it is given. Until the
 * transaction ends, no other one that counts them this way goes on.
 */
export async function counted(
  tx: Tx,
  table: keyof Tables,
  where: RawBuilder<SqlBool> = sql`true`,
): Promise<number> {
  await lock(tx, `number of ${table}`)
  const { rows } = await sql<{
    n: number
  }>`select count(*)::int as n from ${sql.table(table)} where ${where}`.execute(tx)
  return rows[0]!.n
}
