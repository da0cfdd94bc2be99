/**
 * Reads the certificates of each cluster a few times a day, so that the overview shows those that
 * expire soon. Changes nothing on the machines.
 */
import { certificateKinds, type EndingCertificate } from '#contract/clusters/certificates.ts'
import type { Attention } from '#contract/overview.ts'
import type { Db } from '../../../../db/db.ts'
import type { Reconciler } from '../../../../engine/engine.ts'
import { type ClusterParts, updateCluster } from '../../parts.ts'
import { system } from '../../../../http/caller.ts'
import { listed } from '../../sentences.ts'
import * as clusters from '../../store.ts'
import { certificatesOf } from './certificates.ts'
import * as store from './store.ts'

/** The key is the cluster's id. */
export const certificateQueue = 'cluster-certificates'
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

/** Clusters with certificates that expire soon, for the overview. */
export async function certificateAttention(db: Db): Promise<Attention[]> {
  return (await store.endingCertificates(db)).map(({ id, name, certificates_ending: ending }) => {
    const all = ending ?? []
    const first = all.toSorted((a, b) => a.ends_at.localeCompare(b.ends_at))[0]!
    const what = listed(
      [
        ...new Set(
          all.map(
            (c) => `${certificateKinds[c.kind].title}${c.name === null ? '' : ` of ${c.name}`}`,
          ),
        ),
      ],
      3,
    )
    return {
      kind: 'cluster_certificate_ending',
      id,
      name,
      since: null,
      reason: `Certificates expire on ${first.ends_at.slice(0, 10)}: ${what}. ${first.reason}`,
    }
  })
}
