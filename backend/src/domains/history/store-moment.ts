/**
 * SQL that reads what was at a time. Of each object it reads the last entry before the time of each
 * kind that sets a field of its state, by an index: so it costs as much for any time, however many
 * entries there are.
 */
import { sql } from 'kysely'
import { kindsOfState } from '#contract/history/kinds.ts'
import type { Tx } from '../../db/db.ts'
import { type Kept, wholeKinds } from './states.ts'
import type { Step } from './store.ts'
import { indexOnly, plan } from './store-pages.ts'

/** An entry with who made the change. */
export type Trace = Step & { readonly actor_name: string }

/** All statements of the transaction see the same entries, and read them by an index. */
export async function beginReading(tx: Tx): Promise<void> {
  await sql`set transaction isolation level repeatable read, read only`.execute(tx)
  await plan(tx, indexOnly)
}

/** Ids of all objects of a kind that were added up to a time, also of those that were removed. */
export async function idsAt(tx: Tx, of: Kept, at: Date): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select object_id as id from history_base where object_kind = ${of}
    union select object_id from history where kind = ${`${of}_added`} and at <= ${at} and not simulated`.execute(
    tx,
  )
  return rows.map(({ id }) => id)
}

/** Ids of the servers that were in a cluster at a time, or before. */
export async function everIn(tx: Tx, clusterId: string, at: Date): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select object_id as id from history_base
    where object_kind = 'server' and state #>> '{cluster,id}' = ${clusterId}
    union select object_id from history
    where cluster_id = ${clusterId} and kind = 'server_membership' and at <= ${at} and not simulated
    union select object_id from history
    where cluster_id = ${clusterId} and kind = 'server_added' and at <= ${at} and not simulated`.execute(
    tx,
  )
  return rows.map(({ id }) => id)
}

interface Probe {
  readonly kind: string
  /** A field that entries of this kind don't always have. */
  readonly field: string | null
}

/** The entries to look for. @param leftOut fields of no interest */
function probesOf(of: Kept, leftOut: ReadonlySet<string>): Probe[] {
  const fields = Object.entries<string>(kindsOfState[of])
  const isWhole = (kind: string): boolean => (wholeKinds[of] as readonly string[]).includes(kind)
  const isAlone = (kind: string): boolean => fields.filter(([, one]) => one === kind).length === 1
  return [
    ...wholeKinds[of].map((kind) => ({ kind, field: null })),
    ...fields
      .filter(([field, kind]) => !leftOut.has(field) && !isWhole(kind))
      .map(([field, kind]) => ({ kind, field: isAlone(kind) ? null : field })),
  ]
}

/** The entries that give the state of these objects at a time, in the order of the history. */
export async function lastSteps(
  tx: Tx,
  of: Kept,
  ids: readonly string[],
  { at, leftOut }: { readonly at: Date; readonly leftOut: ReadonlySet<string> },
): Promise<Trace[]> {
  const probes = probesOf(of, leftOut)
  const { rows } = await sql<Trace>`
    select e.* from unnest(${ids}::uuid[]) as o (id)
    cross join unnest(${probes.map(({ kind }) => kind)}::text[], ${probes.map(({ field }) => field)}::text[]) as p (kind, field)
    cross join lateral (
      select h.id, h.at, h.kind, h.object_kind, h.object_id, h.after - ${[...leftOut]}::text[] as after, h.simulated, h.actor_name
      from history h
      where h.object_id = o.id and h.kind = p.kind and h.at <= ${at} and not h.simulated
        and (p.field is null or jsonb_exists(h.after, p.field))
      order by h.at desc, h.id desc limit 1
    ) e`.execute(tx)
  return [...new Map(rows.map((row) => [row.id, row])).values()].toSorted((a, b) => a.id - b.id)
}
