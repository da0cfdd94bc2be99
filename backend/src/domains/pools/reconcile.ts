/**
 * Brings a cluster's pools to the wanted state and keeps them there. Level-triggered, safe to repeat at every point. A cluster without subnets
 * is skipped.
 */
import { hasEnded } from '#contract/operations.ts'
import type { Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { KubernetesError } from '../../kubernetes/client.ts'
import { cancelAndRetry } from './cancel-retry.ts'
import { moved, passing } from './pass.ts'
import { load, type Look, poolQueue, type PoolParts, type State } from './state.ts'
import { writing } from './write.ts'

/** How often healthy pools and their addresses in use are checked. */
const watchMs = 60_000
const errorMs = 30_000
const longestSilenceMs = 30_000

export function poolReconciler(parts: PoolParts): Reconciler {
  const { db, operations, random } = parts
  const pass = passing(parts)
  const write = writing(parts)
  const followRequests = cancelAndRetry(parts, write)
  /** Spreads clusters that were looked at together. */
  const spread = (ms: number): number => Math.round(ms * (0.85 + 0.3 * random()))

  /** The cluster is being deleted; `release` frees its subnets at the end. */
  const giveUp = async (job: Job, state: State): Promise<void> => {
    const id = state.pool.operation_id
    const operation = id === null ? undefined : await operations.read(db, id)
    if (id !== null && operation && !hasEnded(operation))
      await job.fence.write((tx) => operations.set(tx, id, { status: 'cancelled', reason: `${state.cluster.name} is being deleted` }))
  }

  const turn = async (job: Job): Promise<Outcome | 'again'> => {
    const state = await load(parts, db, job.key)
    if (!state) return undefined
    if (state.cluster.leaving) return giveUp(job, state)
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

/** How soon to look again: often while something moves, seldom where a Service holds an address for long. */
function nextMs(job: Job, look: Look): number {
  const open = look.findings.filter((f) => f.verdict.is === 'applying' || f.verdict.is === 'draining')
  if (look.provider === null && open.every((f) => f.verdict.is === 'applying')) return open.length > 0 ? errorMs : watchMs
  if (open.length > 0) {
    const since = Math.min(...open.map((f) => job.elapsedMs(f.held.row.sent_at ?? f.held.row.assigned_at)))
    return since < 30_000 ? 1_000 : since < 300_000 ? 3_000 : 10_000
  }
  return look.findings.some((f) => f.verdict.is === 'error') ? errorMs : watchMs
}
