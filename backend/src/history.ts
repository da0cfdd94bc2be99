/**
 * Writes the history of servers and clusters in the transactions of their changes: stores note what
 * happened (`happened`), `record` and `tell` say who did it and when (`attributed`), and right
 * before the commit the notes of the transaction are written together. So an entry is committed with
 * its change or not at all.
 */
import { sql } from 'kysely'
import type { HistoryKind, HistoryObject } from '#contract/history/kind-names.ts'
import { historyKinds, type HistoryValues, kindsOfState } from '#contract/history/kinds.ts'
import { atCommit, type Tx } from './db/db.ts'
import { type Caller, callerName, system } from './http/caller.ts'

export interface Happened {
  readonly kind: HistoryKind
  /** Without a name, the name that the object has at the commit. */
  readonly object: { readonly kind: HistoryObject; readonly id: string; readonly name?: string }
  /** By default the cluster that the server belongs to at the commit. */
  readonly cluster?: { readonly id: string; readonly name: string } | null
  readonly operation?: string | null
  readonly before?: HistoryValues
  readonly after?: HistoryValues
  /** Lines of a log. */
  readonly log?: string
}

interface Notes {
  readonly entries: Happened[]
  caller: Caller
  at: Date | null
}
const noted = new WeakMap<Tx, Notes>()

function notesOf(tx: Tx): Notes {
  const known = noted.get(tx)
  if (known) return known
  const notes: Notes = { entries: [], caller: system, at: null }
  noted.set(tx, notes)
  atCommit(tx, () => write(tx, notes))
  return notes
}

/** Notes what happened, to be written with the change. */
export const happened = (tx: Tx, ...entries: readonly Happened[]): void => {
  if (entries.length > 0) notesOf(tx).entries.push(...entries)
}

/** Says who makes the changes of the transaction. A person comes before Steelyard itself. */
export function attributed(tx: Tx, caller: Caller, at: Date): void {
  const notes = notesOf(tx)
  notes.at ??= at
  if (notes.caller.kind !== 'user' && caller.kind === 'user') notes.caller = caller
}

const actorOf = (caller: Caller) => ({
  kind: caller.kind !== 'user' ? 'steelyard' : caller.isToken ? 'token' : 'user',
  name: caller.kind === 'user' ? callerName(caller) : system.name,
})

/** Longest message, in characters. */
const longestMessage = 1_000

async function write(tx: Tx, { entries, caller, at }: Notes): Promise<void> {
  if (entries.length === 0) return
  const actor = actorOf(caller)
  const rows = entries.map(
    ({ kind, object, cluster, operation, before = {}, after = {}, log }) => ({
      kind,
      object_kind: object.kind,
      object_id: object.id,
      object_name: object.name ?? null,
      // `none`: says that there is no cluster, so none is looked up.
      none: cluster === null,
      cluster_id: cluster?.id ?? null,
      cluster_name: cluster?.name ?? null,
      operation_id: operation ?? null,
      message: historyKinds[kind].says(after, before).slice(0, longestMessage),
      before,
      after,
      log: log ?? null,
    }),
  )
  await sql`insert into history (at, kind, object_kind, object_id, object_name, cluster_id, cluster_name, actor_kind, actor_name, operation_id, requested_by, message, before, after, log)
    select ${at ?? new Date()}, e.kind, e.object_kind, e.object_id, coalesce(e.object_name, s.name, c.name, d.code, ''),
      case when e.none then null else coalesce(e.cluster_id, s.cluster_id, c.id) end,
      case when e.none then null when e.cluster_id is null then coalesce(s.cluster_name, c.name) else e.cluster_name end,
      ${actor.kind}, ${actor.name}, e.operation_id, (select o.created_by_name from operation o where o.id = e.operation_id),
      e.message, e.before, e.after, e.log
    from rows from (json_to_recordset(${JSON.stringify(rows)}) as (kind text, object_kind text, object_id uuid, object_name text, none boolean, cluster_id uuid, cluster_name text, operation_id uuid, message text, before jsonb, after jsonb, log text)) with ordinality
      as e (kind, object_kind, object_id, object_name, none, cluster_id, cluster_name, operation_id, message, before, after, log, n)
    left join server s on e.object_kind = 'server' and s.id = e.object_id
    left join cluster c on e.object_kind = 'cluster' and c.id = e.object_id
    left join datacenter d on e.object_kind = 'datacenter' and d.id = e.object_id
    order by e.n`.execute(tx)
}

const isEqual = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b))

/**
 * The entries of a change of an object's state: one for each kind, with the values before and after
 * of the fields that changed. Fields that `before` lacks weren't read, so they count as unchanged.
 * @param more values that explain the change without being part of the state, such as a reason
 */
export function changesOf<S extends object>(
  object: Happened['object'] & { readonly kind: keyof typeof kindsOfState },
  before: Partial<S>,
  after: S,
  { more, ...rest }: Pick<Happened, 'cluster' | 'operation'> & { readonly more: HistoryValues },
): Happened[] {
  const kinds = kindsOfState[object.kind] as Readonly<Record<string, HistoryKind>>
  const changed = Object.keys(kinds).filter(
    (key) => key in before && !isEqual(before[key as keyof S], after[key as keyof S]),
  )
  return [...Map.groupBy(changed, (key) => kinds[key]!)].map(([kind, keys]) => ({
    kind,
    object,
    ...rest,
    before: Object.fromEntries(keys.map((key) => [key, before[key as keyof S]])),
    after: { ...more, ...Object.fromEntries(keys.map((key) => [key, after[key as keyof S]])) },
  }))
}
