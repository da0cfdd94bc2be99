/** Scheduled changes: they begin when they are due and nothing else runs on the cluster. */
import { windowText } from '#contract/clusters/changes/window.ts'
import { closingAt, isOpen, nextOpening } from '#contract/clusters/changes/window-times.ts'
import { Problem } from '#contract/errors.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { firstFailed, waitingText, waitLimits } from '#contract/rule.ts'
import type { Tx } from '../../db/db.ts'
import type { Job, Outcome } from '../../engine/engine.ts'
import { isForNow } from '../../for-now.ts'
import { beginning, system } from '../../http/caller.ts'
import {
  type ClusterParts,
  clusterRows,
  demandUnheld,
  holdCluster,
  runningOn,
  type State,
} from '../clusters/api.ts'
import { atTime } from '../../sentences.ts'
import { argumentsOf, Unreadable } from './arguments.ts'
import { beginIn, demandChosen, demandConfirmed } from './changing.ts'
import { TooManyPlans } from './line.ts'
import { registerImages } from './members/images.ts'
import { kindOf, planned, stepsOf, viewOf } from './planning.ts'

interface Carried {
  readonly operation: Operation
  readonly isCancelled: boolean
}

/**
 * How often a scheduled change checks whether another operation still runs on the cluster, in ms.
 */
const waitsMs = 15_000
/**
 * Longest sleep until a scheduled change is due, in ms, because the wall clock may be set
 * meanwhile.
 */
const longestSleepMs = 3_600_000

const untilMs = (job: Job, at: Date): number =>
  Math.min(longestSleepMs, Math.max(1_000, at.getTime() - job.now()))

/**
 * Why a change that runs in the maintenance window waits, and how long; null if it may go on. If
 * the window was removed it waits too, because nobody has asked for it at another time.
 */
export function outsideWindow(
  job: Job,
  { row }: State,
  { in_window }: Pick<Operation, 'in_window'>,
): { reason: string; againMs: number } | null {
  if (in_window !== true) return null
  const [window, now] = [row.maintenance_window, new Date(job.now())]
  if (window === null)
    return {
      reason: `${row.name} has no maintenance window any more: set one, or cancel this change`,
      // A window that is set wakes it.
      againMs: longestSleepMs,
    }
  return isOpen(window, now)
    ? null
    : {
        reason: `Waits for the maintenance window: ${windowText(window)}`,
        againMs: untilMs(job, nextOpening(window, now)),
      }
}

/** Begins a scheduled change, or says why it can't begin. */
export async function beginScheduled(
  parts: ClusterParts,
  job: Job,
  state: State,
  { operation, isCancelled }: Carried,
): Promise<Outcome | 'again'> {
  const inFence = (act: (tx: Tx) => Promise<void>) =>
    job.fence.write(async (tx) => {
      await holdCluster(tx, state.row)
      await act(tx)
    })
  const endUnbegun = async (status: 'failed' | 'cancelled', reason: string) => {
    await inFence((tx) => parts.operations.set(tx, operation.id, { status, reason, forGood: true }))
    return 'again' as const
  }
  const waitFor = async (reason: string, againMs: number) => {
    // The operation stays pending: it has not begun.
    await inFence((tx) => parts.operations.note(tx, operation.id, reason))
    return { againMs }
  }
  /**
   * Waits for what is refused only for now: until the maintenance window closes in which it was
   * first refused, or until the limit is over.
   */
  const waitForNow = async (reason: string): Promise<Outcome | 'again'> => {
    const of = { operationId: operation.id }
    const window = operation.in_window === true ? state.row.maintenance_window : null
    const closing = window && closingAt(window, new Date(job.now()))
    const wait =
      closing === null
        ? await parts.operations.patience(job, of, { reason, limitMs: waitLimits.scheduled })
        : { isOver: false, sentence: waitingText(closing, reason) }
    if (wait.isOver) return endUnbegun('failed', `It did not begin: ${wait.sentence}`)
    await inFence(async (tx) => {
      await parts.operations.delayed(tx, of, { reason, since: new Date(job.now()) })
      await parts.operations.note(tx, operation.id, wait.sentence)
    })
    return { againMs: waitsMs }
  }
  if (isCancelled) return endUnbegun('cancelled', 'Nothing was changed')
  const now = new Date(job.now())
  const startsAt = operation.starts_at == null ? now : new Date(operation.starts_at)
  const window = state.row.maintenance_window
  const first =
    operation.in_window === true
      ? `Begins in the first maintenance window (${window === null ? 'none is set' : windowText(window)}) after`
      : 'Begins at'
  if (startsAt > now)
    return waitFor(
      `${first} ${startsAt.toISOString().slice(0, 10)} ${atTime(startsAt)}`,
      untilMs(job, startsAt),
    )
  const outside = outsideWindow(job, state, operation)
  const delay = await parts.operations.delay(parts.db, operation.id, '')
  if (window !== null && delay && operation.in_window === true) {
    const closed = closingAt(window, delay.since)
    if (closed !== null && closed <= now)
      return endUnbegun(
        'failed',
        `It did not begin before the maintenance window closed: ${delay.reason}`,
      )
  }
  if (outside) return waitFor(outside.reason, outside.againMs)
  const busy = await runningOn(parts, parts.db, state.row)
  if (busy) return waitFor(`Waits until this operation has ended: ${operationTitle(busy)}`, waitsMs)
  const asked = await argumentsOf(parts, state.row.id, operation).catch((error: unknown) => {
    if (error instanceof Unreadable) return null
    throw error
  })
  if (asked === null)
    return endUnbegun(
      'failed',
      'It did not begin: this version of Steelyard cannot read it any more. Plan the change again',
    )
  const { change, confirmed, confirmedLoss, chosen, isOther, appliedSet } = asked
  const by = beginning(system, appliedSet)
  const view = await viewOf(parts, state, job.signal)
  try {
    if (!kindOf(change.kind).isReadOnly) demandUnheld(by, state.row)
    const plan = await planned(view, change, by)
    const failed = firstFailed(plan.checks)
    if (failed)
      return failed.for_now === true
        ? await waitForNow(failed.message)
        : await endUnbegun('failed', `It did not begin: ${failed.message}`)
    demandChosen(plan, chosen)
    // What was confirmed days ago may cover less than what the plan says now.
    demandConfirmed(plan, confirmed, confirmedLoss)
    // A user has seen that a server gets another image, so it doesn't join without.
    if (isOther && plan.images?.silent != null) return await waitForNow(plan.images.silent)
    await registerImages(parts, plan.images)
    const begun = { change, confirmed, images: plan.images, operationId: operation.id }
    await inFence(async (tx) => {
      // Files may have locked it while the machines were asked.
      if (!kindOf(change.kind).isReadOnly)
        demandUnheld(by, (await clusterRows.find(tx, state.row.id))!)
      await parts.operations.undelay(tx, operation.id)
      await parts.operations.replaceSteps(tx, operation.id, stepsOf(plan))
      await beginIn(tx, system, view, begun)
    })
  } catch (error) {
    // A plan that can't be made would otherwise be tried for ever, and no other scheduled change of
    // the cluster would begin.
    if (!(error instanceof Problem)) throw error
    if (error instanceof TooManyPlans)
      return await waitFor('Waits until fewer changes of clusters are being planned', waitsMs)
    return isForNow(error)
      ? waitForNow(error.message)
      : endUnbegun('failed', `It did not begin: ${error.message}`)
  }
  return 'again'
}
