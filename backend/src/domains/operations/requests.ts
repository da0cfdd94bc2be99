/** Users' requests for an operation: cancel, retry, and resume after a restore. */
import type { AuditAction } from '#contract/audit.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import {
  canCancelOperation,
  canRetryOperation,
  isScheduled,
  type Operation,
  type operationRetryDisks,
} from '#contract/operations.ts'
import { scopesToChange } from '#contract/operations/changing.ts'
import { permits } from '#contract/permissions.ts'
import { all, type Verdict, yes } from '#contract/rule.ts'
import { type ConfirmedDisk } from '#contract/disks/disks.ts'
import { canWipe, disksToConfirm } from '#contract/disks/wipe.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { type HoldOwner, holdOf } from '../../engine/holds.ts'
import { demandScope, type UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import type { RetryGuard, Wipes } from './api.ts'
import { demandFree, shownDisk } from './checks.ts'
import { maySee, type OperationParts, type View } from './present.ts'
import { delays } from './delays.ts'
import { unknownOperation } from './removing.ts'
import * as store from './store.ts'

const mayChange = (caller: UserCaller, { row, steps }: store.Found): Verdict =>
  all(...scopesToChange(row, steps).map((scope) => permits(caller.scopes, scope)))

/** Locks the operation's row and returns it. @throws Problem not_found, forbidden */
async function lockFor(
  parts: Pick<OperationParts, 'config'>,
  tx: Tx,
  caller: UserCaller,
  id: string,
): Promise<store.OperationRow> {
  const row = await store.lock(tx, id)
  if (!row || !maySee(caller, row)) throw unknownOperation(parts)
  const { steps } = (await store.get(tx, id))!
  for (const scope of scopesToChange(row, steps)) demandScope(caller, scope)
  return row
}

export function requests(parts: OperationParts, { wake, whole, objectsOf }: View) {
  const { db, clock, record, engine, tracing } = parts
  const guards = new Map<string, RetryGuard>()

  const mayRetry = async (tx: Tx, id: string): Promise<Verdict> => {
    const { queue, queue_key: key } = (await store.byId(tx, id)) ?? {}
    return (queue && key && (await guards.get(queue)?.may(tx, { id, key }))) || yes
  }

  /** Undefined if this caller can't retry the operation; another check reports the reason. */
  const wipesOf = async (caller: UserCaller, id: string): Promise<Wipes | undefined> => {
    const found = await store.get(db, id)
    if (!found || !mayChange(caller, found).ok) return undefined
    const { row } = found
    if (row.queue === null || row.queue_key === null || !canRetryOperation(row).ok) return undefined
    return guards.get(row.queue)?.wipes?.({ id, key: row.queue_key })
  }

  const written = async (
    tx: Tx,
    caller: UserCaller,
    action: AuditAction,
    row: store.OperationRow,
    after: store.OperationRow,
  ): Promise<Operation> => {
    await record(tx, caller, {
      action,
      target: { kind: 'operation', id: row.id, name: `${row.kind} ${row.target_name}` },
      before: { status: row.status },
      after: { status: after.status },
      event: { name: 'operation.updated', version: after.version, scope: row.scope },
    })
    await wake(tx, after)
    return whole(tx, row.id)
  }

  return {
    /** @throws Problem operation_ended, forbidden */
    cancel: (caller: UserCaller, id: string): Promise<Operation> =>
      inTransaction(db, async (tx) => {
        const row = await lockFor(parts, tx, caller, id)
        demand(canCancelOperation(row), 'operation_ended')
        const after = await store.update(tx, id, {
          status: 'cancelling',
          cancel_requested_at: new Date(clock.now()),
        })
        return written(tx, caller, 'operation.cancel_requested', row, after)
      }),

    /**
     * @throws Problem operation_ended, forbidden; disk_not_confirmed if the retry would wipe an
     * unconfirmed disk
     */
    async retry(
      caller: UserCaller,
      id: string,
      confirmed: readonly ConfirmedDisk[],
    ): Promise<Operation> {
      const wipes = await wipesOf(caller, id)
      return inTransaction(db, async (tx) => {
        const may = await mayRetry(tx, id)
        const row = await lockFor(parts, tx, caller, id)
        demand(canRetryOperation(row), 'operation_ended')
        // Additions of servers may run concurrently. Every other operation is exclusive on its
        // target.
        const alone = row.target_id !== null && row.target_kind !== 'datacenter'
        const other = alone
          ? (await store.openOf(tx, row.target_kind, row.target_id!)).find(
              (o) => o.id !== id && !isScheduled(o),
            )
          : undefined
        if (other)
          throw new Problem(
            'operation_running',
            `Another operation on ${row.target_name} has not ended`,
          )
        demand(may, 'operation_ended')
        if (row.queue_key !== null) await demandFree(tx, row.queue_key, row.target_name)
        demand(canWipe(wipes?.chosen ?? [], confirmed), 'disk_not_confirmed')
        await wipes?.agree(tx)
        await store.reopenSteps(tx, id)
        await delays(db).undelay(tx, id)
        const again = {
          status: 'running',
          reason: null,
          ended_at: null,
          cancel_requested_at: null,
          round: row.round + 1,
          traceparent: tracing?.traceparent() ?? row.traceparent,
        } as const
        return written(tx, caller, 'operation.retried', row, await store.update(tx, id, again))
      })
    },

    /** Disks to confirm before a retry. */
    async retryDisks(caller: UserCaller, id: string): Promise<Answer<typeof operationRetryDisks>> {
      const row = await store.byId(db, id)
      if (!row || !maySee(caller, row)) throw unknownOperation(parts)
      const wipes = await wipesOf(caller, id)
      return {
        items: disksToConfirm(wipes?.chosen ?? []).map((one) => ({
          ...one,
          disk: shownDisk(one.disk),
        })),
      }
    },

    /**
     * The held object to resume before the operation continues; undefined if the operation isn't
     * held. @throws Problem not_found, forbidden
     */
    async heldBy(tx: Tx, caller: UserCaller, id: string): Promise<HoldOwner | undefined> {
      const row = await lockFor(parts, tx, caller, id)
      return row.queue_key === null ? undefined : holdOf(tx, row.queue_key)
    },

    /**
     * Resumes an operation whose work was halted (`engine/crashes.ts`); undefined if none was.
     * @throws Problem not_found, forbidden
     */
    async resumeHalted(tx: Tx, caller: UserCaller, id: string): Promise<Operation | undefined> {
      const row = await lockFor(parts, tx, caller, id)
      if (!(await engine.resume(tx, objectsOf((await store.get(tx, id))!)))) return undefined
      const status = row.status === 'waiting' ? ('running' as const) : row.status
      return written(
        tx,
        caller,
        'operation.resumed',
        row,
        await store.update(tx, id, { status, reason: null }),
      )
    },

    /**
     * Sets a queue's guard, which decides whether a failed operation can be retried and which disks
     * a retry would wipe.
     */
    guardRetry: (queue: string, guard: RetryGuard): void => void guards.set(queue, guard),
  }
}
