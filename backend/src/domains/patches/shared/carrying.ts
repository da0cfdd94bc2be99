/**
 * Carries out roll-outs of shared patches: the canary alone, then the servers of one cluster after
 * another. In a cluster it is the cluster's own change of patches that works, with its checks,
 * waits and window, so this reconciler only begins such changes and reads their steps. The steps of
 * the operation are the progress: a run can end anywhere.
 */
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Operation, type Step } from '#contract/operations.ts'
import { waitLimits } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import type { Tx } from '../../../db/db.ts'
import type { Job, Outcome, Reconciler } from '../../../engine/engine.ts'
import { isForNow } from '../../../for-now.ts'
import { beginning, system } from '../../../http/caller.ts'
import { missingLink } from '../../configurations/api.ts'
import type { StepChange } from '../../operations/api.ts'
import type { Also, ServerFacts } from '../../servers/api.ts'
import type { SharedParts } from './parts.ts'
import { sharedPatchQueue, stepOf } from './rolling.ts'

/** Pause between two looks at a change of a cluster, in ms. */
const lookMs = 1_000
/** Pause while something else runs on a cluster, in ms. */
const busyMs = 5_000

const isOver = ({ status }: Step): boolean => status === 'done' || status === 'skipped'
/** An undo goes on with the other servers after one has refused it: each of them is to be as before. */
const isLeft = ({ undoes }: Pick<RollOut, 'undoes'>, step: Step): boolean =>
  isOver(step) || (undoes !== null && step.status === 'failed')
const serverOf = ({ key }: Pick<Step, 'key'>): string => key.slice(stepOf('').length)

/** Why an undo has not reached every server. */
const leftSentence = (refused: readonly Step[]): string =>
  `${counted(refused.length, 'server')} ${refused.length === 1 ? 'keeps' : 'keep'} the patch. ${refused
    .slice(0, 3)
    .map(({ reason }) => reason)
    .join('. ')}`

type RollOut = NonNullable<Awaited<ReturnType<SharedParts['store']['rollOutOf']>>>
interface Turn {
  readonly job: Job
  readonly operation: Operation
  readonly rollOut: RollOut
}
/**
 * What a run has done about a server. `isLimited`: what it waits for has no limit of its own, so
 * that the wait has one.
 */
type Result =
  | 'again'
  | { readonly waiting: string; readonly isLimited?: true }
  | { readonly failed: string }

/**
 * What a step waits for, if the refusal only delays it; else null. The sentence of a refusal may ask
 * its reader to try again, which the roll-out does by itself. Another operation ends by itself, as
 * does the planning of changes. Pure.
 */
export function waitsFor(error: Problem): Extract<Result, { waiting: string }> | null {
  const { code, message, retryAfterSeconds } = error
  if (code === 'operation_running') return { waiting: message }
  if (code === 'stale') return { waiting: 'It has changed meanwhile, so it is looked at again' }
  if (retryAfterSeconds !== undefined)
    return { waiting: 'Waits until fewer changes of clusters are being planned' }
  return isForNow(error) ? { waiting: message, isLimited: true } : null
}

