/** The limits of the number of objects of a kind. */
import { canAdd, type Limit } from '#contract/rule.ts'
import { counted } from './db/counted.ts'
import type { Tx } from './db/db.ts'
import type { Tables } from './db/tables.gen.ts'
import { demand } from './http/errors.ts'

/**
 * Right before rows are added to the table: whether there is room for them. Of transactions that add
 * some at once, each waits for the one before it. @throws Problem conflict
 */
export async function demandRoom(
  tx: Tx,
  table: keyof Tables,
  limit: Limit,
  more = 1,
): Promise<void> {
  demand(canAdd(limit, await counted(tx, table), more), 'conflict')
}
