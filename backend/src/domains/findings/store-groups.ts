/** SQL for open findings in groups: of one kind, and those about servers of one datacenter. */
import { type RawBuilder, sql } from 'kysely'
import type { SilenceTerms } from '#contract/alerts/silences.ts'
import {
  type FindingObject,
  type FindingSeverity,
  kindsOfFindings,
  silencedAlone,
} from '#contract/findings/kinds.ts'
import type { Db } from '../../db/db.ts'

/** The most groups, and the most findings of one. */
const shownGroups = 12
const shownOfGroup = 5
/** The most incidents that silences hold back whose ids are told. */
const mostSilenced = 500

interface Silenced {
  readonly silences: readonly SilenceTerms[]
  /** Ids of findings about several servers, each of which is silenced. */
  readonly together: readonly string[]
}

/** Open findings with their group, and whether a silence is about them (`isAbout` in the contract). */
const standing = (
  objects: readonly FindingObject[],
  { silences, together }: Silenced,
): RawBuilder<unknown> => {
  const terms = silences.map(({ object, ...lists }) => ({
    ...lists,
    object_id: object?.id ?? null,
  }))
  return sql`select f.*, case when f.object_kind = 'server' then f.datacenter_id end as place,
      f.acknowledged_at is not null as is_acknowledged,
      f.id = any(${together}::uuid[]) or exists (select from json_to_recordset(${JSON.stringify(terms)}) as s (severities text[], kinds text[], datacenter_ids uuid[], cluster_ids uuid[], object_id uuid)
        where (s.object_id = f.object_id or (s.object_id is null and f.object_kind <> all(${silencedAlone}::text[])))
          and (s.severities = '{}' or f.severity = any(s.severities))
          and (s.kinds = '{}' or f.kind = any(s.kinds))
          and (s.datacenter_ids = '{}' or f.datacenter_id = any(s.datacenter_ids))
          and (s.cluster_ids = '{}' or f.cluster_id = any(s.cluster_ids))) as is_silenced
    from finding f where f.ended_at is null and f.object_kind = any(${objects}::text[])`
}

interface Counts {
  /** Neither acknowledged nor silenced. */
  readonly total: number
  readonly acknowledged: number
  /** Silenced and not acknowledged. */
  readonly silenced: number
  /** Ids of the incidents of which every finding is silenced. */
  readonly silenced_incidents: string[]
}

export async function counts(
  db: Db,
  objects: readonly FindingObject[],
  silenced: Silenced,
): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select count(*) filter (where not is_acknowledged and not is_silenced)::int as total,
      count(*) filter (where is_acknowledged)::int as acknowledged,
      count(*) filter (where is_silenced and not is_acknowledged)::int as silenced,
      array(
        select s.incident_id from (${standing(objects, silenced)}) s where s.incident_id is not null
        group by s.incident_id having bool_and(s.is_silenced) limit ${mostSilenced}
      ) as silenced_incidents
    from (${standing(objects, silenced)}) f`.execute(db)
  return rows[0]!
}

export interface Group {
  readonly kind: string
  readonly severity: FindingSeverity
  readonly datacenter: { readonly id: string; readonly code: string } | null
  readonly count: number
  /** When the first of them began. */
  readonly since: Date
  /** Of the newest findings; those of clusters' servers first. */
  readonly ids: string[]
}

/** The worst groups of those that are neither acknowledged nor silenced. */
export async function groups(
  db: Db,
  objects: readonly FindingObject[],
  silenced: Silenced,
): Promise<Group[]> {
  const { rows } = await sql<Group>`
    select kind, min(severity) as severity,
      case when place is not null then json_build_object('id', place, 'code', min(datacenter_code)) end as datacenter,
      count(*)::int as count, min(since) as since,
      array_agg(id order by n) filter (where n <= ${shownOfGroup}) as ids
    from (
      select f.*, row_number() over (partition by kind, place order by cluster_id is null, since desc, object_name, id) as n
      from (${standing(objects, silenced)}) f where not is_acknowledged and not is_silenced
    ) f
    group by kind, place
    order by array_position(${kindsOfFindings}::text[], kind), count(*) desc, min(since) desc, place
    limit ${shownGroups}`.execute(db)
  return rows
}
