/**
 * Steps of a change that remove a server from its cluster. The server's own reconciler (`member/`)
 * resets it.
 */
import type { ClusterChange } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import type { Tx } from '../../../db/db.ts'
import {
  controlPlanesNow,
  isWanted,
  namesLeaving,
  removeFromEtcd,
  removeFromKubernetes,
  whyNotNow,
  whyOthersForbid,
  whyStay,
} from '../../control-planes/api.ts'
import { clusterRows, leavingStepsOf, type MemberRow, release } from '../../clusters/api.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  keyOf,
  type PlannedGroup,
  type StepAt,
  type StepResult,
  viewOf,
  write,
} from '../frame.ts'
import { uncordon } from '../shared/drain.ts'
import { othersStep, othersWell } from '../shared/gate.ts'
import { drainLeaving } from './drain-leaving.ts'
import { followed, hasFailedNow, rowOf, wakeMember } from './joining.ts'

/** Reason of the skipped reset of a server that is removed by force. */
const silent = 'The server has not answered; as soon as it answers, it is reset and released'
const againMs = 2_000

/**
 * Reason of the skipped reset of a server that never had a configuration, or that a user has
 * removed by force meanwhile.
 */
const unwiped = 'The server was released without a reset'
const isReleasedUnwiped = (m: MemberRow): boolean =>
  m.released_at !== null && m.wiped_at === null && m.reset_intent_at === null

/**
 * Steps of a server that answers: drain, reset, then removal from etcd and Kubernetes. After a
 * cancel the server is uncordoned.
 */
export function departingGroup(m: MemberRow, keepsDisks: boolean): PlannedGroup {
  const steps = leavingStepsOf({ ...m, workload_disks: keepsDisks ? [] : m.workload_disks }).map(
    ({ key, title }) => ({ key, title }),
  )
  const titles = changeTable.clusterShrink.steps
  return {
    node_id: m.node_id,
    name: m.name,
    drains: true,
    reboots: 'yes',
    steps: [
      { key: keyOf('drain', m.node_id), title: titles.drain(m) },
      ...steps,
      ...(m.role === 'control_plane'
        ? [{ key: keyOf(othersStep, m.node_id), title: titles[othersStep](m) }]
        : []),
      { key: keyOf('uncordon', m.node_id), title: titles.uncordon(m) },
    ],
  }
}

/**
 * Steps of a server that doesn't answer: removal from etcd and Kubernetes now, reset when it
 * answers. Nothing that runs changes, so only the quorum of etcd is asked for: while a control plane
 * is dead, no other one can be changed, so that the removal must be possible whatever ails them.
 */
export function silentGroup(m: MemberRow, keepsDisks: boolean): PlannedGroup {
  const steps = leavingStepsOf({ ...m, workload_disks: keepsDisks ? [] : m.workload_disks }).map(
    ({ key, title }) => ({ key, title }),
  )
  const isForgetting = ({ key }: { key: string }) => key.startsWith('forget-')
  return {
    node_id: m.node_id,
    name: m.name,
    drains: false,
    reboots: 'no',
    steps: [...steps.filter(isForgetting), ...steps.filter(({ key }) => key.startsWith('reset/'))],
  }
}

/**
 * Marks the server as leaving, so that its own reconciler resets it. `operationId`: null if the
 * server does not answer, so that its reset has no time limit.
 */
const order = (
  turn: ChangeTurn,
  m: MemberRow,
  operationId: string | null,
  keepsDisks: boolean,
): Promise<void> =>
  write(turn, async (tx) => {
    const now = await clusterRows.member(tx, m.cluster_id, m.node_id)
    if (!now || now.released_at !== null) return
    await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
      // A server may have been wiped already by an earlier change that ended half way.
      ...(now.wanted === 'joined' && {
        at: 'reset',
        reset_intent_at: null,
        reset_sent_at: null,
        wiped_at: null,
      }),
      wanted: 'released',
      waits: false,
      at_since: new Date(turn.job.now()),
      operation_id: operationId,
      keeps_disks: keepsDisks,
      resets: 0,
      failed_at: null,
      failure: null,
    })
    await turn.parts.servers.hold(tx, m.node_id, operationId)
    await wakeMember(turn, tx, m)
  })

/** Whether this change has not marked the server as leaving yet. */
const isUntold = ({ operation }: ChangeTurn, m: MemberRow): boolean =>
  m.released_at === null &&
  (m.wanted === 'joined' || (m.operation_id !== null && m.operation_id !== operation.id))

/** Clears the failure of a leaving server, so that its reconciler tries again. */
const beginAgain = (turn: ChangeTurn, m: MemberRow): Promise<void> =>
  write(turn, async (tx) => {
    await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
      failed_at: null,
      failure: null,
      resets: 0,
      at_since: new Date(turn.job.now()),
    })
    await turn.parts.servers.hold(tx, m.node_id, turn.operation.id)
    await wakeMember(turn, tx, m)
  })

interface Departing {
  readonly keepsDisks: boolean
  /** True: the server stays reserved after its wipe, because it joins again. */
  readonly staysReserved: boolean
}

/**
 * Why the server must not leave now, or null. Reads the members from etcd, so call it right before
 * the reset.
 */
async function refusal({ parts, state, job }: ChangeTurn, m: MemberRow): Promise<string | null> {
  return (
    whyNotNow(state.members, m, state.row.name) ??
    (await whyStay(parts, state.members, m, state.row.name, job.signal))?.reason ??
    null
  )
}

/**
 * `refusal` of a server that answers, for which the other control planes must be well. They are
 * asked again right before the reset (`member/reconcile.ts`); only until then is a cancel possible.
 */
