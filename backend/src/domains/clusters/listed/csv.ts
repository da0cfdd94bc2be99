/** The list of clusters as CSV. */
import { clusterList } from '#contract/clusters/clusters.ts'
import type { clusterExport } from '#contract/csv/list-exports.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { labelsText } from '#contract/labels/changed.ts'
import type { Input } from '#contract/operation.ts'
import { type CsvCells, listCsv } from '../../../csv/listed.ts'
import type { ClusterParts } from '../parts.ts'
import { shown } from '../shown.ts'
import { page } from './store-listed.ts'

const cells: CsvCells<typeof clusterList.list> = {
  /** The word of its finding, or its status if nothing is wrong. */
  status: ({ finding, status }) => (finding ? findingKinds[finding.kind].word : status),
  labels: ({ labels }) => labelsText(labels ?? {}),
}

/** More clusters than one program can have. */
const all = { page: 1, per_page: 1_000_000 } as const

export async function exported(
  parts: ClusterParts,
  { columns, ...query }: Input<typeof clusterExport>['query'],
): Promise<string> {
  const { rows } = await page(parts.db, { ...query, ...all })
  return listCsv(clusterList.list, cells, await shown(parts, parts.db, rows), columns)
}
