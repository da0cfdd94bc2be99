/** SQL of the outbox. */
import { sql } from 'kysely'
import type { Tx } from '../../db/db.ts'

/**
 * The next rows of the outbox: at most `batch`, and none after `batchBytes`. An older version may
 * have left large ones.
 */
export const nextOfOutbox = (
  tx: Tx,
  { batch, batchBytes }: { readonly batch: number; readonly batchBytes: number },
) =>
  tx
    .selectFrom((eb) =>
      eb
        .selectFrom('outbox')
        .selectAll()
        .select(
          sql<number>`coalesce(sum(octet_length(audit::text)) over (order by id rows between unbounded preceding and 1 preceding), 0)::float8`.as(
            'bytes_before',
          ),
        )
        .orderBy('id')
        .limit(batch)
        .as('first'),
    )
    .select(['id', 'at', 'audit', 'event'])
    .where('bytes_before', '<=', batchBytes)
    .orderBy('id')
    .execute()
