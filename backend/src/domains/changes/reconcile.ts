/**
 * Carries out changes of clusters: one at a time per cluster, step by step. The steps of the
 * operation are the progress, so a run can end anywhere. Scheduled changes begin when they are due
 * and nothing else runs on the cluster.
 */
import type { ClusterChange } from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import type { Operation, Step } from '#contract/operations.ts'
import { undoAfter } from '#contract/servers/losses.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Tx } from '../../db/db.ts'
import type { Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import {
  changeQueue,
  type ClusterParts,
  clusterQueue,
  clusterRows,
  Overtaken,
  pollMs,
  type State,
  updateCluster,
} from '../clusters/api.ts'
import { lasting } from '../../sentences.ts'
import { argumentsOf } from './arguments.ts'
import { holdServers } from './changing.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  HasLeft,
  patienceMs,
  prefixOf,
  type StepAt,
  type StepResult,
  type Waiting,
  waitedMs,
  write,
} from './frame.ts'
import { kindOf, stepsOf } from './planning.ts'
import { beginScheduled, outsideWindow } from './scheduled.ts'
import { overdue } from './shared/advice.ts'
import { whileDead } from './shared/dead.ts'
import { controlPlaneWell, gated, gateStep } from './shared/gate.ts'
import { resumeWorkload } from './shared/resume.ts'

type Turn = ChangeTurn<ClusterChange>

const isOver = ({ status }: Step): boolean => status === 'done' || status === 'skipped'
/**
 * Whether a change can be cancelled before this step: it is the first step of a server, or a step
 * of the whole cluster.
 */
const isBoundary = (steps: readonly Step[], at: number): boolean =>
  at === 0 || steps[at]!.node_id === null || steps[at - 1]!.node_id !== steps[at]!.node_id

/**
 * Ends the operation. After a cancel, steps that are not over are skipped. `also` runs first, in
 * the same transaction.
 */
async function end(
  turn: Turn,
  how: 'done' | 'failed' | 'cancelled',
  reason: string | null,
  also?: (tx: Tx) => Promise<void>,
): Promise<void> {
  const { parts, operation, change, state } = turn
  await write(turn, async (tx) => {
    await also?.(tx)
    if (how === 'cancelled')
      for (const step of operation.steps.filter((s) => !isOver(s)))
        await parts.operations.step(tx, operation.id, step.key, {
          status: 'skipped',
          reason: cancelled,
        })
    await kindOf(change.kind).end?.(tx, turn, how)
    const all = await clusterRows.members(tx, state.row.id)
    await parts.servers.letGo(
      tx,
      all.map((m) => m.node_id),
      operation.id,
    )
    await parts.operations.set(tx, operation.id, { status: how, reason })
    await updateCluster(parts, tx, system, state.row.id)
    // Another change may be waiting.
    await parts.engine.wake(tx, changeQueue, state.row.id)
    // The change may have ended what degraded the cluster.
    await parts.engine.wake(tx, clusterQueue, state.row.id)
  })
}

/** The step that waits for a control plane. Its key ends with the prefix of the step before it. */
const gateOf =
  ({ goesOnAfter = [] }: Pick<ChangeKind<ClusterChange>, 'goesOnAfter'>) =>
  (turn: Turn, at: StepAt): Promise<StepResult> =>
    controlPlaneWell(turn, at, !goesOnAfter.some((prefix) => at.key.endsWith(`/${prefix}`)))

/**
 * Runs a step. An unreachable machine or API is a reason to wait. A server that has left is not,
 * because the step would never end.
 */
async function attempt(turn: Turn, step: Step): Promise<StepResult> {
  const at = { key: step.key, nodeId: step.node_id, step }
  const result = await run(turn, at)
  return typeof result === 'object' && 'waiting' in result ? whileDead(turn, at, result) : result
}

async function run(turn: Turn, at: StepAt): Promise<StepResult> {
  const kind = kindOf(turn.change.kind)
  const act = prefixOf(at.key) === gateStep ? gateOf(kind) : kind.steps[prefixOf(at.key)]
  if (!act) throw new Error(`The change ${turn.change.kind} has no step ${at.key}`)
  try {
    return await act(turn, at)
  } catch (error) {
    if (
      turn.job.signal.aborted ||
      !(error instanceof TalosError || error instanceof KubernetesError || error instanceof Problem)
    )
      throw error
    if (error instanceof HasLeft) return { skipped: error.message }
    return {
      waiting:
        error instanceof KubernetesError
          ? `The Kubernetes API does not answer as expected: ${error.message}`
          : error.message,
    }
  }
}

/** Whether a cancel has taken effect and added the steps that undo the change. */
const isUndoing = (steps: readonly Step[]): boolean => steps.some(wasCancelled)
const cancelled = 'Cancelled'
const cancelledWaiting = 'Cancelled while it waited'
const wasWaiting = ({ status, reason }: Step): boolean =>
  status === 'skipped' && reason?.startsWith(cancelledWaiting) === true
const wasCancelled = ({ status, reason }: Step): boolean =>
  status === 'skipped' && reason === cancelled

