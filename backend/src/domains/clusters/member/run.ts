/**
 * Functions that a run of a server's reconciler uses to record the server's step, observed state
 * and failure.
 */
import type { Updateable } from 'kysely'
import type { Place } from '../../../db/columns.ts'
import type { Tx } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'
import { system } from '../../../http/caller.ts'
import { clusterQueue } from '../parts.ts'
import { failAlone } from './leaving-alone.ts'
import * as store from '../store.ts'
import {
  type ClusterTurn,
  done,
  failed,
  holdMember,
  isSameMember,
  memberSteps,
  Overtaken,
  type Shown,
  showSteps,
} from '../whole/cluster-run.ts'
import { patiently } from './decide-server.ts'
import { hasStarted } from './decide-join.ts'
import { failedSince } from './unattended.ts'
import { aroundOf, type Seen, type ServerAct } from './acts.ts'
import { serverFailed, troubleOf } from './failure-log.ts'

export interface MemberTurn extends ClusterTurn {
  readonly m: store.MemberRow
}

export type MemberChange = Updateable<Tables['cluster_server']>

/**
 * Time limit of a command to a machine, in ms. Long, because the machine carries out a part of the
 * command before it answers.
 */
export const orderDeadlineMs = 60_000
/** Minimum interval between recordings of an unchanged state, in ms. */
const noteSeenEveryMs = 5_000

/**
 * Columns that only record an observation. If only these columns change, no other reconciler is
 * woken.
 */
const lookColumns: ReadonlySet<string> = new Set([
  'seen_at',
  'stage',
  'left_at',
  'failure_log',
  'failure_log_at',
])

/** The columns that an observation changes. */
export function sighting(m: store.MemberRow, seen: Seen, now: number): MemberChange {
  const change: MemberChange = {}
  // A missing answer doesn't prove that the server has left maintenance.
  if (
    m.sent_at !== null &&
    m.left_at === null &&
    (seen.kind === 'secured' || seen.kind === 'foreign')
  )
    change.left_at = new Date(now)
  if (seen.kind !== 'maintenance' && seen.kind !== 'secured') return change
  if (
    m.stage !== seen.stage ||
    m.seen_at === null ||
    now - m.seen_at.getTime() >= noteSeenEveryMs
  ) {
    change.stage = seen.stage
    change.seen_at = new Date(now)
  }
  if (seen.kind === 'maintenance') return change
  Object.assign(change, troubleOf(m, seen, now))
  // Before Talos 1.14 the id can't be read before the server is configured.
  if (m.install_boot_id === null && seen.stage === 'installing' && seen.bootId !== null)
    change.install_boot_id = seen.bootId
  if (m.secured_at === null && seen.unattended !== null) {
    const since = failedSince(m, seen.unattended.phase, now)
    if (since !== m.install_failed_at) change.install_failed_at = since
  }
  const etcd = seen.services['etcd']
  if (m.wanted === 'joined' && m.secured_at === null && hasStarted(m, seen))
    change.secured_at = new Date(now)
  if (
    m.wanted === 'joined' &&
    m.role === 'control_plane' &&
    m.etcd_at === null &&
    etcd?.state === 'Running' &&
    etcd.healthy
  )
    change.etcd_at = new Date(now)
  return change
}

/** Reads the server's row again. */
export const reread = async (turn: MemberTurn): Promise<MemberTurn> => ({
  ...turn,
  m: (await store.member(turn.parts.db, turn.m.cluster_id, turn.m.node_id))!,
})

/** The operation that shows the server's steps. */
export const operationOf = ({ state, m }: MemberTurn): string | null =>
  m.operation_id ?? state.row.operation_id

/**
 * Throws if the command is no longer wanted. Called right before the command is sent, because the
 * wanted state may change while connecting. A cancelled reset is sent only if an earlier attempt
 * may have reached the server (`m` is the row from before this attempt). @throws Overtaken
 */
