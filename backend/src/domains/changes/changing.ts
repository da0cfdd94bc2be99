/** Use cases of changes: start a change at once, schedule one, set the maintenance window. */
import {
  changeOperations,
  type ClusterChange,
  type ChangeStart,
  type clusterChange,
  type clusterWindowSet,
} from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { firstFailed, no, refusalBy, yes } from '#contract/rule.ts'
import { type ConfirmedDisk } from '#contract/disks/disks.ts'
import { canWipe } from '#contract/disks/wipe.ts'
import {
  type LossConsent,
  longestUndo,
  rollOutUndoRule,
  undoSeconds,
} from '#contract/servers/losses.ts'
import { someOf } from '#contract/words.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { appliedSetOf, type Caller } from '../../http/caller.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import { demandFree } from '../operations/api.ts'
import type { PartOfMany } from './api.ts'
import {
  changeQueue,
  type ClusterParts,
  clusterRows,
  demandUnheld,
  lockCluster,
  runningOn,
  shownOne,
  type State,
  updateCluster,
  wipesOf,
} from '../clusters/api.ts'
import { isWanted } from '../control-planes/api.ts'
import type { ChangeView, Planned } from './frame.ts'
import { hasOther, registerImages } from './members/images.ts'
import { digestOf, kindOf, planned, stepsOf, viewFor } from './planning.ts'
import { demandNoLoss } from '../../http/errors.ts'

/**
 * Refuses the change with the message of the failed check that counts. @throws Problem transition_refused
 */
function demandChecks({ checks }: Planned): void {
  const failed = firstFailed(checks)
  if (failed) throw Problem.of('transition_refused', refusalBy(failed))
}

/**
 * Refuses a plan that restarts a server that nobody chose, such as one that has joined the cluster
 * since. `chosen`: null if the change is about the whole cluster. @throws Problem transition_refused
 */
export function demandChosen({ groups }: Planned, chosen: readonly string[] | null): void {
  if (chosen === null) return
  const strange = groups.flatMap(({ node_id, name, reboots = 'no' }) =>
    node_id === null || reboots === 'no' || chosen.includes(node_id) ? [] : [name ?? node_id],
  )
  if (strange.length > 0)
    throw new Problem(
      'transition_refused',
      `It would restart ${someOf(strange)} as well, which nobody chose: plan it again`,
    )
}

/**
 * Refuses a plan that wipes a disk or loses a server that nobody confirmed. @throws Problem
 * disk_not_confirmed, loss_not_confirmed, invalid
 */
export function demandConfirmed(
  { groups, disks = [], losses = [] }: Pick<Planned, 'groups' | 'disks' | 'losses'>,
  confirmed: readonly ConfirmedDisk[],
  confirmedLoss: readonly LossConsent[],
): void {
  const wipe = canWipe(disks, confirmed)
  if (!wipe.ok) throw new Problem('disk_not_confirmed', wipe.reason)
  demandNoLoss(losses, confirmedLoss)
  const servers = new Set(groups.flatMap(({ node_id }) => node_id ?? []))
  if (servers.size > 1 && longestUndo(confirmedLoss) > undoSeconds.mostInRollOut)
    throw new Problem('invalid', rollOutUndoRule, { confirmed_loss: rollOutUndoRule })
}

/**
 * Reserves all servers of the cluster for the change, so that no other operation runs on them.
 * @throws Problem operation_running
 */
export async function holdServers(
  { servers }: Pick<ClusterParts, 'servers'>,
  tx: Tx,
  clusterId: string,
  { change, operationId }: { readonly change: ClusterChange; readonly operationId: string },
): Promise<void> {
  if (kindOf(change.kind).isReadOnly) return
  const here = (await clusterRows.members(tx, clusterId)).filter(isWanted)
  await servers.holdAll(
    tx,
    here.map((m) => m.node_id),
    operationId,
  )
}

/**
 * Runs in the transaction in which a change begins: makes the change the cluster's current
 * operation. @throws Problem
 */
export async function beginIn(
  tx: Tx,
  caller: Caller,
  view: ChangeView,
  {
    change,
    confirmed,
    images,
    operationId,
  }: {
    readonly change: ClusterChange
    readonly confirmed: readonly ConfirmedDisk[]
    readonly images: Planned['images']
    readonly operationId: string
  },
): Promise<void> {
  await kindOf(change.kind).begin?.(tx, { view, caller, change, confirmed, images, operationId })
  await holdServers(view.parts, tx, view.state.row.id, { change, operationId })
  await updateCluster(view.parts, tx, caller, view.state.row.id, {
    operation_id: operationId,
    operation_round: 1,
  })
}

const isLater = (start: ChangeStart | undefined): start is ChangeStart =>
  start !== undefined && (start.at !== undefined || start.in_window)

/** How long ago a change may have been due when it is requested: people read its plan first. */
const lateMs = 10 * 60_000

/**
 * Refuses a time that has passed, such as one of another year: the change would begin at once.
 * @throws Problem invalid
 */
function demandAhead(start: ChangeStart | undefined, now: number): void {
  if (start?.at === undefined || Date.parse(start.at) >= now - lateMs) return
  const sentence = `The time ${start.at} has passed: give a later one, or none to begin at once`
  throw new Problem('invalid', sentence, { 'start.at': sentence })
}

/**
 * Thrown if the cluster was changed between the plan and the transaction in which the change
 * begins.
 */
class Moved extends Problem {}
export const mostPlans = 3

/**
 * Answers `clusterChange`. Plans again if the cluster is changed during the planning. @throws
 * Problem
 */
