/** SQL that counts the entries of the history. */
import { sql } from 'kysely'
import type { HistoryObject } from '#contract/history/kind-names.ts'
import { outcomes } from '#contract/history/outcomes.ts'
import type { Db } from '../../db/db.ts'

/** Entries of one kind and outcome. */
export interface Counted {
  readonly kind: string
  readonly outcome: string | null
  readonly entries: number
  readonly simulated: number
  /** Number of objects that have entries of this kind, with any outcome. */
  readonly objects: number
  /** Of the newest entry. */
  readonly at: Date
  readonly object_kind: HistoryObject
  readonly object_id: string
  readonly object_name: string
  readonly message: string
}

const outcome = sql`case kind ${sql.join(
  Object.entries(outcomes).map(
    ([kind, { field }]) => sql`when ${sql.lit(kind)} then after ->> ${sql.lit(field)}`,
  ),
  sql` `,
)} end`

/** Counts at most the newest `limit` entries. */
export async function counts(
  db: Db,
  objects: readonly HistoryObject[],
  { since, until, limit }: { readonly since: Date; readonly until: Date; readonly limit: number },
): Promise<Counted[]> {
  const { rows } = await sql<Counted>`
    with recent as materialized (
      select id, at, kind, object_kind, object_id, object_name, message, simulated, ${outcome} as outcome
      from history where at >= ${since} and at <= ${until} and object_kind = any(${objects}::text[])
      order by at desc, id desc limit ${limit}
    ),
    counted as (
      select kind, outcome, count(*)::int as entries, count(*) filter (where simulated)::int as simulated
      from recent group by kind, outcome
    ),
    concerned as (
      select kind, count(distinct object_id)::int as objects from recent group by kind
    ),
    newest as (
      select distinct on (kind, outcome) * from recent order by kind, outcome, at desc, id desc
    )
    select c.kind, c.outcome, c.entries, c.simulated,
      o.objects, n.at, n.object_kind, n.object_id, n.object_name, n.message
    from counted c join concerned o using (kind) join newest n on n.kind = c.kind and n.outcome is not distinct from c.outcome
    order by c.kind, n.at desc, c.outcome`.execute(db)
  return rows
}
