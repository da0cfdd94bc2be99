/**
 * Brings a cluster's pools to the wanted state and keeps them there. Level-triggered, safe to
 * repeat at every point. A cluster without subnets is skipped.
 */
import { hasEnded } from '#contract/operations.ts'
import type { Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import { revived } from './assign.ts'
import { moved, passing } from './pass.ts'
import { poolQueue } from './api.ts'
import { load, type Look, type PoolParts, type State } from './state.ts'
import { writing } from './write.ts'
import type { Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { goingSteps, skipped, stepKey, subnetOf } from './steps.ts'
import * as store from './store.ts'

/** Interval of checks of healthy pools and their addresses in use. */
const watchMs = 60_000
const errorMs = 30_000
const longestSilenceMs = 30_000

export function poolReconciler(parts: PoolParts): Reconciler {
  const { db, operations, random } = parts
  const pass = passing(parts)
  const write = writing(parts)
  const followRequests = cancelAndRetry(parts, write)
  /** Varies a delay at random, so that clusters aren't all read at the same time. */
  const spread = (ms: number): number => Math.round(ms * (0.85 + 0.3 * random()))

  /** The cluster is being deleted; `release` frees its subnets at the end. */
  const giveUp = async (job: Job, state: State): Promise<void> => {
    const id = state.pool.operation_id
    const operation = id === null ? undefined : await operations.read(db, id)
    if (id !== null && operation && !hasEnded(operation))
      await job.fence.write((tx) =>
        operations.set(tx, id, {
          status: 'cancelled',
          reason: `${state.cluster.name} is being deleted`,
        }),
      )
  }

  const turn = async (job: Job): Promise<Outcome | 'again'> => {
    const state = await load(parts, db, job.key)
    if (!state) return undefined
    if (state.cluster.leaving) return giveUp(job, state)
    // A new cluster has its subnets before its control plane runs; it wakes this queue when ready.
    if (!state.cluster.has_control_plane) return undefined
    if (await followRequests(job, state)) return 'again'
    if (state.held.length === 0) return write.nothing(job, state)
    try {
      const look = await pass(job, state)
      if (look === moved || !(await write.found(job, state, look))) return 'again'
      return { againMs: spread(nextMs(job, look)) }
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error
      const misses = await write.unanswered(job, state, error)
      return { againMs: spread(Math.min(longestSilenceMs, 1_000 * 2 ** misses)) }
    }
  }

  return {
    queue: poolQueue,
    concurrency: 16,
    deadlineMs: 180_000,
    async reconcile(job) {
      for (let turns = 0; turns < 6; turns++) {
        const outcome = await turn(job)
        if (outcome !== 'again') return outcome
      }
      return { againMs: 1_000 }
    },
  }
}

/**
 * Delay until the cluster is read again: short while something changes, long if a Service keeps an
 * address for a long time.
 */
function nextMs(job: Job, look: Look): number {
  const open = look.findings.filter(
    (f) => f.verdict.is === 'applying' || f.verdict.is === 'draining',
  )
  if (look.provider === null && open.every((f) => f.verdict.is === 'applying'))
    return open.length > 0 ? errorMs : watchMs
  if (open.length > 0) {
    const since = Math.min(
      ...open.map((f) => job.elapsedMs(f.held.row.sent_at ?? f.held.row.assigned_at)),
    )
    return since < 30_000 ? 1_000 : since < 300_000 ? 3_000 : 10_000
  }
  return look.findings.some((f) => f.verdict.is === 'error') ? errorMs : watchMs
}

/**
 * Cancel and retry of an assignment: a cancel reverts unfinished parts, a retry restarts failed
 * ones.
 */
function cancelAndRetry(
  { db, operations, clusters, subnets }: PoolParts,
  { lockAll }: ReturnType<typeof writing>,
) {
  const turnBack = (job: Job, state: State, operationId: string): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      const operation = await operations.read(tx, operationId)
      if (!locked || !operation || hasEnded(operation)) return false
      const open = operation.steps.filter(
        (s) => s.status !== 'done' && s.status !== 'failed' && s.status !== 'skipped',
      )
      const ids = (place: 'apply' | 'read-back' | 'drain' | 'remove', steps: typeof open) =>
        steps.flatMap((s) => subnetOf(s.key, place) ?? [])
      const coming = new Set([...ids('apply', open), ...ids('read-back', open)])
      // Excludes subnets whose assignment this cancel has reverted already: their removal
      // continues.
      const came = new Set(ids('apply', operation.steps))
      const going = new Set(
        [...ids('drain', open), ...ids('remove', open)].filter((id) => !came.has(id)),
      )
      const names = new Map(
        (await subnets.find(tx, [...coming, ...going])).map((s) => [s.id, s.name]),
      )
      for (const id of coming)
        await takeBack(tx, operationId, locked.rows.get(id), { id, name: names.get(id) ?? id })
      for (const id of going) {
        for (const place of ['drain', 'remove'] as const)
          await operations.step(tx, operationId, stepKey(place, id), skipped('Cancelled'))
        if (locked.rows.get(id)?.state === 'draining')
          await store.updateAssignment(tx, state.cluster.id, id, revived)
      }
      if (coming.size + going.size === 0) return false
      await clusters.touch(tx, system, state.cluster.id)
      await subnets.tellChanged(tx, system, [...coming, ...going])
      return true
    })

  const takeBack = async (
    tx: Tx,
    operationId: string,
    row: store.AssignmentRow | undefined,
    subnet: { id: string; name: string },
  ): Promise<void> => {
    for (const place of ['apply', 'read-back'] as const)
      await operations.step(tx, operationId, stepKey(place, subnet.id), skipped('Cancelled'))
    // The cluster had the subnet before this operation, which only applied it again.
    if (!row || row.state === 'draining' || row.applied !== null) return
    if (row.sent_at === null) {
      await store.removeAssignments(tx, row.cluster_id, [subnet.id])
      return
    }
    await store.updateAssignment(tx, row.cluster_id, subnet.id, {
      state: 'draining',
      reason: null,
      forced: false,
    })
    await operations.addSteps(tx, operationId, goingSteps(subnet))
  }

  const again = (job: Job, state: State, round: number): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      if (!locked) return false
      await store.updatePool(tx, state.cluster.id, { operation_round: round })
      for (const row of locked.rows.values())
        if (row.state === 'error')
          // A new `sent_at` gives the load balancer its full time limit again for accepting the
          // pool.
          await store.updateAssignment(tx, row.cluster_id, row.subnet_id, {
            state: 'applying',
            reason: null,
            sent_at: row.sent_at && new Date(job.now()),
          })
      return true
    })

  /** Returns whether something was changed, so that the state has to be read again. */
  return async (job: Job, state: State): Promise<boolean> => {
    const id = state.pool.operation_id
    const operation = id === null ? undefined : await operations.state(db, id)
    if (id === null || !operation || hasEnded(operation)) return false
    if (operation.round > state.pool.operation_round) return again(job, state, operation.round)
    return operation.cancel_requested_at !== null && turnBack(job, state, id)
  }
}
