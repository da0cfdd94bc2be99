/** Operations: work that outlives a request. Other domains create, advance and end them in their own transactions; users watch, cancel and retry. */
import type { AuditAction } from '#contract/audit.ts'
import { canWipe, type ChosenDisks, type ConfirmedDisk, type Disk, type DiskFacts, disksToConfirm } from '#contract/servers/disks.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import {
  type ArgumentsOf,
  canCancelOperation,
  canRetryOperation,
  hasEnded,
  type KindWithArguments,
  type Operation,
  type OperationKind,
  type operationList,
  type operationRetryDisks,
  type OperationStatus,
  operationTable,
  type Step,
  type StepStatus,
} from '#contract/operations.ts'
import type { Page } from '#contract/page.ts'
import { permits, type Scope } from '#contract/permissions.ts'
import { type Verdict, yes } from '#contract/rule.ts'
import * as z from 'zod/mini'
import type { Clock } from '../../clock.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import type { Engine, Work } from '../../engine/engine.ts'
import { heldSentence, holdOf, type HoldOwner } from '../../engine/holds.ts'
import { type Caller, callerName, system, type UserCaller } from '../../http/caller.ts'
import type { Change, RecordChange, Tell } from '../../record.ts'
import { present, workOf } from './present.ts'
import * as store from './store.ts'

export interface NewStep {
  readonly key: string
  readonly title: string
  readonly node_id?: string | null
  /** Progress copied from an earlier operation. */
  readonly before?: Pick<Step, 'status' | 'attempt' | 'started_at' | 'ended_at' | 'reason'>
}

interface NewOperation<K extends OperationKind> {
  readonly kind: K
  /** Its kind is that of the operation's table row. */
  readonly target: { readonly id: string | null; readonly name: string }
  readonly steps: readonly NewStep[]
  /** Queue of the reconciler that carries it out, woken now and at a cancel or retry. The default key is the target's id. */
  readonly queue: string
  readonly queueKey?: string
  /** Details of the audit entry; null if the use-case writes the entry itself. */
  readonly audit?: Pick<Change, 'before' | 'after'> | null
  readonly arguments?: unknown
}
type WithArguments<K extends OperationKind> = K extends KindWithArguments ? { readonly arguments: ArgumentsOf<K> } : unknown

/** Change of a step. Times and the attempt follow from the status. */
export interface StepChange {
  readonly status?: StepStatus
  /** Set when the server of a step becomes known. */
  readonly node_id?: string | null
  readonly reason?: string | null
  readonly title?: string
}

/** Disks that a retry would wipe without a confirmation of their current content. */
export interface Wipes {
  readonly chosen: readonly ChosenDisks[]
  /** Records the confirmations in the transaction of the retry. */
  agree(tx: Tx): Promise<void>
}
type Retried = { readonly id: string; readonly key: string }
export interface RetryGuard {
  /** Called before the operation's row is locked, because its target is always locked first. */
  may(tx: Tx, operation: Retried): Promise<Verdict>
  /** Called outside of a transaction, because it may contact machines. */
  wipes?(operation: Retried): Promise<Wipes>
}

export interface Operations {
  list(caller: UserCaller, query: Input<typeof operationList>['query']): Promise<Page<Operation>>
  /** @throws Problem not_found, also if the caller may not see the target */
  get(caller: UserCaller, id: string): Promise<Operation>
  /** @throws Problem operation_ended, forbidden */
  cancel(caller: UserCaller, id: string): Promise<Operation>
  /** @throws Problem operation_ended, forbidden; disk_not_confirmed if it would wipe an unconfirmed disk */
  retry(caller: UserCaller, id: string, confirmed: readonly ConfirmedDisk[]): Promise<Operation>
  /** Disks to confirm before a retry. */
  retryDisks(caller: UserCaller, id: string): Promise<Answer<typeof operationRetryDisks>>

