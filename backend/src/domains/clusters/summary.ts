/** The figures of clusters for the overview. */
import { lockedOutSentences } from '#contract/clusters/foreign-sentences.ts'
import type { Attention } from '#contract/overview.ts'
import { certificateKinds } from '#contract/clusters/certificates.ts'
import { listed } from './sentences.ts'
import type { Db } from '../../db/db.ts'
import type { ClustersSummary } from './api.ts'
import type { CoreParts } from './parts.ts'
import * as store from './store.ts'
import * as rotations from './store-rotations.ts'
import { troublesOf } from './troubles.ts'

/** Number of clusters by status, and clusters with problems. */
export async function clusterSummary({
  db,
  engine,
}: Pick<CoreParts, 'db' | 'engine'>): Promise<ClustersSummary> {
  const [counts, ailing, troubles, ending, failed] = await Promise.all([
    store.countByStatus(db),
    store.ailing(db),
    troublesOf(db, { engine }),
    certificateAttention(db),
    store.failedMembers(db),
  ])
  const troubled = await store.named(
    db,
    [...troubles.keys()].filter((id) => !ailing.some((c) => c.id === id)),
  )
  return {
    counts: {
      total: counts.reduce((sum, c) => sum + c.n, 0),
      by_status: Object.fromEntries(counts.map((c) => [c.status, c.n])),
    },
    ailing: [
      ...ailing.map(({ id, name, status, reason, locked_out, locked_out_since }): Attention =>
        status === 'failed' || locked_out === null
          ? {
              kind: status === 'failed' ? 'cluster_failed' : 'cluster_degraded',
              id,
              name,
              since: null,
              reason,
            }
          : {
              kind: 'cluster_locked_out',
              id,
              name,
              since: locked_out_since?.toISOString() ?? null,
              reason: lockedOutSentences[locked_out],
            },
      ),
      ...troubled.map(({ id, name }): Attention => ({
        kind: 'cluster_troubled',
        id,
        name,
        since: null,
        reason: troubles.get(id)![0]!.message,
      })),
      ...failed.map(({ node_id, name, failed_at, failure }): Attention => ({
        kind: 'server_failed',
        id: node_id,
        name,
        since: failed_at?.toISOString() ?? null,
        reason: failure,
      })),
      ...ending,
    ],
  }
}

/** Clusters with certificates that expire soon, for the overview. */
async function certificateAttention(db: Db): Promise<Attention[]> {
  return (await rotations.endingCertificates(db)).map(
    ({ id, name, certificates_ending: ending }) => {
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
    },
  )
}
