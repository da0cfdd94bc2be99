/**
 * The search for the offers of clusters. A cluster that is created from the servers of a removed
 * cluster continues that cluster's offer. The search begins with the creation of the cluster,
 * begins again when the cluster becomes ready, and ends after STEELYARD_OFFER_DETECTION_MINUTES. A
 * change of an offer is compared with all clusters at once, also with those whose search has ended.
 */
import type { Tx } from '../../db/db.ts'
import type { Engine, Job, Outcome, Reconciler } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { attach, nowOf, type OfferParts } from './parts.ts'
import * as store from './store.ts'

const queue = 'offer-detection'
/** One run looks for the offers of all clusters. */
const key = 'all'
/** How often an open search looks without being woken, in ms. */
const lookMs = 30_000

export const wakeDetection = (engine: Pick<Engine, 'wake'>, tx: Tx): Promise<void> =>
  engine.wake(tx, queue, key)

/**
 * The next step of a search without a result: `look` goes on, `restart` begins again because the
 * cluster has become ready, `end` gives up, `rest` has ended. A creation that is under way has time
 * limits of its own.
 * @param elapsedMs ms since the search began
 */
export function decideSearch(
  { since, ended_at, ready_at, status }: store.Search,
  elapsedMs: number,
  limitMs: number,
): 'look' | 'restart' | 'end' | 'rest' {
  if (ready_at !== null && ready_at > since) return 'restart'
  if (ended_at !== null) return 'rest'
  if (ready_at === null && status !== 'failed') return 'look'
  return elapsedMs < limitMs ? 'look' : 'end'
}

async function attachMatches(parts: OfferParts, job: Job): Promise<void> {
  for (const { cluster_id, offer_id } of await store.matches(parts.db))
    await job.fence.write(async (tx) => {
      const cluster = await parts.clusters.lock(tx, cluster_id)
      if (cluster && !cluster.leaving) await attach(parts, tx, cluster, offer_id)
    })
}

export function detection(parts: OfferParts): Reconciler {
  const limitMs = parts.config.offerDetectionMinutes * 60_000

  /** Returns ms until the search has to be looked at again, or null. */
  const step = async (job: Job, search: store.Search): Promise<number | null> => {
    const elapsedMs = job.elapsedMs(search.since)
    const next = decideSearch(search, elapsedMs, limitMs)
    if (next === 'restart' || next === 'end') {
      await job.fence.write(async (tx) => {
        if (!(await parts.clusters.lock(tx, search.cluster_id))) return
        if (next === 'restart') await store.openSearch(tx, search.cluster_id, search.ready_at!)
        else await store.endSearch(tx, search.cluster_id, nowOf(parts))
        await parts.clusters.touch(tx, system, search.cluster_id)
      })
      return next === 'restart' ? 0 : null
    }
    // A failed creation can be retried, and then becomes ready.
    if (next === 'rest') return search.ready_at === null ? lookMs : null
    return search.ready_at === null ? lookMs : Math.min(lookMs, Math.max(0, limitMs - elapsedMs))
  }

  return {
    queue,
    async reconcile(job): Promise<Outcome> {
      await attachMatches(parts, job)
      const waits: number[] = []
      for (const search of await store.searches(parts.db)) {
        const wait = await step(job, search)
        if (wait !== null) waits.push(wait)
      }
      return waits.length === 0 ? undefined : { againMs: Math.min(...waits) }
    },
  }
}
