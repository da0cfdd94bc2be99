/** The list of clusters as CSV. */
import { clusterList } from '#contract/clusters/clusters.ts'
import type { clusterExport } from '#contract/csv/list-exports.ts'
import { clusterSaid } from '#contract/findings/said.ts'
import { labelsText } from '#contract/labels/changed.ts'
import type { Input } from '#contract/operation.ts'
import { type CsvCells, listCsv } from '../../../csv/listed.ts'
import type { ClusterParts } from '../parts.ts'
import { shown } from '../shown.ts'
import { page } from './store-listed.ts'

export const exportedCells = {
  status: (cluster) => clusterSaid(cluster).word,
  labels: ({ labels }) => labelsText(labels ?? {}),
} satisfies CsvCells<typeof clusterList.list>

/** More clusters than one program can have. */
const all = { page: 1, per_page: 1_000_000 } as const

export async function exported(
  parts: ClusterParts,
  { columns, ...query }: Input<typeof clusterExport>['query'],
): Promise<string> {
  const { rows } = await page(parts.db, { ...query, ...all })
  return listCsv(clusterList.list, exportedCells, await shown(parts, parts.db, rows), columns)
}
