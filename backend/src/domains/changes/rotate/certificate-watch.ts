/**
 * Reads the certificates of each cluster a few times a day, so that the overview shows those that
 * expire soon. Changes nothing on the machines.
 */
import { certificateKinds, type ClusterCertificate } from '#contract/clusters/certificates.ts'
import type { EndingCertificate } from '#contract/clusters/ending-certificates.ts'
import type { Reconciler } from '../../../engine/engine.ts'
import {
  certificateQueue,
  type ClusterParts,
  clusterRows,
  updateCluster,
} from '../../clusters/api.ts'
import { system } from '../../../http/caller.ts'
import { certificatesOf } from './certificates.ts'

const everyMs = 6 * 3_600_000
/** The interval, in ms, while a restart is advised, so that the finding ends soon after it. */
const soonMs = 600_000

/**
 * The certificates that a user has to replace. What could not be read now is as it was before: a
 * server that doesn't answer has no newer certificate for that.
 */
export function endingOf(
  items: readonly ClusterCertificate[],
  before: readonly EndingCertificate[],
): EndingCertificate[] {
  return items.flatMap(({ kind, name, ends_at, ending, reason }) => {
    if (ends_at === null) return before.filter((one) => one.kind === kind && one.name === name)
    return ending ? [{ kind, name, ends_at, reason: reason ?? '' }] : []
  })
}

/** When to look again, in ms. A rotation wakes the watch, and nothing renews the authority of etcd. */
export const againMs = (ending: readonly EndingCertificate[]): number =>
  ending.some(({ kind }) => certificateKinds[kind].renewed_by === 'talos') ? soonMs : everyMs

export const certificateWatch = (parts: ClusterParts): Reconciler => ({
  queue: certificateQueue,
  concurrency: 2,
  deadlineMs: 120_000,
  async reconcile(job) {
    const row = await clusterRows.row(parts.db, job.key)
    if (!row || row.deleted_at !== null || row.wanted !== 'ready') return undefined
    if (row.ready_at === null) return { againMs: 60_000 }
    const { items } = await certificatesOf(parts, job.key, job.signal)
    let ending: EndingCertificate[] = []
    await job.fence.write(async (tx) => {
      const before = await clusterRows.lock(tx, job.key)
      if (!before) return
      ending = endingOf(items, before.certificates_ending ?? [])
      const found = ending.length === 0 ? null : JSON.stringify(ending)
      const columns = { certificates_ending: found, certificates_read_at: new Date(job.now()) }
      if (
        JSON.stringify(before.certificates_ending) ===
        JSON.stringify(ending.length === 0 ? null : ending)
      )
        await clusterRows.noteCertificates(tx, job.key, columns)
      else await updateCluster(parts, tx, system, job.key, columns)
    })
    return { againMs: againMs(ending) }
  },
})