/**
 * Carries out a cancel between two groups: skips the open steps and adds the kind's steps that undo
 * the change. `go_on`: it is too late to cancel.
 */
async function cancel(turn: Turn, at: number): Promise<Outcome | 'again' | 'go_on'> {
  const { parts, operation, change } = turn
  const { steps, id } = operation
  const back = at === 0 ? null : ((await kindOf(change.kind).undo?.(turn)) ?? null)
  if (back === 'go_on') return back
  if (back === null || back.length === 0) {
    const last = steps.find((s) => wasWaiting(s) && s.reason !== cancelledWaiting)
    const left = last === undefined ? '' : `. ${last.title}: ${last.reason}`
    await end(
      turn,
      'cancelled',
      at === 0
        ? 'Nothing was changed'
        : `Cancelled after ${steps.filter((s) => s.status === 'done').length} of ${steps.length} steps${left}`,
    )
    return undefined
  }
  await write(turn, async (tx) => {
    await parts.operations.steps(
      tx,
      id,
      steps.slice(at).map(({ key }) => ({ key, status: 'skipped' as const, reason: cancelled })),
    )
    const groups = gated(kindOf(change.kind), turn.state.members, back)
    await parts.operations.addSteps(tx, id, stepsOf({ groups }))
  })
  return 'again'
}

/**
 * Fails the step and ends the operation. Drained servers run workload again if they can, else the
 * reason says what to do.
 */
async function fail(
  turn: Turn,
  step: Step,
  { reason, isUnharmed }: { reason: string; isUnharmed: boolean },
): Promise<void> {
  const left = await resumeWorkload(turn, isUnharmed ? step.node_id : null)
  // One transaction: after a crash in between, the failed step would run again without a retry.
  await end(
    turn,
    'failed',
    left === null ? reason : `${reason.replace(/\.$/, '')}. ${left}`,
    (tx) =>
      turn.parts.operations.step(tx, turn.operation.id, step.key, { status: 'failed', reason }),
  )
}

/** Takes the next step. Returns `again` if the operation continues at once. */
async function advance(turn: Turn, isCancelled: boolean): Promise<Outcome | 'again'> {
  const { parts, job, operation, state } = turn
  const { steps } = operation
  const at = steps.findIndex((s) => !isOver(s))
  if (at === -1) {
    const isCut = isUndoing(steps) || (isCancelled && steps.some(wasWaiting))
    await end(turn, isCut ? 'cancelled' : 'done', null)
    return undefined
  }
  const step = steps[at]!
  const isNew = step.status === 'todo'
  if (isNew && isBoundary(steps, at)) {
    const next = isCancelled && !isUndoing(steps) ? await cancel(turn, at) : 'go_on'
    if (next !== 'go_on') return next
    const outside = outsideWindow(job, state, operation)
    if (outside) {
      const { reason, againMs } = outside
      await write(turn, (tx) =>
        parts.operations.set(tx, operation.id, { status: 'waiting', reason }),
      )
      return { againMs }
    }
  }
  await write(turn, async (tx) => {
    if (isNew) await parts.operations.step(tx, operation.id, step.key, { status: 'running' })
    if (operation.status !== 'running')
      await parts.operations.set(tx, operation.id, { status: 'running' })
    // After a retry the servers are reserved again.
    if (isNew)
      await holdServers(parts, tx, state.row.id, { change: turn.change, operationId: operation.id })
  })
  const result = await attempt(turn, step)
  if (result === 'done' || 'skipped' in result) {
    job.passed(`step/${step.key}`)
    const change =
      result === 'done'
        ? { status: 'done' as const }
        : { status: 'skipped' as const, reason: result.skipped }
    await write(turn, (tx) => parts.operations.step(tx, operation.id, step.key, change))
    return 'again'
  }
  if ('failed' in result) {
    await fail(turn, step, { reason: result.failed, isUnharmed: result.isUnharmed === true })
    return undefined
  }
  return wait(turn, step, result, isCancelled)
}

/** The steps of the step's group, which is about one server or the whole cluster. */
function groupOf(steps: readonly Step[], step: Pick<Step, 'key' | 'node_id'>): Step[] {
  const at = steps.findIndex((s) => s.key === step.key)
  const isOther = (s: Step): boolean => s.node_id !== step.node_id
  const end = steps.findIndex((s, i) => i > at && isOther(s))
  return steps.slice(
    steps.findLastIndex((s, i) => i < at && isOther(s)) + 1,
    end === -1 ? steps.length : end,
  )
}

/**
 * Makes the former configuration of the step's server the wanted one again if the wait ends for good
 * and the server has certainly not got the new one: the step says so, or none of its group has sent
 * anything yet, not even before a retry.
 */
