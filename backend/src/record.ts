/**
 * `record` writes what happened in the transaction of the change itself: the audit entry and the event become true with it or not at all.
 * Both go into the outbox without number or hash; the publisher gives those after the commit (see `domains/events/publisher.ts`).
 */
import type { AuditAction } from '#contract/audit.ts'
import type { ErrorCode } from '#contract/errors.ts'
import { type EventKind, eventKinds, type EventName } from '#contract/events.ts'
import type { Clock } from './clock.ts'
import type { Tx } from './db/db.ts'
import { type Caller, callerName } from './http/caller.ts'

interface Described {
  readonly target: { readonly kind: string; readonly id: string; readonly name?: string }
  /** The object before and after, as its DTO shows it: never a secret, never a row. */
  readonly before?: object | null
  readonly after?: object | null
  /** `ok` unless a refusal is recorded. */
  readonly result?: 'ok' | ErrorCode
}
/** What the live stream says. Its object is the target unless `object` names another. */
interface ChangeEvent {
  readonly version?: number
  readonly object?: { readonly kind: EventKind; readonly id: string }
  /** Scope that a reader must hold; by default that of the object's kind. */
  readonly scope?: string | null
}
/**
 * `action`: noun.verb in the past, such as `server.renamed`. Without `event` only the audit log knows of the change. An event has the name of the action
 * unless `name` says another.
 */
export type Change = Described &
  (
    | { readonly action: AuditAction; readonly event?: ChangeEvent & { readonly name: EventName } }
    | { readonly action: EventName & AuditAction; readonly event: ChangeEvent & { readonly name?: never } }
  )

/** Several changes of one call, such as the rows of an import, are written together. */
export type RecordChange = (tx: Tx, caller: Caller, changes: Change | readonly Change[]) => Promise<void>
/** An event without an audit entry: observed state, the progress of an operation. */
export type Tell = (
  tx: Tx,
  caller: Caller,
  event: { name: EventName; object: { kind: EventKind; id: string }; version?: number; scope?: string | null; contacts?: Record<string, string> },
) => Promise<void>

export interface Recorder {
  readonly record: RecordChange
  readonly tell: Tell
}

/** Rows of one statement. */
const batch = 500

/** The audit entry of a change, without time, number and hash. */
export const auditOf = (caller: Caller, { action, target, before, after, result }: Described & { readonly action: AuditAction }) => ({
  action,
  outcome: result ?? 'ok',
  actor_kind: caller.kind,
  actor_id: caller.kind === 'user' ? caller.userId : null,
  actor_name: callerName(caller),
  session_id: caller.kind === 'user' ? caller.sessionId : null,
  ip: caller.kind === 'system' ? null : caller.ip,
  request_id: caller.kind === 'system' ? null : caller.requestId,
  target_kind: target.kind,
  target_id: target.id,
  target_name: target.name ?? null,
  before: before ?? null,
  after: after ?? null,
})

/** Builds both; the publisher is woken by the outbox table itself (a trigger that notifies at commit). */
export function recorder({ clock }: { clock: Clock }): Recorder {
  const scopeOf = (kind: string): string | null => {
    const scope = kind in eventKinds ? eventKinds[kind as EventKind] : 'users:manage'
    return scope === 'signed_in' ? null : scope
  }
  const write = async (tx: Tx, at: Date, entries: readonly { audit: object | null; event: object | null }[]): Promise<void> => {
    for (let from = 0; from < entries.length; from += batch) {
      const rows = entries.slice(from, from + batch).map(({ audit, event }) => ({
        at,
        audit: audit === null ? null : JSON.stringify(audit),
        event: event === null ? null : JSON.stringify(event),
      }))
      await tx.insertInto('outbox').values(rows).execute()
    }
  }
  const entryOf = (caller: Caller, change: Change) => {
    const object = change.event?.object ?? { kind: change.target.kind, id: change.target.id }
    return {
      audit: auditOf(caller, change),
      event: change.event
        ? {
            name: change.event.name ?? change.action,
            scope: change.event.scope === undefined ? scopeOf(object.kind) : change.event.scope,
            data: { object: { ...object, version: change.event.version ?? null }, by: callerName(caller) },
          }
        : null,
    }
  }
  return {
    async record(tx, caller, changes) {
      const at = new Date(clock.now())
      await write(
        tx,
        at,
        [changes].flat().map((change: Change) => entryOf(caller, change)),
      )
      if (caller.kind === 'user') caller.idempotency?.recordedIn(tx)
    },
    async tell(tx, caller, { name, object, version, scope, contacts }) {
      const data = { object: { ...object, version: version ?? null }, by: callerName(caller), ...(contacts && { contacts }) }
      await write(tx, new Date(clock.now()), [{ audit: null, event: { name, scope: scope === undefined ? scopeOf(object.kind) : scope, data } }])
    },
  }
}