export function sharedPatchReconciler(parts: SharedParts): Reconciler {
  const { db, store, servers, configurations, patches, operations } = parts

  const setStep = (
    { job, operation }: Turn,
    serverId: string,
    change: Parameters<typeof operations.step>[3],
    also?: (tx: Tx) => Promise<unknown>,
  ): Promise<void> =>
    job.fence.write(async (tx) => {
      await also?.(tx)
      await operations.step(tx, operation.id, stepOf(serverId), change)
    })

  const argumentsOf = ({ operation: { id, kind } }: Turn) =>
    operations.argumentsOf(
      db,
      id,
      kind === 'sharedPatchUndo' ? 'sharedPatchUndo' : 'sharedPatchRollOut',
    )

  /** The facts of a server; undefined if it was removed. */
  const factsOf = async (serverId: string): Promise<ServerFacts | undefined> => {
    try {
      return (await servers.forPlan(db, [serverId]))[0]
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_found') return undefined
      throw error
    }
  }

  /** A server without a cluster: nothing is sent, its installation brings the patch. */
  const changeAlone = async (turn: Turn, { id, name }: ServerFacts): Promise<Result> => {
    const set = await patches.rollOutSet(db, turn.rollOut.id, id)
    if (await patches.changes(id, set)) {
      const missing = missingLink(await configurations.rehearse(id, set))
      if (missing !== null) return { failed: missing }
      const { confirmed_loss: confirmedLoss } = await argumentsOf(turn)
      const after = await parts.layers.after(db, id, set)
      const by = turn.rollOut.created_by_name
      const links = await patches.linksOf(set)
      await configurations.change(system, id, { ...after, confirmedLoss }, async (tx) => {
        // Its installation may have begun meanwhile.
        if ((await servers.locked(tx, id)).cluster_id !== null)
          throw new Problem('operation_running', `${name} is joining a cluster`)
        await patches.save(tx, id, set, { by, appliedSet: null, links })
      })
    }
    await setStep(turn, id, { status: 'done' })
    return 'again'
  }

  /**
   * The servers that the next change of the cluster takes: the canary alone, then all others. In an
   * undo each alone, so that the refusal of one stops no other.
   */
  const batchOf = async (
    { operation, rollOut }: Turn,
    clusterId: string,
  ): Promise<{ batch: string[]; held: string[] }> => {
    const isAlone = rollOut.undoes !== null || operation.steps.every((s) => s.status !== 'done')
    const open = operation.steps.filter((s) => !isLeft(rollOut, s)).map(serverOf)
    const [batch, held]: [string[], string[]] = [[], []]
    for (const id of open) {
      const facts = await factsOf(id)
      if (facts?.cluster?.id !== clusterId) break
      const set = await patches.rollOutSet(db, rollOut.id, id)
      if (!(await patches.changes(id, set))) held.push(id)
      else batch.push(id)
      if (isAlone) break
    }
    return { batch, held }
  }

  const beginChange = async (turn: Turn, clusterId: string): Promise<Result> => {
    const { job, operation, rollOut } = turn
    const { batch, held } = await batchOf(turn, clusterId)
    if (held.length > 0) {
      await job.fence.write(async (tx) => {
        for (const id of held)
          await operations.step(tx, operation.id, stepOf(id), { status: 'done' })
      })
      return 'again'
    }
    const { in_window, confirmed_loss, applied_set: set } = await argumentsOf(turn)
    // Recorded in the transaction that begins the change: otherwise a run that ends in between
    // leaves a change that this roll-out neither follows nor cancels.
    const also: Also = async (tx, begun) => {
      await store.noteChange(tx, rollOut.id, batch, begun.id)
      await operations.step(tx, operation.id, stepOf(batch[0]!), { status: 'running' })
      await job.fence.demand(tx)
    }
    await parts.changeCluster(
      beginning(system, set),
      clusterId,
      {
        change: {
          kind: 'configure',
          patches: [],
          remove: [],
          mends: [],
          roll_out: rollOut.id,
          node_ids: batch,
        },
        start: { in_window },
        confirmed_disks: [],
        confirmed_loss,
      },
      job.signal,
      { also, chosen: batch },
    )
    job.passed('roll-out-begun')
    return 'again'
  }

  /** Copies what the change of the cluster has reached. */
  const follow = async (
    turn: Turn,
    step: Step,
    change: Operation,
    isCancelled: boolean,
  ): Promise<Result> => {
    const { job, operation } = turn
    if (isCancelled && !hasEnded(change))
      await job.fence.write((tx) => operations.cancelIn(tx, change.id))
    const changes = operation.steps.flatMap((own): ({ key: string } & StepChange)[] => {
      const those = change.steps.filter((s) => s.node_id === serverOf(own))
      if (isOver(own) || those.length === 0) return []
      const present = those.find((s) => !isOver(s))
      if (present === undefined)
        return those.some((s) => s.status === 'skipped' && s.reason === 'Cancelled')
          ? []
          : [{ key: own.key, status: 'done' }]
      return present === those[0] && present.status === 'todo'
        ? []
        : [
            present.status === 'waiting'
              ? { key: own.key, status: 'waiting', reason: present.reason }
              : { key: own.key, status: 'running' },
          ]
    })
    await job.fence.write((tx) => operations.steps(tx, operation.id, changes))
    if (changes.some(({ key, status }) => key === step.key && status === 'done')) return 'again'
    if (!hasEnded(change)) {
      // The change waits for its window.
      if (change.started_at === null && change.reason !== null)
        await setStep(turn, serverOf(step), { status: 'waiting', reason: change.reason })
      return { waiting: change.reason ?? '' }
    }
    if (change.status === 'done') {
      // The change had nothing to do on this server: it is asked anew.
      await setStep(turn, serverOf(step), { status: 'todo' })
      return 'again'
    }
    if (change.status === 'cancelled')
      return isCancelled
        ? 'again'
        : { failed: `The change of the cluster was cancelled: ${change.reason ?? ''}` }
    return { failed: change.reason ?? 'The change of the cluster failed' }
  }

  const fail = ({ job, operation }: Turn, reason: string) =>
    job.fence.write((tx) => operations.set(tx, operation.id, { status: 'failed', reason }))

  const advance = async (turn: Turn, isCancelled: boolean): Promise<Outcome | 'again'> => {
    const { job, operation, rollOut } = turn
    const step = operation.steps.find((s) => !isLeft(rollOut, s))
    const finish = (status: 'done' | 'cancelled', reason: string | null) =>
      job.fence.write((tx) => operations.set(tx, operation.id, { status, reason, forGood: true }))
    if (!step) {
      const refused = operation.steps.filter((s) => s.status === 'failed')
      if (refused.length === 0) await finish('done', null)
      else await fail(turn, leftSentence(refused))
      return undefined
    }
    const id = serverOf(step)
    const server = await factsOf(id)
    if (!server) {
      const reason = 'The server was removed meanwhile'
      await setStep(turn, id, { status: 'skipped', reason })
      return 'again'
    }
    const row = (await store.rolled(db, rollOut.id)).find((one) => one.server_id === id)
    const change = row?.change_id == null ? undefined : await operations.read(db, row.change_id)
    // A retry sets its step back to `todo`: the change that failed is not that of the retry.
    const isOurs = change !== undefined && (!hasEnded(change) || step.status !== 'todo')
    if (isCancelled && (!isOurs || (change && hasEnded(change)))) {
      const done = operation.steps.filter((s) => s.status === 'done').length
      await finish(
        'cancelled',
        done === 0
          ? 'Nothing was changed'
          : `Cancelled after ${done} of ${operation.steps.length} servers`,
      )
      return undefined
    }
    const result = await attempt(() =>
      isOurs
        ? follow(turn, step, change, isCancelled)
        : server.cluster === null
          ? changeAlone(turn, server)
          : beginChange(turn, server.cluster.id),
    )
    if (result === 'again') return result
    const waited = 'waiting' in result ? await wait(turn, id, result, isOurs) : result
    if (!('failed' in waited)) return waited
    const reason = waited.failed
    if (rollOut.undoes !== null) {
      await setStep(turn, id, { status: 'failed', reason })
      return 'again'
    }
    await job.fence.write(async (tx) => {
      await operations.step(tx, operation.id, step.key, { status: 'failed', reason })
      await operations.set(tx, operation.id, {
        status: 'failed',
        reason: `Stopped at ${server.name}: ${reason}`,
      })
    })
    return undefined
  }

  /** Says what a server waits for, and ends a wait whose limit is over. */
  const wait = async (
    turn: Turn,
    id: string,
    { waiting, isLimited }: Extract<Result, { waiting: string }>,
    isOurs: boolean,
  ): Promise<{ againMs: number } | { readonly failed: string }> => {
    const { job, operation } = turn
    if (isOurs && isLimited === undefined) return { againMs: lookMs }
    const of = { operationId: operation.id, step: stepOf(id) }
    if (isLimited === undefined) {
      await setStep(turn, id, { status: 'waiting', reason: waiting }, (tx) =>
        operations.undelay(tx, operation.id, [of.step]),
      )
      return { againMs: busyMs }
    }
    const { isOver, sentence } = await operations.patience(job, of, {
      reason: waiting,
      limitMs: waitLimits.rollOut,
    })
    if (isOver) return { failed: sentence }
    await setStep(turn, id, { status: 'waiting', reason: sentence }, (tx) =>
      operations.delayed(tx, of, { reason: waiting, since: new Date(job.now()) }),
    )
    return { againMs: busyMs }
  }

  /** A rule's refusal ends the roll-out; what may end by itself only delays it. */
  const attempt = async (act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return waitsFor(error) ?? { failed: error.message }
    }
  }

  return {
    queue: sharedPatchQueue,
    // A plan of a change of a cluster asks each of its servers for a dry run.
    deadlineMs: 10 * 60_000,
    async reconcile(job) {
      for (let acts = 0; acts < 20; acts++) {
        const carried = await operations.carriedBy(db, job)
        const rollOut = carried && (await store.rollOutOf(db, carried.operation.id))
        if (!carried || !rollOut) return undefined
        const next = await advance(
          { job, operation: carried.operation, rollOut },
          carried.isCancelled,
        )
        if (next !== 'again') return next
      }
      return { againMs: 0 }
    },
  }
}