async function takeBackUnsent(turn: Turn, step: Step, result: Waiting): Promise<void> {
  const { parts, operation, change, state } = turn
  const kind = kindOf(change.kind)
  if (step.node_id === null || !kind.takeBack) return
  const group = groupOf(operation.steps, step)
  const sends = group.find((s) => kind.touches?.includes(prefixOf(s.key)))
  const isBefore =
    sends !== undefined &&
    sends.attempt === 0 &&
    group.findIndex((s) => s.key === step.key) < group.indexOf(sends)
  if (!isBefore && !(result.isSafe === true && result.isUnsent)) return
  const newest = await parts.configurations.kept.state(parts.db, state.row.id, step.node_id)
  if (newest?.held_at === null) await kind.takeBack(turn, step.node_id)
}

/** How long the step's server may be on trial, as was chosen with its confirmed loss, in ms. */
const trialMs = (turn: Turn, { node_id }: Step): number => {
  const member = turn.state.members.find((m) => m.node_id === node_id)
  return member === undefined ? 0 : (undoAfter(member.name, turn.confirmedLoss) ?? 0) * 1_000
}

/**
 * Records what the step waits for. A cancel may end the change here, and the step fails after its
 * time limit.
 */
async function wait(
  turn: Turn,
  step: Step,
  result: Waiting,
  isCancelled: boolean,
): Promise<Outcome | 'again'> {
  const { parts, job, operation, change } = turn
  if (isCancelled && result.isSafe === true) {
    await takeBackUnsent(turn, step, result)
    await skipGroup(turn, step, result.waiting)
    return 'again'
  }
  const waited = waitedMs(job, step)
  const limitMs =
    (kindOf(change.kind).patienceMs?.[prefixOf(step.key)] ?? patienceMs) + trialMs(turn, step)
  if (waited > limitMs) {
    await takeBackUnsent(turn, step, result)
    // A drain has changed nothing else.
    await fail(turn, step, {
      reason: overdue({ key: step.key, kind: change.kind }, lasting(waited), result.waiting),
      isUnharmed: prefixOf(step.key) === 'drain',
    })
    return undefined
  }
  await write(turn, (tx) =>
    parts.operations.step(tx, operation.id, step.key, {
      status: 'waiting',
      reason: result.waiting,
    }),
  )
  return { againMs: result.againMs ?? pollMs(waited) }
}

/**
 * Skips the rest of the step's group after a cancel, except for `uncordon`. The step keeps what it
 * waited for.
 */
async function skipGroup(turn: Turn, step: Step, waiting: string): Promise<void> {
  const { steps, id } = turn.operation
  const from = steps.findIndex((s) => s.key === step.key)
  const rest = steps
    .slice(from)
    .filter(
      (s, i, all) =>
        i === 0 ||
        (s.node_id !== null && all.slice(0, i + 1).every((one) => one.node_id === step.node_id)),
    )
  await write(turn, (tx) =>
    turn.parts.operations.steps(
      tx,
      id,
      rest
        .filter((s) => prefixOf(s.key) !== 'uncordon')
        .map(({ key }) => ({
          key,
          status: 'skipped' as const,
          reason: key === step.key ? `${cancelledWaiting}: ${waiting}` : cancelledWaiting,
        })),
    ),
  )
}

const turnOf = async (
  parts: ClusterParts,
  job: Job,
  state: State,
  operation: Operation,
): Promise<Turn> => ({
  parts,
  job,
  state,
  operation,
  ...(await argumentsOf(parts, state.row.id, operation)),
})

/**
 * One step of the running change. Scheduled changes say what they wait for, are cancelled, and
 * begin if none runs.
 */
async function act(parts: ClusterParts, job: Job): Promise<Outcome | 'again'> {
  const carried = await parts.operations.allCarriedBy(parts.db, job)
  const state = await clusterRows.load(parts.db, job.key)
  if (!state || state.row.wanted === 'removed') {
    const reason = 'The cluster is being deleted'
    for (const { operation } of carried)
      await job.fence.write((tx) =>
        parts.operations.set(tx, operation.id, { status: 'failed', reason, forGood: true }),
      )
    return undefined
  }
  const current = carried.find(({ operation }) => operation.id === state.row.operation_id)
  const waits: number[] = []
  for (const one of carried.filter((other) => other !== current)) {
    const next = await beginScheduled(parts, job, state, one)
    if (next === 'again') return 'again'
    if (next) waits.push(next.againMs)
  }
  if (current) {
    const next = await advance(
      await turnOf(parts, job, state, current.operation),
      current.isCancelled,
    )
    if (next === 'again') return next
    if (next) waits.push(next.againMs)
  }
  return waits.length === 0 ? undefined : { againMs: Math.min(...waits) }
}

/**
 * Steps per run. A run ends before its deadline, so that a long change doesn't count as a failed
 * run.
 */
const mostActs = 20

export const changeReconciler = (parts: ClusterParts): Reconciler => ({
  queue: changeQueue,
  concurrency: 32,
  // A call may take long: an upgrade pulls and writes an image within one call.
  deadlineMs: 30 * 60_000,
  async reconcile(job) {
    const began = job.now()
    for (let acts = 0; acts < mostActs && job.now() - began < 60_000; acts++) {
      try {
        const next = await act(parts, job)
        if (next !== 'again') return next
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error
      }
    }
    return { againMs: 0 }
  },
})
