/**
 * `record` writes what happened in the transaction of the change itself: the audit entry and the event become true with it or not at all.
 * Both go into the outbox without number or hash; the publisher gives those after the commit (see `domains/events/publisher.ts`).
 */
import type { ErrorCode } from '#contract/errors.ts'
import { type EventKind, eventKinds, type EventName } from '#contract/events.ts'
import type { Clock } from './clock.ts'
import type { Tx } from './db/db.ts'
import { type Caller, callerName } from './http/caller.ts'

export interface Change {
  /** noun.verb in the past, such as `server.renamed`: the audit log's action. */
  readonly action: string
  readonly target: { readonly kind: string; readonly id: string; readonly name?: string }
  /** The object before and after, as its DTO shows it: never a secret, never a row. */
  readonly before?: object | null
  readonly after?: object | null
  /** `ok` unless a refusal is recorded. */
  readonly result?: 'ok' | ErrorCode
  /** What the live stream says; left out, only the audit log knows. The event's object is the target unless `object` names another. */
  readonly event?: {
    readonly name: EventName
    readonly version?: number
    readonly object?: { readonly kind: EventKind; readonly id: string }
    /** Scope that a reader must hold; by default that of the object's kind. */
    readonly scope?: string | null
  }
}

export type RecordChange = (tx: Tx, caller: Caller, change: Change) => Promise<void>
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

/** Builds both; the publisher is woken by the outbox table itself (a trigger that notifies at commit). */
export function recorder({ clock }: { clock: Clock }): Recorder {
  const scopeOf = (kind: string): string | null => {
    const scope = kind in eventKinds ? eventKinds[kind as EventKind] : 'users:manage'
    return scope === 'signed_in' ? null : scope
  }
  const write = async (tx: Tx, at: Date, audit: object | null, event: object | null): Promise<void> => {
    await tx
      .insertInto('outbox')
      .values({ at, audit: audit === null ? null : JSON.stringify(audit), event: event === null ? null : JSON.stringify(event) })
      .execute()
  }
  return {
    async record(tx, caller, change) {
      const at = new Date(clock.now())
      const user = caller.kind === 'user' ? caller : undefined
      const audit = {
        action: change.action,
        outcome: change.result ?? 'ok',
        actor_kind: caller.kind,
        actor_id: user?.userId ?? null,
        actor_name: callerName(caller),
        session_id: user?.sessionId ?? null,
        ip: caller.kind === 'system' ? null : caller.ip,
        request_id: caller.kind === 'system' ? null : caller.requestId,
        target_kind: change.target.kind,
        target_id: change.target.id,
        target_name: change.target.name ?? null,
        before: change.before ?? null,
        after: change.after ?? null,
      }
      const object = change.event?.object ?? { kind: change.target.kind, id: change.target.id }
      const event = change.event && {
        name: change.event.name,
        scope: change.event.scope === undefined ? scopeOf(object.kind) : change.event.scope,
        data: { object: { ...object, version: change.event.version ?? null }, by: callerName(caller) },
      }
      await write(tx, at, audit, event ?? null)
      if (user?.idempotency) {
        await tx
          .updateTable('idempotent_call')
          .set({ committed_at: at })
          .where('person_id', '=', user.userId)
          .where('operation', '=', user.idempotency.operation)
          .where('key', '=', user.idempotency.key)
          .execute()
      }
    },
    async tell(tx, caller, { name, object, version, scope, contacts }) {
      const data = { object: { ...object, version: version ?? null }, by: callerName(caller), ...(contacts && { contacts }) }
      await write(tx, new Date(clock.now()), null, { name, scope: scope === undefined ? scopeOf(object.kind) : scope, data })
    },
  }
}
