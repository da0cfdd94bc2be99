/** SQL that adds a simulated past to the history. */
import { sql } from 'kysely'
import type { HistoryKind } from '#contract/history/kind-names.ts'
import { historyKinds, type HistoryValues } from '#contract/history/kinds.ts'
import type { Tx } from '../../db/db.ts'

interface Named {
  readonly id: string
  readonly name: string
}

/** An entry as the simulation makes it up. */
export interface SimulatedEntry {
  readonly at: Date
  readonly kind: HistoryKind
  readonly object: Named & { readonly kind: 'server' | 'cluster' }
  readonly cluster: Named | null
  /** The person who made the change; null: Steelyard itself. */
  readonly by: string | null
  readonly before?: HistoryValues
  readonly after?: HistoryValues
  readonly log?: readonly string[]
}

/** Adds nothing if there are simulated entries already. Returns the number of those added. */
export async function insertSimulated(tx: Tx, entries: readonly SimulatedEntry[]): Promise<number> {
  const rows = entries.map(({ at, kind, object, cluster, by, before = {}, after = {}, log }) => ({
    at,
    kind,
    object_kind: object.kind,
    object_id: object.id,
    object_name: object.name,
    cluster_id: cluster?.id ?? null,
    cluster_name: cluster?.name ?? null,
    actor_kind: by === null ? 'steelyard' : 'user',
    actor_name: by ?? 'Steelyard',
    message: historyKinds[kind].says(after, before),
    before,
    after,
    log: log?.join('\n') ?? null,
  }))
  const { numAffectedRows } =
    await sql`insert into history (at, kind, object_kind, object_id, object_name, cluster_id, cluster_name, actor_kind, actor_name, message, before, after, log, simulated)
    select e.*, true from json_to_recordset(${JSON.stringify(rows)}) as e (at timestamptz, kind text, object_kind text, object_id uuid, object_name text, cluster_id uuid, cluster_name text, actor_kind text, actor_name text, message text, before jsonb, after jsonb, log text)
    where not exists (select from history where simulated)
    order by e.at`.execute(tx)
  return Number(numAffectedRows)
}
