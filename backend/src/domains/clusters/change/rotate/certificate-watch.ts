/**
 * Reads the certificates of each cluster a few times a day, so that the overview shows those that
 * expire soon. Changes nothing on the machines.
 */
import type { EndingCertificate } from '#contract/clusters/ending-certificates.ts'
import type { Reconciler } from '../../../../engine/engine.ts'
import { certificateQueue, type ClusterParts, updateCluster } from '../../parts.ts'
import { system } from '../../../../http/caller.ts'
import * as clusters from '../../store.ts'
import { certificatesOf } from './certificates.ts'
import * as store from '../../store-rotations.ts'

const everyMs = 6 * 3_600_000

export const certificateWatch = (parts: ClusterParts): Reconciler => ({
  queue: certificateQueue,
  concurrency: 2,
  deadlineMs: 120_000,
  async reconcile(job) {
    const row = await clusters.row(parts.db, job.key)
    if (!row || row.deleted_at !== null || row.wanted !== 'ready') return undefined
    if (row.ready_at === null) return { againMs: 60_000 }
    const { items } = await certificatesOf(parts, job.key, job.signal)
    const ending = items.flatMap(
      ({ kind, name, ends_at, ending: isEnding, reason }): EndingCertificate[] =>
        isEnding && ends_at !== null ? [{ kind, name, ends_at, reason: reason ?? '' }] : [],
    )
    const found = ending.length === 0 ? null : JSON.stringify(ending)
    await job.fence.write(async (tx) => {
      const before = await clusters.lock(tx, job.key)
      if (!before) return
      const columns = { certificates_ending: found, certificates_read_at: new Date(job.now()) }
      if (
        JSON.stringify(before.certificates_ending) ===
        JSON.stringify(ending.length === 0 ? null : ending)
      )
        await store.noteCertificates(tx, job.key, columns)
      else await updateCluster(parts, tx, system, job.key, columns)
    })
    return { againMs: everyMs }
  },
})
