/** SQL for findings and the servers that they affect. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { findingList } from '#contract/findings/findings.ts'
import { kindsOfFindings } from '#contract/findings/kinds.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { happened } from '../../history.ts'
import type { KeptIn } from './api.ts'
import { past } from './past.ts'

type On = Db | Tx
type Row = Selectable<Tables['finding']>
/** A finding with the number of servers that it affects now. */
export type FindingRow = Row & { affected: number }
export type AffectedRow = Selectable<Tables['finding_affected']>

const findings = (on: On) =>
  on
    .selectFrom('finding')
    .selectAll('finding')
    .select(
      sql<number>`(select count(*)::int from finding_affected a where a.finding_id = finding.id and (a.ended_at is null or finding.ended_at is not null))`.as(
        'affected',
      ),
    )

const readers: SqlReaders<typeof findingList.list> = {
  sort: {
    severity: sql`array_position(${kindsOfFindings}::text[], kind)`,
    object: sql`object_name`,
    since: sql`since`,
    ended_at: sql`ended_at`,
  },
  filters: {
    severity: (severity) => sql`severity = ${severity}`,
    kind: (kind) => sql`kind = ${kind}`,
    object: (id) => sql`object_id = ${id}`,
    cluster: (wanted) => sql`(cluster_name = ${wanted} or cluster_id::text = ${wanted})`,
    incident: (id) => sql`incident_id = ${id}`,
    datacenter: (wanted) => sql`(datacenter_code = ${wanted} or datacenter_id::text = ${wanted})`,
    ended: (ended) => (ended === 'true' ? sql`ended_at is not null` : sql`ended_at is null`),
  },
  search: containing('object_name', 'cluster_name', 'datacenter_code', 'reason'),
  // What clusters need comes before free servers, and the latest first.
  tie: sql`cluster_id is null, since desc, object_name, id`,
  nullsLast: true,
}

/** `objects`: the kinds of objects that the reader may see. */
export const page = (
  db: Db,
  query: Input<typeof findingList>['query'],
  objects: readonly Row['object_kind'][],
) =>
  readPage(
    findings(db).where('object_kind', '=', sql<Row['object_kind']>`any(${objects}::text[])`),
    findingList.list,
    readers,
    { ...query, ended: query.ended ?? 'false' },
  )

export const find = (on: On, id: string): Promise<FindingRow | undefined> =>
  findings(on).where('id', '=', id).executeTakeFirst()

/** These findings, in any order. */
export const among = (on: On, ids: readonly string[]): Promise<FindingRow[]> =>
  findings(on)
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

/** Every open finding, and those of these incidents. */
export const openOr = (on: On, incidentIds: readonly string[]): Promise<FindingRow[]> =>
  findings(on)
    .where((e) =>
      e.or([
        e('ended_at', 'is', null),
        e('incident_id', '=', sql<string>`any(${incidentIds}::uuid[])`),
      ]),
    )
    .orderBy(sql`array_position(${kindsOfFindings}::text[], kind)`)
    .orderBy('since')
    .orderBy('id')
    .execute()

/** The open findings of servers that fell silent together. */
export const openGroups = (on: On): Promise<FindingRow[]> =>
  findings(on).where('kind', '=', 'datacenter_silent').where('ended_at', 'is', null).execute()

/** Number of open findings by what they are, and by the cluster of their object. */
export const openCounts = (on: On) =>
  on
    .selectFrom('finding')
    .select([
      'object_kind',
      'kind',
      'severity',
      'cluster_name',
      sql<boolean>`acknowledged_at is not null`.as('acknowledged'),
      sql<number>`count(*)::int`.as('n'),
    ])
    .where('ended_at', 'is', null)
    .groupBy(['object_kind', 'kind', 'severity', 'cluster_name', 'acknowledged'])
    .execute()
export type OpenCount = Awaited<ReturnType<typeof openCounts>>[number]

export const lock = (tx: Tx, id: string): Promise<Row | undefined> =>
  tx.selectFrom('finding').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

