/** Creates and updates operations, in the transactions of the domains that own them. */
import {
  canCancelOperation,
  hasEnded,
  type Operation,
  type OperationKind,
  operationTable,
} from '#contract/operations.ts'
import type { Tx } from '../../db/db.ts'
import type { Work } from '../../engine/engine.ts'
import { type Caller, callerName, system } from '../../http/caller.ts'
import type { NewOperation, NewStep, OfKind, StatusChange, StepChange } from './api.ts'
import { demandFree } from './checks.ts'
import { delays } from './delays.ts'
import type { OperationParts, View } from './present.ts'
import * as store from './store.ts'

export function writing(
  { clock, db, record, tracing }: OperationParts,
  { announced, whole, wake, wholes }: View,
) {
  const now = () => new Date(clock.now())
  const waits = delays(db)
  const updated = async (tx: Tx, id: string, change: Parameters<typeof store.update>[2]) =>
    announced(tx, system, 'updated', await store.update(tx, id, change))

  const insert = async (
    tx: Tx,
    caller: Caller,
    {
      kind,
      target,
      steps,
      arguments: given = {},
      startsAt = null,
      inWindow = false,
    }: Pick<NewOperation, 'kind' | 'target' | 'steps' | 'arguments' | 'startsAt' | 'inWindow'>,
    work: { queue: string; queue_key: string } | { queue: null; queue_key: null },
  ): Promise<store.OperationRow> => {
    const row = await store.insert(tx, {
      ...work,
      kind,
      target_kind: operationTable[kind].target,
      target_id: target.id,
      target_name: target.name,
      scope: `${operationTable[kind].scope}:read`,
      arguments: JSON.stringify(given),
      starts_at: startsAt,
      in_window: inWindow,
      created_by: caller.kind === 'anonymous' ? null : (caller.userId ?? null),
      created_by_name: callerName(caller),
      created_at: now(),
      traceparent: tracing?.traceparent() ?? null,
    })
    tracing?.note({ 'steelyard.operation.id': row.id, 'steelyard.operation.kind': kind })
    await store.insertSteps(tx, row.id, steps, 0)
    const dated = (at: string | null) => (at === null ? null : new Date(at))
    for (const { key, before } of steps) {
      if (!before) continue
      await store.updateStep(tx, row.id, key, {
        ...before,
        started_at: dated(before.started_at),
        ended_at: dated(before.ended_at),
      })
    }
    return row
  }

  const steps = async (
    tx: Tx,
    id: string,
    changes: readonly ({ readonly key: string } & StepChange)[],
  ): Promise<void> => {
    const at = now()
    const current = await store.steps(
      tx,
      id,
      changes.map((c) => c.key),
    )
    const changed = changes.flatMap(({ key, ...change }) => {
      const before = current.find((step) => step.key === key)
      if (!before) return []
      const {
        status = before.status,
        reason = status === before.status ? before.reason : null,
        title = before.title,
        node_id = before.node_id,
      } = change
      if (
        status === before.status &&
        reason === before.reason &&
        title === before.title &&
        node_id === before.node_id
      )
        return []
      const begins =
        (status === 'running' || status === 'waiting') &&
        before.status !== 'running' &&
        before.status !== 'waiting'
      const ends =
        (status === 'done' || status === 'failed' || status === 'skipped') &&
        before.status !== status
      return [
        {
          ...before,
          status,
          title,
          node_id,
          reason,
          ...(begins && {
            attempt: before.attempt + 1,
            started_at: before.started_at ?? at,
            ended_at: null,
          }),
          ...(ends && {
            ended_at: at,
            started_at: before.started_at ?? at,
            attempt: Math.max(1, before.attempt),
          }),
          ...(status === 'todo' && { started_at: null, ended_at: null }),
        },
      ]
    })
    if (changed.length === 0) return
    await store.updateSteps(tx, id, changed, current)
    const ended = changed.filter(
      ({ key, status }) =>
        status !== 'waiting' && current.some((s) => s.key === key && s.status === 'waiting'),
    )
    if (ended.length > 0)
      await waits.undelay(
        tx,
        id,
        ended.map(({ key }) => key),
      )
    const row = await store.lock(tx, id)
    const starts = row!.status === 'pending' && changed.some(({ status }) => status !== 'todo')
    await updated(tx, id, starts ? { status: 'running', started_at: at } : {})
  }

  return {
    /**
     * Creates an operation in the caller's transaction and wakes its reconciler after the commit.
     */
    async create<K extends OperationKind>(
      tx: Tx,
      caller: Caller,
      operation: NewOperation & OfKind<K>,
    ): Promise<Operation> {
      const { kind, target, queue, queueKey: queue_key = target.id, audit } = operation
      if (queue_key === null)
        throw new Error(`An operation without a target needs a key for ${queue}`)
      await demandFree(tx, queue_key, target.name)
      const row = await insert(tx, caller, operation, { queue, queue_key })
      await announced(tx, caller, 'created', row)
      if (audit !== null) {
        const of = operationTable[kind].target
        await record(tx, caller, {
          action: operationTable[kind].audit,
          // The target of an addition of servers is only their datacenter, so the audit entry is
          // about the operation.
          target:
            of === 'datacenter' || target.id === null
              ? { kind: 'operation', id: row.id, name: target.name }
              : { kind: of, id: target.id, name: target.name },
          ...audit,
          after: { ...audit?.after, operation: row.id },
        })
      }
      await wake(tx, row)
      return whole(tx, row.id)
    },

    /**
     * Records an operation that the caller's transaction completes. The caller writes the audit
     * entry.
     */
    async done(
      tx: Tx,
      caller: Caller,
      kind: 'serverRemove' | 'clusterImport',
      target: { readonly id: string; readonly name: string },
    ): Promise<Operation> {
      const [key, title] = Object.entries(operationTable[kind].steps)[0]!
      const step = {
        key,
        title: title(target),
        ...(operationTable[kind].target === 'server' && { node_id: target.id }),
      }
      const { id } = await insert(
        tx,
        caller,
        { kind, target, steps: [step] },
        { queue: null, queue_key: null },
      )
      const at = { started_at: now(), ended_at: now() }
      await store.updateStep(tx, id, key, { status: 'done', attempt: 1, ...at })
      await announced(tx, caller, 'created', await store.update(tx, id, { status: 'done', ...at }))
      return whole(tx, id)
    },

    /** Appends steps that became known later. Steps whose keys exist already are skipped. */
    async addSteps(tx: Tx, id: string, steps: readonly NewStep[]): Promise<void> {
      const { steps: before } = (await store.get(tx, id))!
      const added = steps.filter(({ key }) => !before.some((step) => step.key === key))
      if (added.length === 0) return
      await store.insertSteps(tx, id, added, 1 + (before.at(-1)?.position ?? -1))
      await updated(tx, id, {})
    },

    /** Replaces the steps of an operation that has not begun. */
    async replaceSteps(tx: Tx, id: string, steps: readonly NewStep[]): Promise<void> {
      await store.dropSteps(tx, id)
      await store.insertSteps(tx, id, steps, 0)
      await updated(tx, id, {})
    },

    /**
     * Updates a step. An empty change or an unknown key has no effect. The first running step makes
     * the operation running.
     */
    step: (tx: Tx, id: string, key: string, change: StepChange): Promise<void> =>
      steps(tx, id, [{ key, ...change }]),
    /** Updates several steps, which counts as one change of the operation. */
    steps,

    /**
     * Updates the operation's status. An ended operation doesn't change. `forGood`: the operation
     * isn't ended by its own reconciler, so its remaining steps are skipped with the same reason.
     */
    async set(
      tx: Tx,
      id: string,
      { status, reason = null, forGood = false }: StatusChange,
    ): Promise<void> {
      const row = await store.lock(tx, id)
      if (!row || hasEnded(row)) return
      // After a requested cancel the status stays `cancelling` until the operation ends.
      const shown =
        row.status === 'cancelling' && (status === 'running' || status === 'waiting')
          ? 'cancelling'
          : status
      if (row.status === shown && row.reason === reason) return
      const at = now()
      if (forGood) await store.skipSteps(tx, id, reason, at)
      await updated(tx, id, {
        status: shown,
        reason,
        started_at: row.started_at ?? at,
        ended_at: hasEnded({ status: shown }) ? at : null,
      })
      if (shown === 'done' || shown === 'failed' || shown === 'cancelled') {
        await record(tx, system, {
          action: `operation.${shown}`,
          target: { kind: 'operation', id, name: `${row.kind} ${row.target_name}` },
          after: { status: shown, reason },
        })
      }
    },

    /** Asks an open operation to stop at its next safe point. */
    async cancelIn(tx: Tx, id: string): Promise<void> {
      const row = await store.lock(tx, id)
      if (!row || !canCancelOperation(row).ok) return
      await updated(tx, id, { status: 'cancelling', cancel_requested_at: now() })
      await wake(tx, row)
    },

    /** Sets what an operation that has not begun waits for, as its reason. */
    async note(tx: Tx, id: string, reason: string): Promise<void> {
      const row = await store.lock(tx, id)
      if (row && !hasEnded(row) && row.reason !== reason) await updated(tx, id, { reason })
    },

    /** Called after objects were halted (`engine/crashes.ts`): their operations wait for a user. */
    async halted(tx: Tx, objects: readonly Work[], reason: string): Promise<void> {
      for (const { id } of await store.openOn(tx, objects.flatMap(wholes))) {
        const row = (await store.byId(tx, id))!
        await updated(tx, id, { reason, ...(row.status === 'running' && { status: 'waiting' }) })
      }
    },

    /** Called when the run of a halted object has ended: its operations no longer wait for it. */
    async resumed(tx: Tx, object: Work, reason: string): Promise<void> {
      for (const { id } of await store.openOn(tx, wholes(object))) {
        const row = (await store.byId(tx, id))!
        if (row.reason === reason)
          await updated(tx, id, {
            reason: null,
            ...(row.status === 'waiting' && { status: 'running' }),
          })
      }
    },

    /** Resumes and returns the operations on objects that are no longer held. */
    async goOn(tx: Tx, subjects: readonly string[]): Promise<Operation[]> {
      const rows = await store.heldOf(tx, subjects)
      for (const row of rows) {
        const status =
          row.status === 'waiting' ? (row.started_at === null ? 'pending' : 'running') : row.status
        await updated(tx, row.id, { status, reason: null, held_since: null })
        await wake(tx, row)
      }
      return Promise.all(rows.map((row) => whole(tx, row.id)))
    },
  }
}
