/**
 * Plans of changes: the plan of the kind, the checks that all kinds share, the disks to confirm,
 * the durations of earlier changes, and a digest.
 */
import { createHash } from 'node:crypto'
import type {
  ChangeKindName,
  ClusterChange,
  ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import { hasEnded, operationTitle } from '#contract/operations.ts'
import { forNow, no } from '#contract/rule.ts'
import { disksToConfirm } from '#contract/disks/wipe.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Caller } from '../../http/caller.ts'
import { isForNow } from '../../for-now.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import { type NewStep, shownDisk } from '../operations/api.ts'
import {
  type ClusterParts,
  type ClusterRow,
  clusterRows,
  runningOn,
  type State,
} from '../clusters/api.ts'
import { check, factsOf, forNowIf } from '../control-planes/api.ts'
import { listed } from '../../sentences.ts'
import { type ChangeKind, type ChangeView, type Planned, prefixOf } from './frame.ts'
import { changeKinds } from './kinds.ts'
import { planLine } from './line.ts'
import { sharedRacks } from './members/shared-racks.ts'
import { checkControlPlanes, gated } from './shared/gate.ts'
import { drainOutlook } from './shared/drain-outlook.ts'
import { OutOfTime } from '#contract/connections/causes.ts'
import { timeLimit } from '../../time-limit.ts'

/** Times are in ms. Clients wait for an answer for longer (`answerWithinMs`). */
export const planLimits = {
  /** Plans of this process at once. */
  atOnce: 6,
  /** How long one waits for its turn. */
  turnMs: 10_000,
  /**
   * Time limit of a plan from its turn on. A user waits for the plan, so machines that don't answer
   * must not delay it for longer.
   */
  deadlineMs: 30_000,
}
const inLine = planLine(planLimits.atOnce, planLimits.turnMs)

/** The view with the time limit of a plan from now on. */
export const inTime = (view: ChangeView): ChangeView => ({
  ...view,
  signal: AbortSignal.any([view.signal, timeLimit(planLimits.deadlineMs)]),
})

export const kindOf = (kind: ChangeKindName): ChangeKind<ClusterChange> => changeKinds[kind]

/** @throws Problem cluster_not_ready */
function demandReady(row: ClusterRow): void {
  if (row.wanted === 'ready' && row.ready_at !== null) return
  throw Problem.of(
    'cluster_not_ready',
    row.wanted === 'ready'
      ? forNow(`${row.name} is not ready yet: it can be changed once it is created`)
      : no(`${row.name} is being deleted`),
  )
}

export async function viewOf(
  parts: ClusterParts,
  state: State,
  signal: AbortSignal,
): Promise<ChangeView> {
  const here = state.members.filter((m) => m.released_at === null)
  const facts = await factsOf(parts, parts.db, here)
  return {
    parts,
    state,
    facts: new Map(facts.map((f) => [f.id, f])),
    signal,
  }
}

/** @throws Problem not_found; cluster_not_ready */
export async function viewFor(
  parts: ClusterParts,
  clusterId: string,
  signal: AbortSignal,
): Promise<ChangeView> {
  const state = await clusterRows.load(parts.db, clusterId)
  if (!state) throw new Problem('not_found', `Cluster ${clusterId} not found`)
  demandReady(state.row)
  return viewOf(parts, state, signal)
}

/**
 * The kind's plan, with the checks that every change needs.
 * @throws TooManyPlans
 */
export const planned = (
  view: ChangeView,
  change: ClusterChange,
  caller: Caller,
): Promise<Planned> =>
  inLine(
    view.signal,
    () => plannedNow(inTime(view), change),
    caller.kind === 'user' ? caller.userId : undefined,
  )

async function plannedNow(view: ChangeView, change: ClusterChange): Promise<Planned> {
  const { members } = view.state
  // A server that was removed by force doesn't count: it is reset when it answers, which may be
  // never.
  const { db } = view.parts
  const states = await Promise.all(
    members.map(async (m) =>
      m.released_at !== null || m.operation_id === null
        ? undefined
        : view.parts.operations.state(db, m.operation_id),
    ),
  )
  const leaving = members.filter(
    (m, i) => m.wanted === 'released' && states[i] && !hasEnded(states[i]),
  )
  const settled = forNowIf(
    true,
    check(
      'servers',
      leaving.length === 0,
      leaving.length === 0
        ? 'No server is leaving the cluster'
        : `${listed(leaving.map((m) => m.name))} ${leaving.length === 1 ? 'is' : 'are'} leaving the cluster`,
    ),
  )
  try {
    const own = await kindOf(change.kind).plan(view, change)
    const drains = await drainOutlook(view, own.groups)
    const kind = kindOf(change.kind)
    const groups = gated(kind, members, own.groups)
    const mends = kind.mends?.(change, view.state)
    return {
      ...own,
      groups,
      checks: [
        settled,
        ...own.checks,
        ...(await checkControlPlanes(view, groups, mends)),
        ...drains.checks,
      ],
      warnings: [
        ...(own.warnings ?? []),
        ...(await sharedRacks(view, own.groups)),
        ...drains.warnings,
      ],
    }
  } catch (error) {
    const why = unanswered(view.signal, error)
    if (why === null) throw error
    const answers = check('answers', false, why)
    return {
      checks: [settled, forNowIf(view.signal.aborted || isForNow(error), answers)],
      groups: [],
    }
  }
}

/** What a plan misses from the cluster, which then refuses the change; null for another error. */
function unanswered(signal: AbortSignal, error: unknown): string | null {
  if (signal.aborted)
    return signal.reason instanceof OutOfTime
      ? `The cluster has not answered within ${planLimits.deadlineMs / 1000} s: bring back the servers that do not answer, then plan again`
      : null
  if (error instanceof KubernetesError)
    return `The Kubernetes API does not answer as expected: ${error.message}. Bring it back first`
  return error instanceof TalosError
    ? `A server does not answer as expected: ${error.message}. Bring it back first`
    : null
}

export const stepsOf = ({ groups }: Pick<Planned, 'groups'>): NewStep[] =>
  groups.flatMap(({ node_id, steps }) => steps.map((step) => ({ ...step, node_id })))

/** Digest of what the user confirms: the change, and the plan without times and measured sizes. */
export function digestOf(
  change: ClusterChange,
  { checks, groups, differences = [], disks = [], losses = [], images }: Planned,
): string {
  const agreed = {
    change,
    checks: checks.map((c) => [c.check, c.ok]),
    steps: groups.map((g) => [g.node_id, g.steps.map((s) => s.key)]),
    differences,
    losses: losses.map((loss) => loss.reason),
    images: [...(images?.schematics ?? [])].map(([id, { gets }]) => [id, gets]),
  }
  return createHash('sha256')
    .update(JSON.stringify([agreed, disks.map((d) => [d.server, d.devices])]))
    .digest('hex')
}

/** Answers `clusterPlan`. @param caller who takes a place in the line of plans */
export async function planChange(
  parts: ClusterParts,
  clusterId: string,
  change: ClusterChange,
  signal: AbortSignal,
  caller: Caller,
): Promise<ClusterPlan> {
  const view = await viewFor(parts, clusterId, signal)
  const plan = await planned(view, change, caller)
  const busy = await runningOn(parts, parts.db, view.state.row)
  const took = await parts.operations.durations(parts.db, clusterId)
  const sum = (seconds: readonly (number | undefined | null)[]) =>
    seconds.length === 0 || seconds.some((s) => s == null)
      ? null
      : seconds.reduce<number>((total, s) => total + s!, 0)
  const groups = plan.groups.map(({ drains = false, reboots = 'no', ...group }) => ({
    ...group,
    drains,
    reboots,
    took_s: sum(group.steps.map((step) => took.get(prefixOf(step.key)))),
  }))
  return {
    kind: change.kind,
    checks: [...plan.checks],
    warnings: [
      ...(plan.warnings ?? []),
      ...(busy
        ? [`${operationTitle(busy)} has not ended: begin afterwards, or at a later time`]
        : []),
    ],
    groups,
    disks: disksToConfirm(plan.disks ?? []).map((one) => ({ ...one, disk: shownDisk(one.disk) })),
    losses: [...(plan.losses ?? [])],
    differences: [...(plan.differences ?? [])],
    took_s: sum(groups.map((g) => g.took_s)),
    seen: digestOf(change, plan),
  }
}
