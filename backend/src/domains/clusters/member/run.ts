/** Shared parts of a server's reconciler: recording its step, the results of a look, and a failure. */
import type { Updateable } from 'kysely'
import type { Tables } from '../../../db/tables.gen.ts'
import type { Tx } from '../../../db/db.ts'
import type { Job } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { hasStarted, type Seen } from './decide-server.ts'
import type { State } from '../facts.ts'
import { serverFailed, troubleOf } from './failure-log.ts'
import { leavingAlone } from '../leave/leaving-alone.ts'
import { demandStillWanted, holdMember } from '../whole/overtaken.ts'
import { clusterQueue, type ClusterParts } from '../parts.ts'
import type { Place } from '../../../db/columns.ts'
import { done, failed, memberSteps, progress, type Shown } from '../whole/progress.ts'
import type { Reach } from '../reach.ts'
import type { ClusterSecrets } from '../secrets.ts'
import * as store from '../store.ts'

export type MemberChange = Updateable<Tables['cluster_server']>

/** Interval of recording unchanged looks, in ms. */
const noteSeenEveryMs = 5_000
/** Interval while waiting for other events, in ms. They wake the server; this catches missed ones. */
export const idleMs = 30_000

/** Columns of a look, which no other reconciler waits for. */
const told: ReadonlySet<string> = new Set(['seen_at', 'stage', 'left_at', 'trouble', 'failure_log', 'failure_log_at'])

/** Interval until the next look, in ms: it grows with the time in the same step. */
export const pollMs = (sinceMs: number): number =>
  sinceMs < 5_000 ? 150 : sinceMs < 30_000 ? 500 : sinceMs < 120_000 ? 2_000 : sinceMs < 3_600_000 ? 5_000 : idleMs

/** The changed columns after a look. */
export const sighting = (m: store.MemberRow, seen: Seen, now: number): MemberChange => {
  const change: MemberChange = {}
  // A missing answer proves nothing.
  if (m.sent_at !== null && m.left_at === null && (seen.kind === 'secured' || seen.kind === 'foreign')) change.left_at = new Date(now)
  if (seen.kind !== 'maintenance' && seen.kind !== 'secured') return change
  if (m.stage !== seen.stage || m.seen_at === null || now - m.seen_at.getTime() >= noteSeenEveryMs) {
    change.stage = seen.stage
    change.seen_at = new Date(now)
  }
  if (seen.kind === 'secured') Object.assign(change, troubleOf(m, seen, now))
  if (m.wanted === 'joined' && seen.kind === 'secured' && m.secured_at === null && hasStarted(m.role, seen)) change.secured_at = new Date(now)
  const etcd = seen.kind === 'secured' ? seen.services['etcd'] : undefined
  if (m.wanted === 'joined' && m.role === 'control_plane' && m.etcd_at === null && etcd?.state === 'Running' && etcd.healthy) change.etcd_at = new Date(now)
  return change
}

export type MemberRun = ReturnType<typeof memberRun>

export function memberRun(parts: ClusterParts, secrets: ClusterSecrets, reached: Reach) {
  const { db, engine, servers, operations, record } = parts
  const steps = progress(parts.operations)
  const alone = leavingAlone(parts, reached)

  /**
   * Records the server's state and its steps. Wakes the cluster if others may wait for the change. Returns
   * false and writes nothing if users have changed the wanted state since the server was read.
   */
  const note = (
    job: Job,
    state: State,
    m: store.MemberRow,
    at: Place,
    shown: Shown,
    change: MemberChange = {},
    also?: (tx: Tx) => Promise<void>,
  ): Promise<boolean> => {
    const moved = at !== m.at
    const columns: MemberChange = { ...change, ...(moved && { at, at_since: new Date(job.now()) }) }
    return job.fence.write(async (tx) => {
      const now = await holdMember(tx, m)
      if (!now) return false
      // Sent again: the server was in maintenance right before.
      if (change.secured_at || change.sends !== undefined) await servers.noteRunning(tx, m.node_id, Boolean(change.secured_at))
      if (Object.keys(columns).length > 0) await store.updateMember(tx, m.cluster_id, m.node_id, columns)
      const isJoined = at === 'join' && now.node_ready_at !== null
      const wasInstalled = change.was_installed ?? m.was_installed ?? false
      await steps.show(tx, operationOf(state, m), memberSteps(m.node_id, m.role, at, isJoined ? done : shown, wasInstalled))
      await also?.(tx)
      if (Object.keys(columns).some((column) => !told.has(column))) await engine.wake(tx, clusterQueue, m.cluster_id)
      return true
    })
  }

  /** The operation whose steps show the server. */
  const operationOf = (state: State, m: store.MemberRow) => m.operation_id ?? state.row.operation_id

  const stillWanted = (m: store.MemberRow) => () => demandStillWanted(db, operations, m)

  /** Records facts about sent orders, which hold even if users have changed the wanted state. */
  const correct = (job: Job, m: store.MemberRow, change: MemberChange): Promise<unknown> =>
    job.fence.write(async (tx) => {
      await store.hold(tx, m.cluster_id)
      return store.updateMember(tx, m.cluster_id, m.node_id, change)
    })

  /** Reverts the record of an order that was not sent. */
  const unsent = async (job: Job, m: store.MemberRow): Promise<'again'> => {
    const { send_intent_at, sent_at, left_at, sends, reset_intent_at, reset_sent_at } = m
    await correct(job, m, { send_intent_at, sent_at, left_at, sends, reset_intent_at, reset_sent_at })
    return 'again'
  }

  const fail = (job: Job, state: State, m: store.MemberRow, at: Place, reason: string, change: MemberChange = {}, seen: Seen | null = null) => {
    // No order was sent or the server still runs, so it stays in its cluster.
    const isUntouched = m.wiped_at === null && (m.reset_intent_at === null || seen?.kind === 'secured')
    const also = async (tx: Tx) => {
      await record(tx, system, serverFailed(m, state.row.name, reason))
      if (seen?.kind === 'maintenance') await servers.noteRunning(tx, m.node_id, false)
      if (m.operation_id !== null && m.wanted === 'released') await alone.failed(tx, job, m, reason, isUntouched)
    }
    return note(job, state, m, at, failed(reason), { ...change, failed_at: new Date(job.now()), failure: reason }, also)
  }

  return { parts, secrets, reached, steps, alone, note, operationOf, stillWanted, correct, unsent, fail }
}