export async function requestChange(
  ...asked: Parameters<typeof requestOnce>
): Promise<{ operation: Operation }> {
  for (let plans = 1; ; plans++) {
    try {
      return await requestOnce(...asked)
    } catch (error) {
      if (!(error instanceof Moved) || plans === mostPlans) throw error
    }
  }
}

async function requestOnce(
  parts: ClusterParts,
  caller: Caller,
  id: string,
  {
    change,
    seen,
    start,
    confirmed_disks: confirmed,
    confirmed_loss: confirmedLoss,
  }: Input<typeof clusterChange>['body'],
  signal: AbortSignal,
  part?: PartOfMany,
): Promise<{ operation: Operation }> {
  demandAhead(start, parts.clock.now())
  const view = await viewFor(parts, id, signal)
  if (!kindOf(change.kind).isReadOnly) demandUnheld(caller, view.state.row)
  const plan = await planned(view, change, caller)
  if (seen !== undefined && seen !== digestOf(change, plan))
    throw new Problem(
      'stale',
      'The cluster has changed since the plan was made: look at the new plan',
    )
  // What begins later looks again by then, so that a moment's silence doesn't refuse it here.
  if (part === undefined || !isLater(start) || firstFailed(plan.checks)?.for_now !== true)
    demandChecks(plan)
  const chosen = part?.chosen ?? null
  demandChosen(plan, chosen)
  demandConfirmed(plan, confirmed, confirmedLoss)
  if (!isLater(start)) await registerImages(parts, plan.images)
  return inTransaction(parts.db, async (tx) => {
    const row = await lockCluster(tx, id)
    if (!kindOf(change.kind).isReadOnly) demandUnheld(caller, row)
    const later = isLater(start)
    if (later && start.in_window && row.maintenance_window === null)
      throw new Problem(
        'transition_refused',
        `${row.name} has no maintenance window: set one first, or give a time`,
      )
    const busy = await runningOn(parts, tx, row)
    if (busy && !later)
      throw new Problem('operation_running', `${operationTitle(busy)} has not ended`)
    if (
      !later &&
      row.updated_at.getTime() !== view.state.row.updated_at.getTime() &&
      (await hasMoved(tx, view))
    )
      throw new Moved(
        'stale',
        'The cluster has changed in the meantime: try again',
        undefined,
        undefined,
        undefined,
        'for_now',
      )
    const operation = await parts.operations.create(tx, caller, {
      kind: changeOperations[change.kind],
      target: { id, name: row.name },
      arguments: {
        change: (await kindOf(change.kind).sealed?.close(parts, tx, id, change)) ?? change,
        confirmed_disks: confirmed,
        confirmed_loss: confirmedLoss,
        applied_set: appliedSetOf(caller),
        other_image: hasOther(plan.images),
        chosen: chosen && [...chosen],
      },
      steps: stepsOf(plan),
      queue: changeQueue,
      startsAt: start?.at === undefined ? null : new Date(start.at),
      inWindow: start?.in_window ?? false,
      audit: {
        after: { ...(later && { starts_at: start.at ?? null, in_window: start.in_window }) },
      },
    })
    if (!later)
      await beginIn(tx, caller, view, {
        change,
        confirmed,
        images: plan.images,
        operationId: operation.id,
      })
    await part?.also(tx, operation)
    return { operation }
  })
}

/** Whether the cluster's wanted state or servers differ from those in the plan. */
async function hasMoved(tx: Tx, { state }: ChangeView): Promise<boolean> {
  const now = await clusterRows.load(tx, state.row.id)
  const facts = (s: State | undefined) =>
    s && [
      s.row.wanted,
      s.row.operation_id,
      s.row.talos_version,
      s.row.kubernetes_version,
      s.members.map((m) => [m.node_id, m.wanted, m.role, m.released_at]),
    ]
  return JSON.stringify(facts(now)) !== JSON.stringify(facts(state))
}

/** Answers `clusterWindowSet`. @throws Problem not_found, stale, held_by_files, operation_running */
export const setWindow = (
  parts: ClusterParts,
  caller: Caller,
  id: string,
  { window }: Input<typeof clusterWindowSet>['body'],
  ifMatch?: Versions,
): Promise<Cluster> =>
  inTransaction(parts.db, async (tx) => {
    const row = await lockCluster(tx, id)
    checkVersion(ifMatch, row.version)
    demandUnheld(caller, row)
    await demandFree(tx, id, row.name)
    await updateCluster(parts, tx, caller, id, {
      maintenance_window: window === null ? null : JSON.stringify(window),
    })
    await parts.record(tx, caller, {
      action: 'cluster.window_set',
      target: { kind: 'cluster', id, name: row.name },
      before: { window: row.maintenance_window },
      after: { window },
    })
    // Scheduled changes wait for the window.
    await parts.engine.wake(tx, changeQueue, id)
    return shownOne(parts, tx, id)
  })

/**
 * Whether an operation can be retried: only the cluster's current one, because a scheduled change
 * that was refused has never begun.
 */
export function guardChangeRetries(
  parts: Pick<ClusterParts, 'db' | 'operations' | 'servers'>,
): void {
  parts.operations.guardRetry(changeQueue, {
    wipes: ({ key }) => wipesOf(parts, key),
    async may(tx, { id, key }) {
      const row = await clusterRows.lock(tx, key)
      if (!row) return no('The cluster is gone')
      return row.operation_id === id
        ? yes
        : no(
            `The change of ${row.name} never began, or a later change has followed it: request it again`,
          )
    },
  })
}
