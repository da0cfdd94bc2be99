/** SQL for the findings that were open at a time of the past. */
import { sql } from 'kysely'
import type { FindingObject } from '#contract/findings/kinds.ts'
import type { Db } from '../../../db/db.ts'

export interface ThenRow {
  readonly id: string
  readonly kind: string
  readonly severity: 'down' | 'degraded' | 'attention'
  readonly object_kind: FindingObject
  readonly object_id: string
  readonly object_name: string
  readonly cluster_id: string | null
  readonly cluster_name: string | null
  readonly datacenter_id: string | null
  readonly datacenter_code: string | null
  readonly since: Date | null
  readonly reason: string | null
}

/**
 * The findings that had begun by a time and not ended by then. What comes and goes is one finding:
 * the history says when it was there. Of the objects without a history only what began once is known.
 */
export async function openThen(db: Db, at: Date): Promise<ThenRow[]> {
  const last = (kind: 'finding_began' | 'finding_ended') => sql`lateral (
    select h.id, h.at, h.after ->> 'reason' as reason from history h
    where h.object_id = f.object_id and h.kind = ${kind} and h.at <= ${at}
      and h.after ->> 'finding_id' = f.id::text and not h.simulated
    order by h.at desc, h.id desc limit 1)`
  const { rows } = await sql<ThenRow>`
    select f.id, f.kind, f.severity, f.object_kind, f.object_id, f.object_name, f.cluster_id, f.cluster_name,
      f.datacenter_id, f.datacenter_code, coalesce(b.at, f.since) as since, b.reason
    from finding f
    left join ${last('finding_began')} b on true
    left join ${last('finding_ended')} e on true
    where (f.ended_at is null or f.ended_at > ${at}) and (f.since <= ${at} or f.count > 1)
      and case when b.id is null then f.count = 1 else e.id is null or e.id < b.id end
    order by f.id`.execute(db)
  return rows
}