  /** Creates an operation in the caller's transaction and wakes its reconciler after the commit. */
  create<K extends OperationKind>(tx: Tx, caller: Caller, operation: NewOperation<K> & WithArguments<K>): Promise<Operation>
  /** Records an operation that the caller's transaction completes. The caller writes its audit entry. */
  done(tx: Tx, caller: Caller, kind: 'serverRemove' | 'clusterImport', target: { readonly id: string; readonly name: string }): Promise<Operation>
  /** Appends steps that became known later. Existing keys don't change. */
  addSteps(tx: Tx, id: string, steps: readonly NewStep[]): Promise<void>
  /** Updates a step. An empty change or an unknown key has no effect. The first running step makes the operation running. */
  step(tx: Tx, id: string, key: string, change: StepChange): Promise<void>
  /**
   * Updates the operation: waiting, running, ended. An ended operation doesn't change. `forGood`: ended by something other than its own
   * reconciler, so its remaining steps are skipped with the same reason.
   */
  set(tx: Tx, id: string, change: { status: Exclude<OperationStatus, 'pending' | 'cancelling'>; reason?: string | null; forGood?: boolean }): Promise<void>
  /** For reconcilers: reads without a permission check. */
  read(on: Db | Tx, id: string): Promise<Operation | undefined>
  /** For reconcilers: the open operation of an object of the queue. */
  carriedBy(on: Db | Tx, work: Work): Promise<{ operation: Operation; isCancelled: boolean } | undefined>
  /** For reconcilers: the operation's arguments; defaults for another kind. */
  argumentsOf<K extends KindWithArguments>(on: Db | Tx, id: string, kind: K): Promise<ArgumentsOf<K>>
  /** For reconcilers: the wanted state. `round` counts from 1 and increases with each retry by a user. */
  state(on: Db | Tx, id: string): Promise<{ status: OperationStatus; round: number; cancel_requested_at: Date | null } | undefined>
  /** Declares that a queue has a second queue per server, with keys `<operation's key>/<server's id>`. Its troubles show at the server's steps. */
  worksPerServer(queue: string, each: string): void
  /** Sets the guard of a queue that decides whether a failed operation can be retried, and what that would wipe. */
  guardRetry(queue: string, guard: RetryGuard): void
  /** Open operations on an object. */
  open(db: Db | Tx, kind: Operation['target']['kind'], id: string): Promise<{ id: string; kind: OperationKind; status: OperationStatus }[]>
  /** The object to resume before the operation continues; undefined if it isn't held. @throws Problem not_found, forbidden */
  heldBy(tx: Tx, caller: UserCaller, id: string): Promise<HoldOwner | undefined>
  /** Resumes and returns the operations on objects that are no longer held. */
  goOn(tx: Tx, subjects: readonly string[]): Promise<Operation[]>
  /** Held operations. */
  held(on: Db | Tx): Promise<Operation[]>
  /** For the overview: the newest running operations, or the latest failures. */
  recent(which: 'running' | 'failed', scopes: readonly Scope[], limit: number): Promise<Operation[]>
}

/** The identifying fields of a disk. */
const shownDisk = ({ id, size, type, model, serial, wwid, transport, readonly, content }: DiskFacts): Disk =>
  Object.fromEntries(
    Object.entries({ id, size, type, model, serial, wwid, transport, readonly, content }).filter(
      ([, value]) => value !== null && value !== undefined && value !== '',
    ),
  ) as Disk

const writeScope = (kind: OperationKind): Scope => `${operationTable[kind].scope}:write`

