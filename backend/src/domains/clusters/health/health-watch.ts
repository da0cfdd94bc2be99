/**
 * Reads the members of etcd, the API servers and the disks of each running cluster once a minute and
 * stores what findings are judged from, and the figures of this minute. Changes nothing on the machines.
 */
import type { Reconciler } from '../../../engine/engine.ts'
import { type ClusterParts, healthQueue, runningOn } from '../parts.ts'
import {
  askApiServers,
  askEtcd,
  controlPlanesOf,
  etcdHealth,
  factsOf,
  kubernetesOf,
} from '../../control-planes/api.ts'
import * as clusters from '../store.ts'
import { isAtWork, missesUntilIll, missingDisks, observedOf } from './observed.ts'
import { measuredOf } from './measured.ts'
import * as store from './store.ts'

const everyMs = 60_000
/** Looks again soon after something was not well for the first time. */
const soonMs = 5_000

export const healthWatch = (parts: ClusterParts): Reconciler => ({
  queue: healthQueue,
  concurrency: 8,
  deadlineMs: 60_000,
  async reconcile(job) {
    const row = await clusters.row(parts.db, job.key)
    if (!row || row.deleted_at !== null || row.wanted !== 'ready') return undefined
    // Machines that refuse Steelyard's certificates show nothing.
    if (row.ready_at === null || row.locked_out !== null) return { againMs: everyMs }
    const members = (await clusters.members(parts.db, job.key)).filter(clusters.isWanted)
    const controlPlanes = controlPlanesOf(members).filter((m) => m.etcd_at !== null)
    const facts = await factsOf(parts, parts.db, members)
    const targets = facts.filter((f) => controlPlanes.some((m) => m.node_id === f.id))
    if (targets.length === 0) return { againMs: everyMs }
    const askedAt = job.now()
    const client = await kubernetesOf(parts, { row, members })
    const [etcd, apiServers, running] = await Promise.all([
      askEtcd(parts, controlPlanes, job.signal),
      askApiServers(client, targets, { signal: job.signal, clock: parts.clock }),
      runningOn(parts, parts.db, row),
    ])
    const missing = members.flatMap((m, i) =>
      m.node_ready_at === null
        ? []
        : missingDisks(m, facts[i]!.disks).map((device) => ({
            node_id: m.node_id,
            name: m.name,
            device,
          })),
    )
    const seen = {
      etcd: etcdHealth(etcd).members,
      api_servers: apiServers.map(({ state, isOwnDelay }) => ({ ...state, isOwnDelay })),
      missing_disks: missing,
    }
    const observed = observedOf(row.observed, seen, isAtWork(running))
    const figures = measuredOf(
      { etcd, apiServers },
      members.flatMap((m, i) => (m.node_ready_at === null ? [] : [facts[i]!.node_ready])),
    )
    await job.fence.write(async (tx) => {
      await store.noteObserved(tx, job.key, observed)
      await parts.measurements.writeCluster(tx, job.key, askedAt, figures)
    })
    const isNew = [...observed.etcd, ...observed.api_servers].some(
      ({ misses }) => misses > 0 && misses < missesUntilIll,
    )
    // Counted from the questions, so that no minute is left out.
    return { againMs: isNew ? soonMs : Math.max(soonMs, everyMs - (job.now() - askedAt)) }
  },
})