/** Every open finding, locked until the transaction ends. */
export const lockOpen = (tx: Tx): Promise<Row[]> =>
  tx
    .selectFrom('finding')
    .selectAll()
    .where('ended_at', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute()

/** Findings that ended after this time, the newest of each object and kind. */
export const endedSince = (tx: Tx, at: Date): Promise<Row[]> =>
  tx
    .selectFrom('finding')
    .distinctOn(['object_id', 'kind'])
    .selectAll()
    .where('ended_at', '>', at)
    .orderBy('object_id')
    .orderBy('kind')
    .orderBy('ended_at', 'desc')
    .execute()

export async function insert(tx: Tx, row: Insertable<Tables['finding']>): Promise<Row> {
  const inserted = await tx
    .insertInto('finding')
    .values(row)
    .returningAll()
    .executeTakeFirstOrThrow()
  happened(tx, ...past(inserted))
  return inserted
}

export async function update(
  tx: Tx,
  id: string,
  change: Updateable<Tables['finding']>,
): Promise<void> {
  const changing = tx.updateTable('finding').set(change).where('id', '=', id)
  // Only a change of the end begins or ends a finding.
  if (!('ended_at' in change)) return void (await changing.execute())
  happened(tx, ...past(await changing.returningAll().executeTakeFirstOrThrow()))
}

/** Says which incidents findings are part of. What joins one that somebody has is acknowledged. */
export const setIncidents = async (
  tx: Tx,
  all: readonly (readonly [id: string, KeptIn])[],
): Promise<void> => {
  if (all.length === 0) return
  await sql`update finding f set incident_id = i.incident,
      acknowledged_by = coalesce(f.acknowledged_by, i.by), acknowledged_at = coalesce(f.acknowledged_at, i.at)
    from unnest(${all.map(([id]) => id)}::uuid[], ${all.map(([, { id }]) => id)}::uuid[],
      ${all.map(([, { taken }]) => taken?.by ?? null)}::text[], ${all.map(([, { taken }]) => taken?.at ?? null)}::timestamptz[]) as i (id, incident, by, at)
    where f.id = i.id`.execute(tx)
}

/** Acknowledges the open findings of an incident, or takes that back. */
export const setTaken = (tx: Tx, incidentId: string, by: KeptIn['taken']) =>
  tx
    .updateTable('finding')
    .set(
      by === null
        ? { acknowledged_at: null, acknowledged_by: null, acknowledged_note: null }
        : (e) => ({
            acknowledged_at: e.fn.coalesce('acknowledged_at', e.val(by.at)),
            acknowledged_by: e.fn.coalesce('acknowledged_by', e.val(by.by)),
          }),
    )
    .where('incident_id', '=', incidentId)
    .where('ended_at', 'is', null)
    .execute()

/** The servers of these findings that are silent now, or also those that were after this time. */
export const affectedBy = (on: On, ids: readonly string[], at?: Date): Promise<AffectedRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : on
        .selectFrom('finding_affected')
        .selectAll()
        .where('finding_id', 'in', ids)
        .where((e) =>
          e.or([e('ended_at', 'is', null), ...(at === undefined ? [] : [e('ended_at', '>', at)])]),
        )
        .execute()

export const allAffected = (on: On, id: string): Promise<AffectedRow[]> =>
  on
    .selectFrom('finding_affected')
    .selectAll()
    .where('finding_id', '=', id)
    .orderBy('name')
    .execute()

/** Servers that were affected before are affected again. */
export const addAffected = (
  tx: Tx,
  findingId: string,
  servers: readonly { readonly id: string; readonly name: string; readonly since: Date }[],
) =>
  sql`insert into finding_affected (finding_id, server_id, name, since)
    select ${findingId}, s.id, s.name, s.since
    from unnest(${servers.map((s) => s.id)}::uuid[], ${servers.map((s) => s.name)}::text[], ${servers.map((s) => s.since)}::timestamptz[]) as s (id, name, since)
    on conflict (finding_id, server_id) do update set name = excluded.name, since = excluded.since, ended_at = null`.execute(
    tx,
  )

export const endAffected = (tx: Tx, findingId: string, serverIds: readonly string[], at: Date) =>
  tx
    .updateTable('finding_affected')
    .set({ ended_at: at })
    .where('finding_id', '=', findingId)
    .where('server_id', '=', sql<string>`any(${serverIds}::uuid[])`)
    .where('ended_at', 'is', null)
    .execute()

/** Deletes findings that ended before this time. */
export const forget = (db: Db, before: Date) =>
  db.deleteFrom('finding').where('ended_at', '<', before).execute()

/** Steelyard itself, as the object of findings. */
export async function installation(on: Db | Tx) {
  const { id } = await on.selectFrom('installation').select('id').executeTakeFirstOrThrow()
  return { kind: 'installation', id, name: 'Steelyard' } as const
}
