/**
 * A single server that leaves its cluster. It has its own operation, which can be cancelled and
 * retried.
 */
import { afterLeaving } from '#contract/clusters/clusters.ts'
import { hasEnded } from '#contract/operations.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import { clusterQueue, type CoreParts, updateCluster } from '../parts.ts'
import type { MemberChange, MemberTurn } from './run.ts'
import { afterWipe } from '../plan.ts'
import * as store from '../store.ts'
import { holdMember } from '../whole/cluster-run.ts'
import { whyNotNow } from '../../control-planes/api.ts'

/** Changes the server and its operation, and wakes its cluster. */
async function changeLeaving(
  { parts, job, m }: MemberTurn,
  tx: Tx,
  operationId: string | null,
  change: MemberChange,
): Promise<void> {
  await store.updateMember(tx, m.cluster_id, m.node_id, {
    ...change,
    at_since: new Date(job.now()),
    failed_at: null,
    failure: null,
  })
  await parts.servers.hold(tx, m.node_id, operationId)
  await updateCluster(parts, tx, system, m.cluster_id)
  await parts.engine.wake(tx, clusterQueue, m.cluster_id)
}

/** Cancels the removal from the cluster: nothing was wiped, so the server stays. */
const cancel = (turn: MemberTurn, operationId: string): Promise<void> =>
  turn.job.fence.write(async (tx) => {
    if (!(await holdMember(tx, turn.m))) return
    await changeLeaving(turn, tx, null, { operation_id: null, wanted: 'joined', at: 'join' })
    const { operations } = turn.parts
    for (const step of (await operations.read(tx, operationId))!.steps)
      if (step.status !== 'done')
        await operations.step(tx, operationId, step.key, { status: 'skipped', reason: 'Cancelled' })
    await operations.set(tx, operationId, { status: 'cancelled', reason: 'Nothing was wiped' })
  })

/** Starts a retry and checks the preconditions again. */
const beginAgain = (turn: MemberTurn, operationId: string): Promise<void> =>
  turn.job.fence.write(async (tx) => {
    const { parts, m } = turn
    if (!(await holdMember(tx, m))) return undefined
    const row = (await store.row(tx, m.cluster_id))!
    const refusal = whyNotNow(await store.members(tx, m.cluster_id), m, row.name)
    if (refusal !== null)
      return parts.operations.set(tx, operationId, { status: 'failed', reason: refusal })
    const at =
      m.wiped_at === null ? (m.reset_sent_at === null ? 'reset' : 'release') : afterWipe(m.role)
    return changeLeaving(turn, tx, operationId, { wanted: 'released', at, resets: 0 })
  })

/**
 * Whether the workload disks are kept, as the reset or the change requested it. A deletion of the
 * cluster keeps none, but those of a server that was removed before.
 */
export const keepsDisks = async (
  { operations }: Pick<CoreParts, 'operations'>,
  on: Db | Tx,
  m: store.MemberRow,
): Promise<boolean> =>
  m.keeps_disks ||
  (m.operation_id !== null &&
    (await operations.argumentsOf(on, m.operation_id, 'serverReset')).keep_workload_disks)

/**
 * Carries out a cancel or retry of the server's own operation. `go-on`: continue this run; `again`:
 * run again at once; `rest`: wait for a user's request.
 */
export async function followRequests(turn: MemberTurn): Promise<'go-on' | 'again' | 'rest'> {
  const { parts, job, m } = turn
  const id = m.operation_id
  const operation = id === null ? undefined : await parts.operations.state(parts.db, id)
  if (id === null || !operation) return 'go-on'
  // A change of the cluster has its own steps after the wipe, and handles cancels and retries
  // itself.
  if (operation.kind !== 'serverReset')
    return hasEnded(operation) || m.wiped_at !== null ? 'rest' : 'go-on'
  if (hasEnded(operation)) return m.wanted === 'released' ? 'rest' : 'go-on'
  if (operation.cancel_requested_at !== null) {
    if (m.wanted === 'joined' || (m.reset_intent_at === null && m.wiped_at === null)) {
      await cancel(turn, id)
      return 'again'
    }
    const reason = `${m.name} has received the order to wipe itself, which can't be withdrawn: the wipe continues to the end`
    await job.fence.write((tx) => parts.operations.set(tx, id, { status: 'waiting', reason }))
  }
  if (m.wanted === 'released' && m.failed_at === null) return 'go-on'
  await beginAgain(turn, id)
  return 'again'
}

/**
 * Runs in the transaction that writes the failure. `isUntouched`: nothing was wiped, so the server
 * stays in its cluster.
 */
export async function failAlone(
  turn: MemberTurn,
  tx: Tx,
  reason: string,
  isUntouched: boolean,
): Promise<void> {
  const { parts, m } = turn
  const operationId = m.operation_id!
  if ((await parts.operations.state(tx, operationId))?.kind !== 'serverReset') {
    // The change of the cluster ends itself, because it also decides about its other servers.
    if (isUntouched)
      await store.updateMember(tx, m.cluster_id, m.node_id, {
        reset_intent_at: null,
        reset_sent_at: null,
      })
    return
  }
  if (isUntouched) await changeLeaving(turn, tx, null, { wanted: 'joined', at: 'join' })
  else await parts.servers.hold(tx, m.node_id, null)
  await parts.operations.set(tx, operationId, { status: 'failed', reason })
}

/** Runs in the transaction that releases the server. */
export async function finishAlone({ parts, state, m }: MemberTurn, tx: Tx): Promise<void> {
  const staying = state.members.filter(
    (other) => other.role === 'control_plane' && store.isWanted(other),
  ).length
  if ((await parts.operations.state(tx, m.operation_id!))?.kind === 'serverReset')
    await parts.operations.set(tx, m.operation_id!, {
      status: 'done',
      reason: m.role === 'control_plane' ? afterLeaving(staying) : null,
    })
  if (m.reset_intent_at === null) return
  await parts.record(tx, system, {
    action: 'server.reset',
    target: { kind: 'server', id: m.node_id, name: m.name },
    after: {
      cluster: state.row.name,
      kept_disks: (await keepsDisks(parts, tx, m)) ? m.workload_disks : [],
    },
  })
}
