/**
 * Changes the status of a commitment: row, the server's row, audit entry, event and the next
 * wake-up, in one transaction.
 */
import type { AuditAction } from '#contract/audit.ts'
import type { CcStatus } from '#contract/marketplace/ccs.ts'
import type { Tx } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Servers } from '../servers/api.ts'
import { type Move, nextMoveAt } from './decide.ts'
import { audited } from './present.ts'
import { ccQueue } from './removed.ts'
import * as store from './store.ts'

export interface CcParts extends Pick<Platform, 'db' | 'clock' | 'record' | 'engine' | 'log'> {
  readonly servers: Pick<Servers, 'lockForCommitment' | 'noteCommitment'>
}

const actions: Readonly<Record<CcStatus, AuditAction>> = {
  not_committed: 'cc.created',
  waiting_delegation: 'cc.committed',
  waiting_start: 'cc.delegated',
  active: 'cc.started',
  completed: 'cc.completed',
  failed: 'cc.failed',
  removed: 'cc.removed',
}

/** The columns that a change of the status writes besides the status. */
function stamps(row: store.CcRow, { to, at, reason }: Move, by: string): store.CcColumns {
  const why = reason === undefined ? {} : { reason }
  if (to === 'waiting_delegation') return { committed_at: at, committed_by: by }
  if (to === 'waiting_start')
    return { delegated_at: at, delegated_by: by, starts_at: row.starts_at ?? at }
  // A user may start a commitment before its time.
  if (to === 'active')
    return {
      started_at: at,
      ...(row.starts_at !== null && at < row.starts_at && { starts_at: at }),
    }
  return to === 'removed' ? why : { ended_at: at, ...why }
}

export function moving({
  clock,
  record,
  engine,
  servers,
}: Pick<CcParts, 'clock' | 'record' | 'engine' | 'servers'>) {
  /**
   * Brings the server's row up to date, and wakes the reconciler at the time of the next change.
   */
  const follow = async (tx: Tx, caller: Caller, row: store.CcRow): Promise<void> => {
    await servers.noteCommitment(
      tx,
      caller,
      row.server_id,
      (await store.shownOf(tx, row.server_id)) ?? null,
    )
    const next = nextMoveAt(row)
    if (next !== null)
      await engine.wake(tx, ccQueue, row.id, { afterMs: Math.max(0, next.getTime() - clock.now()) })
  }

  /**
   * Applies a change that was decided or allowed before. The rows of the server and of the
   * commitment must be locked.
   */
  const move = async (
    tx: Tx,
    caller: Caller,
    row: store.CcRow,
    change: Move,
  ): Promise<store.CcRow> => {
    const by = callerName(caller)
    const after = await store.update(tx, row.id, {
      status: change.to,
      ...stamps(row, change, by),
      updated_at: new Date(clock.now()),
      updated_by: by,
    })
    await record(tx, caller, {
      action: actions[change.to],
      target: { kind: 'cc', id: row.id, name: row.server_name },
      before: audited(row),
      after: audited(after),
      event: { name: 'cc.updated', version: after.version },
    })
    await follow(tx, caller, after)
    return after
  }

  return { follow, move }
}