export function operations({ db, clock, record, tell, engine }: { db: Db; clock: Clock; record: RecordChange; tell: Tell; engine: Engine }): Operations {
  const perServer = new Map<string, string>()
  const guards = new Map<string, RetryGuard>()
  const now = () => new Date(clock.now())
  const unknown = () => new Problem('not_found', 'There is no such operation')

  const changed = (tx: Tx, caller: Caller, row: Pick<store.OperationRow, 'id' | 'version' | 'scope'>) =>
    tell(tx, caller, { name: 'operation.updated', object: { kind: 'operation', id: row.id }, version: row.version, scope: row.scope })

  const wake = async (tx: Tx, row: Pick<store.OperationRow, 'queue' | 'queue_key'>): Promise<void> => {
    if (row.queue !== null && row.queue_key !== null) await engine.wake(tx, row.queue, row.queue_key)
  }

  /** Operations for users, with the current troubles of their reconcilers. */
  const shown = async (on: Db | Tx, found: readonly store.Found[]): Promise<Operation[]> => {
    const troubles = await engine.troubles(
      on,
      found.flatMap((f) => workOf(f, perServer).map(({ object }) => object)),
    )
    return found.map((f) => present(f, perServer, troubles))
  }
  const whole = async (on: Db | Tx, id: string): Promise<Operation> => (await shown(on, [(await store.get(on, id))!]))[0]!

  engine.onTrouble(async (tx, { queue, key }) => {
    const objects = [{ queue, key }]
    for (const [whole, each] of perServer) if (each === queue) objects.push({ queue: whole, key: key.slice(0, key.lastIndexOf('/')) })
    for (const { id } of await store.openOn(tx, objects)) await changed(tx, system, await store.update(tx, id, {}))
  })

  const insert = async (
    tx: Tx,
    caller: Caller,
    {
      kind,
      target,
      steps,
      arguments: given = {},
      queue,
      queue_key,
    }: Pick<NewOperation<OperationKind>, 'kind' | 'target' | 'steps' | 'arguments'> & { queue: string | null; queue_key: string | null },
  ): Promise<store.OperationRow> => {
    const row = await store.insert(tx, {
      kind,
      target_kind: operationTable[kind].target,
      target_id: target.id,
      target_name: target.name,
      scope: `${operationTable[kind].scope}:read`,
      arguments: JSON.stringify(given),
      queue,
      queue_key,
      created_by: caller.kind === 'user' ? caller.userId : null,
      created_by_name: callerName(caller),
      created_at: now(),
    })
    await store.insertSteps(
      tx,
      steps.map((s, position) => ({ operation_id: row.id, key: s.key, position, title: s.title, node_id: s.node_id ?? null })),
    )
    const dated = (at: string | null) => (at === null ? null : new Date(at))
    for (const { key, before } of steps) {
      if (!before) continue
      const { status, attempt, reason, started_at, ended_at } = before
      await store.updateStep(tx, row.id, key, { status, attempt, reason, started_at: dated(started_at), ended_at: dated(ended_at) })
    }
    return row
  }
  const created = (tx: Tx, caller: Caller, row: store.OperationRow) =>
    tell(tx, caller, { name: 'operation.created', object: { kind: 'operation', id: row.id }, version: row.version, scope: row.scope })

  /** Refuses an operation on a held object. */
  const demandFree = async (tx: Tx, key: string, name: string): Promise<void> => {
    if (await holdOf(tx, key)) throw new Problem('operation_running', heldSentence(name))
  }

  /** Locks the operation after checking that the user may change its target. */
  const lockFor = async (tx: Tx, caller: UserCaller, id: string): Promise<store.OperationRow> => {
    const row = await store.lock(tx, id)
    if (!row || (row.scope !== null && !(caller.scopes as readonly string[]).includes(row.scope))) throw unknown()
    const allowed = permits(caller.scopes, writeScope(row.kind))
    if (!allowed.ok) throw new Problem('forbidden', allowed.reason)
    return row
  }

  const mayRetry = async (tx: Tx, id: string): Promise<Verdict> => {
    const row = await store.byId(tx, id)
    const guard = row?.queue == null ? undefined : guards.get(row.queue)
    return guard ? guard.may(tx, { id, key: row!.queue_key! }) : yes
  }

  /** Empty if the operation can't be retried or not by this caller, which is reported elsewhere. */
  const wipesOf = async (caller: UserCaller, id: string): Promise<Wipes | undefined> => {
    const row = await store.byId(db, id)
    if (!row || row.queue === null || row.queue_key === null || !canRetryOperation(row).ok) return undefined
    if (!permits(caller.scopes, writeScope(row.kind)).ok) return undefined
    return guards.get(row.queue)?.wipes?.({ id, key: row.queue_key })
  }

  /** Handles a user's request on an operation: checks, writes, emits, and wakes the reconciler. `first` runs before the operation's row is locked. */
  const ask = <T>(
    caller: UserCaller,
    id: string,
    action: AuditAction,
    first: (tx: Tx) => Promise<T>,
    wish: (tx: Tx, row: store.OperationRow, told: T) => Promise<store.OperationRow>,
  ): Promise<Operation> =>
    inTransaction(db, async (tx) => {
      const told = await first(tx)
      const row = await lockFor(tx, caller, id)
      const after = await wish(tx, row, told)
      await record(tx, caller, {
        action,
        target: { kind: 'operation', id, name: `${row.kind} ${row.target_name}` },
        before: { status: row.status },
        after: { status: after.status },
        event: { name: 'operation.updated', version: after.version, scope: row.scope },
      })
      await wake(tx, after)
      return whole(tx, id)
    })

  return {
    async list(caller, query) {
      const { rows, total } = await store.page(db, query, caller.scopes)
      return { items: await shown(db, rows), page: query.page, per_page: query.per_page, total }
    },

    async get(caller, id) {
      const found = await store.get(db, id)
      if (!found || (found.row.scope !== null && !(caller.scopes as readonly string[]).includes(found.row.scope))) throw unknown()
      return (await shown(db, [found]))[0]!
    },

    cancel: (caller, id) =>
      ask(
        caller,
        id,
        'operation.cancel_requested',
        async () => undefined,
        (tx, row) => {
          const verdict = canCancelOperation(row)
          if (!verdict.ok) throw new Problem('operation_ended', verdict.reason)
          return store.update(tx, id, { status: 'cancelling', cancel_requested_at: now() })
        },
      ),

    async retry(caller, id, confirmed) {
      const wipes = await wipesOf(caller, id)
      return ask(
        caller,
        id,
        'operation.retried',
        (tx) => mayRetry(tx, id),
        async (tx, row, may) => {
          const verdict = canRetryOperation(row)
          if (!verdict.ok) throw new Problem('operation_ended', verdict.reason)
          // Additions of servers may run concurrently. Every other operation is exclusive on its target.
          const alone = row.target_id !== null && row.target_kind !== 'datacenter'
          const other = alone ? (await store.openOf(tx, row.target_kind, row.target_id!)).find((o) => o.id !== id) : undefined
          if (other) throw new Problem('operation_running', `Another operation on ${row.target_name} has not ended`)
          if (!may.ok) throw new Problem('operation_ended', may.reason)
          if (row.queue_key !== null) await demandFree(tx, row.queue_key, row.target_name)
          const wipe = canWipe(wipes?.chosen ?? [], confirmed)
          if (!wipe.ok) throw new Problem('disk_not_confirmed', wipe.reason)
          await wipes?.agree(tx)
          await store.reopenSteps(tx, id)
          return store.update(tx, id, { status: 'running', reason: null, ended_at: null, cancel_requested_at: null, round: row.round + 1 })
        },
      )
    },

    async retryDisks(caller, id) {
      const found = await store.get(db, id)
      if (!found || (found.row.scope !== null && !(caller.scopes as readonly string[]).includes(found.row.scope))) throw unknown()
      const wipes = await wipesOf(caller, id)
      return { items: disksToConfirm(wipes?.chosen ?? []).map((one) => ({ ...one, disk: shownDisk(one.disk) })) }
    },

    async heldBy(tx, caller, id) {
      const row = await lockFor(tx, caller, id)
      return row.queue_key === null ? undefined : holdOf(tx, row.queue_key)
    },

    async goOn(tx, subjects) {
      const rows = await store.heldOf(tx, subjects)
      for (const row of rows) {
        const status = row.status === 'waiting' ? (row.started_at === null ? 'pending' : 'running') : row.status
        await changed(tx, system, await store.update(tx, row.id, { status, reason: null, held_since: null }))
        await wake(tx, row)
      }
      return Promise.all(rows.map((row) => whole(tx, row.id)))
    },

    held: async (on) => Promise.all((await store.heldOf(on)).map((row) => whole(on, row.id))),

    async create(tx, caller, { queueKey, audit, ...operation }) {
      const { kind, target } = operation
      const queue_key = queueKey ?? target.id
      if (queue_key === null) throw new Error(`An operation without a target needs a key for ${operation.queue}`)
      await demandFree(tx, queue_key, target.name)
      const row = await insert(tx, caller, { ...operation, queue_key })
      await created(tx, caller, row)
      if (audit !== null) {
        const of = operationTable[kind].target
        await record(tx, caller, {
          action: operationTable[kind].audit,
          // For additions the datacenter is only the place, so the entry is about the operation.
          target:
            of === 'datacenter' || target.id === null ? { kind: 'operation', id: row.id, name: target.name } : { kind: of, id: target.id, name: target.name },
          ...audit,
          after: { ...audit?.after, operation: row.id },
        })
      }
      await wake(tx, row)
      return whole(tx, row.id)
    },

    async done(tx, caller, kind, target) {
      const [key, title] = Object.entries(operationTable[kind].steps)[0]!
      const step = { key, title: title(target), ...(operationTable[kind].target === 'server' && { node_id: target.id }) }
      const { id } = await insert(tx, caller, { kind, target, steps: [step], queue: null, queue_key: null })
      const at = { started_at: now(), ended_at: now() }
      await store.updateStep(tx, id, key, { status: 'done', attempt: 1, ...at })
      await created(tx, caller, await store.update(tx, id, { status: 'done', ...at }))
      return whole(tx, id)
    },

    async addSteps(tx, id, steps) {
      const first = await store.nextPosition(tx, id)
      const known = new Set((await store.get(tx, id))!.steps.map((s) => s.key))
      const added = steps.filter((s) => !known.has(s.key))
      if (added.length === 0) return
      await store.insertSteps(
        tx,
        added.map((s, i) => ({ operation_id: id, key: s.key, position: first + i, title: s.title, node_id: s.node_id ?? null })),
      )
      await changed(tx, system, await store.update(tx, id, {}))
    },

    async step(tx, id, key, { status, reason, title, node_id }) {
      const before = await store.step(tx, id, key)
      if (!before) return
      const next = status ?? before.status
      const same =
        next === before.status &&
        (reason === undefined || reason === before.reason) &&
        (title === undefined || title === before.title) &&
        (node_id === undefined || node_id === before.node_id)
      if (same) return
      const at = now()
      const begins = (next === 'running' || next === 'waiting') && before.status !== 'running' && before.status !== 'waiting'
      const ends = next === 'done' || next === 'failed' || next === 'skipped'
      await store.updateStep(tx, id, key, {
        status: next,
        reason: reason === undefined ? (next === before.status ? before.reason : null) : reason,
        ...(title !== undefined && { title }),
        ...(node_id !== undefined && { node_id }),
        ...(begins && { attempt: before.attempt + 1, started_at: before.started_at ?? at, ended_at: null }),
        ...(ends && before.status !== next && { ended_at: at, started_at: before.started_at ?? at, attempt: Math.max(1, before.attempt) }),
        ...(next === 'todo' && { started_at: null, ended_at: null }),
      })
      const row = await store.lock(tx, id)
      const starts = row!.status === 'pending' && next !== 'todo'
      await changed(tx, system, await store.update(tx, id, starts ? { status: 'running', started_at: at } : {}))
    },

    async set(tx, id, { status, reason = null, forGood = false }) {
      const row = await store.lock(tx, id)
      if (!row || hasEnded(row)) return
      // Progress doesn't clear a requested cancel; only the end does.
      const shown = row.status === 'cancelling' && (status === 'running' || status === 'waiting') ? 'cancelling' : status
      if (row.status === shown && row.reason === reason) return
      const at = now()
      if (forGood) await store.skipSteps(tx, id, reason, at)
      const after = await store.update(tx, id, { status: shown, reason, started_at: row.started_at ?? at, ended_at: hasEnded({ status: shown }) ? at : null })
      await changed(tx, system, after)
      if (shown === 'done' || shown === 'failed' || shown === 'cancelled') {
        await record(tx, system, {
          action: `operation.${shown}`,
          target: { kind: 'operation', id, name: `${row.kind} ${row.target_name}` },
          after: { status: shown, reason },
        })
      }
    },

    async read(on, id) {
      const found = await store.get(on, id)
      return found && present(found, perServer)
    },

    async carriedBy(on, work) {
      const found = await store.carriedBy(on, work)
      return found && { operation: present(found, perServer), isCancelled: found.row.cancel_requested_at !== null }
    },

    async argumentsOf(on, id, kind) {
      const row = await store.byId(on, id)
      return z.parse(operationTable[kind].arguments, row?.kind === kind ? row.arguments : {}) as ArgumentsOf<typeof kind>
    },

    state: (on, id) => store.state(on, id),

    worksPerServer: (queue, each) => void perServer.set(queue, each),
    guardRetry: (queue, may) => void guards.set(queue, may),

    async open(dbOrTx, kind, id) {
      return (await store.openOf(dbOrTx, kind, id)).map((o) => ({ id: o.id, kind: o.kind, status: o.status }))
    },

    async recent(which, scopes, limit) {
      return shown(db, await store.recent(db, which, scopes, limit))
    },
  }
}