export async function demandStillWanted({
  parts: { db, operations },
  m,
}: MemberTurn): Promise<void> {
  const now = await store.member(db, m.cluster_id, m.node_id)
  const operation =
    now?.operation_id == null ? undefined : await operations.state(db, now.operation_id)
  const isCancelled =
    operation?.kind === 'serverReset' &&
    operation.cancel_requested_at !== null &&
    m.reset_intent_at === null
  if (!isSameMember(m, now) || isCancelled) throw new Overtaken(m.name)
}

/** Waits, or fails if the wait has exceeded the step's time limit. */
export const waitOrFail = ({ state, m, job }: MemberTurn, at: Place, reason: string): ServerAct =>
  patiently(m, aroundOf(state, m, job), { act: 'wait', at, reason })

/**
 * Records the server's state and its steps. Wakes the cluster if others may wait for the change.
 * Returns false and writes nothing if users have changed the wanted state since the server was
 * read.
 */
export function note(
  turn: MemberTurn,
  at: Place,
  shown: Shown,
  change: MemberChange = {},
  also?: (tx: Tx) => Promise<void>,
): Promise<boolean> {
  const { parts, job, m } = turn
  const columns: MemberChange = {
    ...change,
    ...(at !== m.at && { at, at_since: new Date(job.now()) }),
  }
  return job.fence.write(async (tx) => {
    const now = await holdMember(tx, m)
    if (!now) return false
    // Updates the server's status: `ready` when it runs its configuration, `maintenance` when the
    // configuration is sent again.
    if (change.secured_at || change.sends !== undefined)
      await parts.servers.noteRunning(tx, m.node_id, Boolean(change.secured_at))
    if (Object.keys(columns).length > 0)
      await store.updateMember(tx, m.cluster_id, m.node_id, columns)
    const isJoined = at === 'join' && now.node_ready_at !== null
    const wasInstalled = change.was_installed ?? m.was_installed ?? false
    await showSteps(
      parts.operations,
      tx,
      operationOf(turn),
      memberSteps(m.node_id, m.role, at, isJoined ? done : shown, wasInstalled),
    )
    await also?.(tx)
    if (Object.keys(columns).some((column) => !lookColumns.has(column)))
      await parts.engine.wake(tx, clusterQueue, m.cluster_id)
    return true
  })
}

/**
 * Records facts about sent commands, even if users have changed the wanted state in the meantime.
 */
export const correct = ({ job, m }: MemberTurn, change: MemberChange): Promise<unknown> =>
  job.fence.write(async (tx) => {
    await store.hold(tx, m.cluster_id)
    return store.updateMember(tx, m.cluster_id, m.node_id, change)
  })

/** Reverts the record of a command that was not sent. */
export async function unsent(turn: MemberTurn): Promise<'again'> {
  const { send_intent_at, sent_at, left_at, sends, reset_intent_at, reset_sent_at } = turn.m
  await correct(turn, { send_intent_at, sent_at, left_at, sends, reset_intent_at, reset_sent_at })
  return 'again'
}

/** Records that the server has failed. A user decides what happens next. */
export async function fail(
  turn: MemberTurn,
  at: Place,
  reason: string,
  change: MemberChange = {},
  seen: Seen | null = null,
): Promise<undefined> {
  const { parts, job, state, m } = turn
  // Whether the server stays in its cluster: no reset was sent, or the server still runs.
  const isUntouched =
    m.wiped_at === null && (m.reset_intent_at === null || seen?.kind === 'secured')
  await note(
    turn,
    at,
    failed(reason),
    { ...change, failed_at: new Date(job.now()), failure: reason },
    async (tx) => {
      await parts.record(tx, system, serverFailed(m, state.row.name, reason))
      // A server that has proved itself by its certificate is not what a machine in maintenance
      // mode says.
      if (seen?.kind === 'maintenance' && m.secured_at === null)
        await parts.servers.noteRunning(tx, m.node_id, false)
      if (m.operation_id !== null && m.wanted === 'released')
        await failAlone(turn, tx, reason, isUntouched)
    },
  )
}
