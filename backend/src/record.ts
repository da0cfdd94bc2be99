/**
 * `record` writes the audit entry and the event of a change in the transaction of that change, so
 * that either all are committed or none. Both go into the outbox without number and hash, which the
 * publisher adds after the commit (see `domains/events/publisher.ts`).
 */
import { isAppliedKind } from '#contract/apply/applied.ts'
import type { AuditAction } from '#contract/audit.ts'
import type { ErrorCode } from '#contract/errors.ts'
import { type EventKind, eventKinds, type EventName } from '#contract/events.ts'
import type { Clock } from './clock.ts'
import type { Tx } from './db/db.ts'
import { recorded } from './excerpt.ts'
import { attributed } from './history.ts'
import { appliedSetOf, type Caller, callerName } from './http/caller.ts'

interface Described {
  readonly target: { readonly kind: string; readonly id: string; readonly name?: string }
  /**
   * The object before and after the change, as its DTO: never a secret, never a database row. Of
   * large texts the entry has excerpts (`excerpt.ts`).
   */
  readonly before?: object | null
  readonly after?: object | null
  /** `ok` unless a refusal is recorded. */
  readonly result?: 'ok' | ErrorCode
}
/** The event for the live stream. Its object is the target unless `object` names another. */
interface ChangeEvent {
  readonly version?: number
  readonly object?: { readonly kind: EventKind; readonly id: string }
  /** Scope that a reader of the event needs; by default that of the object's kind. */
  readonly scope?: string | null
}
type AnyEvent = Pick<ChangeEvent, 'version' | 'scope'> & {
  readonly name: string
  readonly object: { readonly kind: string; readonly id: string }
}
type Told = ChangeEvent &
  Required<Pick<ChangeEvent, 'object'>> & {
    readonly name: EventName
    readonly contacts?: Record<string, string>
  }
/**
 * `action`: noun and past participle, such as `server.renamed`. Without `event` the change is
 * recorded only in the audit log. The event's name is the action unless `name` is set.
 */
export type Change = Described &
  (
    | { readonly action: AuditAction; readonly event?: ChangeEvent & { readonly name: EventName } }
    | {
        readonly action: EventName & AuditAction
        readonly event: ChangeEvent & { readonly name?: never }
      }
  )

export type Recorder = ReturnType<typeof recorder>

/** Number of rows per insert statement. */
const batch = 500

/** The audit entry of a change, without time, number and hash. */
export const auditOf = (
  caller: Caller,
  { action, target, before, after, result }: Described & { readonly action: AuditAction },
) => ({
  action,
  outcome: result ?? 'ok',
  actor_kind: caller.kind === 'user' && caller.isToken ? 'token' : caller.kind,
  actor_id: caller.kind === 'user' ? caller.userId : null,
  actor_name: callerName(caller),
  session_id: caller.kind === 'user' ? caller.sessionId : null,
  ip: caller.kind === 'system' ? null : caller.ip,
  request_id: caller.kind === 'system' ? null : caller.requestId,
  target_kind: target.kind,
  target_id: target.id,
  target_name: target.name ?? null,
  before: before ? recorded(before) : null,
  after: after ? recorded(after) : null,
})

/**
 * Builds audit entry and event. A trigger on the outbox table wakes the publisher at the commit.
 */
export function recorder({ clock }: { clock: Clock }) {
  const scopeOf = (kind: string): string | null => {
    const scope = kind in eventKinds ? eventKinds[kind as EventKind] : 'users:manage'
    return scope === 'signed_in' ? null : scope
  }
  const write = async (
    tx: Tx,
    entries: readonly { audit: object | null; event: object | null }[],
  ): Promise<void> => {
    const at = new Date(clock.now())
    const json = (value: object | null) => (value === null ? null : JSON.stringify(value))
    const rows = entries.map(({ audit, event }) => ({ at, audit: json(audit), event: json(event) }))
    for (let from = 0; from < rows.length; from += batch) {
      await tx
        .insertInto('outbox')
        .values(rows.slice(from, from + batch))
        .execute()
    }
  }
  /** Keeps the record of what `steelyard apply` has created, in the transaction of the change. */
  const keepApplied = async (tx: Tx, caller: Caller, changes: readonly Change[]): Promise<void> => {
    const set = appliedSetOf(caller)
    const changed = changes.flatMap(({ action, target, event }) => {
      const object = event?.object ?? target
      return event && isAppliedKind(object.kind)
        ? [{ name: event.name ?? action, kind: object.kind, id: object.id, target }]
        : []
    })
    const gone = changed.filter(({ name }) => name.endsWith('.removed'))
    for (const { kind, id } of gone)
      await tx.deleteFrom('applied_object').where('kind', '=', kind).where('id', '=', id).execute()
    const made = set === null ? [] : changed.filter(({ name }) => name.endsWith('.created'))
    if (set === null || made.length === 0) return
    const created_at = new Date(clock.now())
    await tx
      .insertInto('applied_object')
      .values(
        made.map(({ kind, id, target }) => ({
          kind,
          id,
          set_name: set,
          server_id: target.kind === 'server' ? target.id : null,
          created_at,
        })),
      )
      .execute()
  }
  const eventOf = (
    caller: Caller,
    { name, object, version, scope = scopeOf(object.kind) }: AnyEvent,
  ) => ({
    name,
    scope,
    data: { object: { ...object, version: version ?? null }, by: callerName(caller) },
  })

  return {
    /** Several changes of one call, such as the rows of an import, are written together. */
    record: async (tx: Tx, caller: Caller, changes: Change | readonly Change[]): Promise<void> => {
      const all = [changes].flat() as readonly Change[]
      const entries = all.map((change) => {
        const { action, target, event } = change
        const of = { name: action, object: { kind: target.kind, id: target.id }, ...event }
        return { audit: auditOf(caller, change), event: event ? eventOf(caller, of) : null }
      })
      await write(tx, entries)
      attributed(tx, caller, new Date(clock.now()))
      await keepApplied(tx, caller, all)
      if (caller.kind === 'user') caller.idempotency?.recordedIn(tx)
    },
    /**
     * Writes events without an audit entry, for observed state and the progress of an operation.
     * Several are written together.
     */
    tell: async (tx: Tx, caller: Caller, told: Told | readonly Told[]): Promise<void> => {
      attributed(tx, caller, new Date(clock.now()))
      await write(
        tx,
        [told].flat().map(({ contacts, ...one }) => {
          const event = eventOf(caller, one)
          return {
            audit: null,
            event: { ...event, data: { ...event.data, ...(contacts && { contacts }) } },
          }
        }),
      )
    },
  }
}
