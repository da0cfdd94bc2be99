import { sql } from 'kysely'
import { type KnownLabels, mostKnownLabels } from '#contract/labels/known.ts'
import type { Db } from '../../db/db.ts'

type Labelled = 'server' | 'cluster'

/** Removed objects keep their labels, and suggest none. */
const present = {
  server: sql`server.status <> 'deleted'`,
  cluster: sql`cluster.deleted_at is null`,
} as const satisfies Record<Labelled, unknown>

/** The labels of all objects of a kind, the most used first. */
export async function knownLabels(db: Db, of: Labelled): Promise<KnownLabels> {
  const { rows } = await sql<KnownLabels['items'][number]>`
    select label.key, label.value, count(*)::int as count
    from ${sql.table(of)}, jsonb_each_text(labels) as label
    where ${present[of]}
    group by label.key, label.value
    order by count desc, label.key, label.value
    limit ${mostKnownLabels + 1}`.execute(db)
  return { items: rows.slice(0, mostKnownLabels), more: rows.length > mostKnownLabels }
}
