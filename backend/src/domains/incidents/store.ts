/** SQL for incidents. */
import { type Selectable, sql, type Updateable } from 'kysely'
import { effects, effectsInOrder } from '#contract/incidents/effects.ts'
import { incidentList } from '#contract/incidents/incidents.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type IncidentRow = Selectable<Tables['incident']>

const readers: SqlReaders<typeof incidentList.list> = {
  sort: {
    effect: sql`array_position(${effectsInOrder}::text[], effect)`,
    since: sql`since`,
    ended_at: sql`ended_at`,
  },
  filters: {
    effect: (effect) => sql`effect = ${effect}`,
    severity: (severity) =>
      sql`effect = any(${effectsInOrder.filter((one) => effects[one].severity === severity)}::text[])`,
    object: (id) => sql`${id}::uuid = any(object_ids)`,
    cluster: (wanted) => sql`${wanted} = any(clusters)`,
    datacenter: (wanted) => sql`${wanted} = any(datacenters)`,
    ended: (ended) => (ended === 'true' ? sql`ended_at is not null` : sql`ended_at is null`),
  },
  search: containing('title', 'object_name', 'reason', 'note'),
  tie: sql`since, id`,
  nullsLast: true,
}

/** `objects`: the kinds of objects that the reader may see. What turned out to be part of another is left out. */
export const page = (
  db: Db,
  query: Input<typeof incidentList>['query'],
  objects: readonly IncidentRow['object_kind'][],
) =>
  readPage(
    db
      .selectFrom('incident')
      .selectAll()
      .where('object_kind', '=', sql<IncidentRow['object_kind']>`any(${objects}::text[])`)
      .where('merged_into', 'is', null),
    incidentList.list,
    readers,
    { ...query, ended: query.ended ?? 'false' },
  )

export const find = (on: On, id: string): Promise<IncidentRow | undefined> =>
  on.selectFrom('incident').selectAll().where('id', '=', id).executeTakeFirst()

/** Every open incident, and these others. */
export const openOr = (on: On, ids: readonly string[]): Promise<IncidentRow[]> =>
  on
    .selectFrom('incident')
    .selectAll()
    .where((e) => e.or([e('ended_at', 'is', null), e('id', '=', sql<string>`any(${ids}::uuid[])`)]))
    .orderBy(sql`array_position(${effectsInOrder}::text[], effect)`)
    .orderBy('since')
    .orderBy('id')
    .execute()

/** Every open incident, locked until the transaction ends, and those that ended after this time. */
export const lockRecent = (tx: Tx, at: Date): Promise<IncidentRow[]> =>
  tx
    .selectFrom('incident')
    .selectAll()
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>', at)]))
    .orderBy('id')
    .forUpdate()
    .execute()

/** Rows of one statement. */
const batch = 200

/** Adds incidents, or overwrites what is stored of them. */
export async function put(tx: Tx, rows: readonly IncidentRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += batch)
    await tx
      .insertInto('incident')
      .values(
        rows.slice(from, from + batch).map((row) => ({
          ...row,
          objects: JSON.stringify(row.objects),
          worst: row.worst === null ? null : JSON.stringify(row.worst),
        })),
      )
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((e) => ({
          key: e.ref('excluded.key'),
          title: e.ref('excluded.title'),
          effect: e.ref('excluded.effect'),
          kind: e.ref('excluded.kind'),
          object_kind: e.ref('excluded.object_kind'),
          object_id: e.ref('excluded.object_id'),
          object_name: e.ref('excluded.object_name'),
          cluster_id: e.ref('excluded.cluster_id'),
          cluster_name: e.ref('excluded.cluster_name'),
          datacenter_id: e.ref('excluded.datacenter_id'),
          datacenter_code: e.ref('excluded.datacenter_code'),
          operation_id: e.ref('excluded.operation_id'),
          finding_id: e.ref('excluded.finding_id'),
          reason: e.ref('excluded.reason'),
          worst: e.ref('excluded.worst'),
          objects: e.ref('excluded.objects'),
          object_ids: e.ref('excluded.object_ids'),
          clusters: e.ref('excluded.clusters'),
          datacenters: e.ref('excluded.datacenters'),
          parts: e.ref('excluded.parts'),
          since: e.ref('excluded.since'),
          begins: e.ref('excluded.begins'),
          ended_at: e.ref('excluded.ended_at'),
          merged_into: e.ref('excluded.merged_into'),
          assigned_to: e.ref('excluded.assigned_to'),
          assigned_name: e.ref('excluded.assigned_name'),
          assigned_by: e.ref('excluded.assigned_by'),
          assigned_at: e.ref('excluded.assigned_at'),
        })),
      )
      .execute()
}

/** What had become part of an incident that became part of another is part of that. */
export const follow = (
  tx: Tx,
  merged: readonly { readonly id: string; readonly into: string | null }[],
) =>
  sql`update incident i set merged_into = o.target
    from unnest(${merged.map(({ id }) => id)}::uuid[], ${merged.map(({ into }) => into)}::uuid[]) as o (id, target)
    where i.merged_into = o.id and i.id <> o.target`.execute(tx)

/** Ends open incidents, each with the one that it turned out to be part of. */
export const end = (
  tx: Tx,
  all: readonly { readonly id: string; readonly into: string | null }[],
  at: Date,
) =>
  sql`update incident i set ended_at = ${at}, merged_into = o.target
    from unnest(${all.map(({ id }) => id)}::uuid[], ${all.map(({ into }) => into)}::uuid[]) as o (id, target)
    where i.id = o.id`.execute(tx)

/** A step of a story that is to be stored. */
export type NewStep = Pick<
  Selectable<Tables['incident_step']>,
  'incident_id' | 'at' | 'text' | 'by_name' | 'object_kind'
>
/** Steps that are kept of an incident: the first, and the newest. */
const keptSteps = 80

export async function addSteps(tx: Tx, steps: readonly NewStep[]): Promise<void> {
  for (let from = 0; from < steps.length; from += batch)
    await tx
      .insertInto('incident_step')
      .values(steps.slice(from, from + batch))
      .execute()
  const ids = [...new Set(steps.map((step) => step.incident_id))]
  if (ids.length > 0)
    await sql`delete from incident_step s using (
        select id, row_number() over (partition by incident_id order by id) as nth,
          row_number() over (partition by incident_id order by id desc) as from_last
        from incident_step where incident_id = any(${ids}::uuid[])
      ) o where o.id = s.id and o.from_last >= ${keptSteps} and o.nth > 1`.execute(tx)
}

export const stepsOf = (on: On, id: string) =>
  on
    .selectFrom('incident_step')
    .select(['at', 'text', 'by_name', 'object_kind'])
    .where('incident_id', '=', id)
    .orderBy('at')
    .orderBy('id')
    .execute()

export const lock = (tx: Tx, id: string): Promise<IncidentRow | undefined> =>
  tx.selectFrom('incident').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()

/** A change by a person. */
export const update = (
  tx: Tx,
  id: string,
  change: Pick<
    Updateable<Tables['incident']>,
    'assigned_to' | 'assigned_name' | 'assigned_by' | 'assigned_at' | 'note'
  >,
): Promise<IncidentRow> =>
  tx
    .updateTable('incident')
    .set(change)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()

/** Deletes incidents that ended before this time. */
export const forget = (db: Db, before: Date) =>
  db.deleteFrom('incident').where('ended_at', '<', before).execute()