async function refusalOfReset(turn: ChangeTurn, m: MemberRow): Promise<string | null> {
  const why = await refusal(turn, m)
  if (why !== null || m.role !== 'control_plane') return why
  const leaving = namesLeaving(turn.operation, turn.state.members)
  return whyOthersForbid(m.node_id, await controlPlanesNow(viewOf(turn)), leaving)
}

async function resetStep(
  turn: ChangeTurn,
  at: StepAt,
  { keepsDisks }: Departing,
): Promise<StepResult> {
  const m = rowOf(turn, at.nodeId!)
  if (!m || isReleasedUnwiped(m)) return { skipped: unwiped }
  if (isUntold(turn, m)) {
    const why = await refusalOfReset(turn, m)
    if (why !== null) return { waiting: why, againMs, isSafe: true }
    await order(turn, m, turn.operation.id, keepsDisks)
    return followed(at, `${m.name} is about to be reset`)
  }
  if (m.wiped_at !== null || m.released_at !== null) return 'done'
  if (m.operation_id === null) return { skipped: silent }
  if (m.failed_at !== null) {
    if (hasFailedNow(at, m)) return { failed: m.failure ?? `${m.name} failed` }
    await beginAgain(turn, m)
  }
  return m.at === 'reset' || m.reset_intent_at === null
    ? followed(at, `Waiting for ${m.name}`)
    : 'done'
}

async function wipedStep(turn: ChangeTurn, at: StepAt): Promise<StepResult> {
  const m = rowOf(turn, at.nodeId!)
  if (!m || isReleasedUnwiped(m)) return { skipped: unwiped }
  if (m.wiped_at !== null || m.released_at !== null) return 'done'
  if (m.failed_at !== null) {
    if (hasFailedNow(at, m)) return { failed: m.failure ?? `${m.name} failed` }
    await beginAgain(turn, m)
  }
  return followed(at, `Waiting for ${m.name} to be in maintenance`)
}

async function forgetMemberStep(
  turn: ChangeTurn,
  at: StepAt,
  departing: Departing,
): Promise<StepResult> {
  const m = rowOf(turn, at.nodeId!)
  if (!m) return 'done'
  if (isUntold(turn, m)) {
    const begun = await forgetSilent(turn, m, departing)
    if (begun !== null) return begun
  }
  const why = await removeFromEtcd(turn.parts, turn.job, turn.state, m)
  return why === null ? 'done' : { waiting: why, againMs }
}

/**
 * Marks a server that does not answer as leaving. Returns null, or why that is not possible now.
 */
async function forgetSilent(
  turn: ChangeTurn,
  m: MemberRow,
  { keepsDisks }: Departing,
): Promise<StepResult | null> {
  const why = await refusal(turn, m)
  if (why !== null) return { waiting: why, againMs, isSafe: true }
  await order(turn, m, null, keepsDisks)
  return null
}

/** The last step of a server that answers: releases it, unless it joins again. */
async function forgetNodeStep(
  turn: ChangeTurn,
  at: StepAt,
  departing: Departing,
): Promise<StepResult> {
  const m = rowOf(turn, at.nodeId!)
  if (!m) return 'done'
  if (isUntold(turn, m)) {
    const begun = await forgetSilent(turn, m, departing)
    if (begun !== null) return begun
  }
  const why = await removeFromKubernetes(turn.parts, turn.job, turn.state, m)
  if (why !== null) return { waiting: why, againMs }
  if (m.released_at === null && m.wiped_at !== null && !departing.staysReserved)
    await release({ parts: turn.parts, job: turn.job, state: turn.state, m })
  return 'done'
}

/**
 * Uncordons a server that stays. A server that has left can't run workload, and one that joined
 * again is a new node.
 */
async function uncordonStep(turn: ChangeTurn, at: StepAt): Promise<StepResult> {
  const m = rowOf(turn, at.nodeId!)
  return m && isWanted(m) ? uncordon(turn, at) : { skipped: `${m?.name ?? 'The server'} has left` }
}

/** The steps of servers that leave. `of` returns the options of the change for a server. */
export const departingSteps = <C extends ClusterChange>(
  of: (change: C, nodeId: string) => Departing,
): ChangeKind<C>['steps'] => ({
  drain: drainLeaving,
  reset: (turn, at) => resetStep(turn, at, of(turn.change, at.nodeId!)),
  release: (turn, at) => wipedStep(turn, at),
  'forget-member': (turn, at) => forgetMemberStep(turn, at, of(turn.change, at.nodeId!)),
  'forget-node': (turn, at) => forgetNodeStep(turn, at, of(turn.change, at.nodeId!)),
  // A server that is to join again must not be left without a role.
  [othersStep]: (turn, at) => othersWell(turn, at, !of(turn.change, at.nodeId!).staysReserved),
  uncordon: (turn, at) => uncordonStep(turn, at),
})

/** Runs in the transaction that ends a change: a server that was not reset stays in the cluster. */
export async function endDeparting(tx: Tx, turn: ChangeTurn): Promise<void> {
  const { parts, state, job, operation } = turn
  const members = await clusterRows.members(tx, state.row.id)
  for (const m of members.filter(
    (one) => one.operation_id === operation.id && one.released_at === null,
  )) {
    const isUntouched = m.wanted === 'released' && m.reset_intent_at === null && m.wiped_at === null
    if (isUntouched)
      await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
        wanted: 'joined',
        operation_id: null,
        at: 'join',
        at_since: new Date(job.now()),
        keeps_disks: false,
        failed_at: null,
        failure: null,
      })
    await parts.servers.hold(tx, m.node_id, null)
  }
}
