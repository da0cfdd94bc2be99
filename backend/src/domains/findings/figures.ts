/** The metrics of findings. */
import type { Figures } from '#contract/metrics/metrics.ts'
import type { OpenCount } from './store.ts'

/** Sums of the counts by a key made of some of their columns. */
function sumBy<Labels extends Readonly<Record<string, string>>>(
  counts: readonly OpenCount[],
  labelsOf: (count: OpenCount) => Labels | null,
): (Labels & { readonly value: number })[] {
  const sums = new Map<string, Labels & { value: number }>()
  for (const count of counts) {
    const labels = labelsOf(count)
    if (labels === null) continue
    const key = JSON.stringify(labels)
    sums.set(key, { ...labels, value: (sums.get(key)?.value ?? 0) + count.n })
  }
  return [...sums.values()]
}

export const figuresOf = (counts: readonly OpenCount[]): Figures => ({
  steelyard_findings: sumBy(counts, ({ object_kind, kind, severity, acknowledged }) => ({
    object: object_kind,
    kind,
    severity,
    acknowledged: String(acknowledged),
  })),
  steelyard_cluster_findings: sumBy(counts, ({ cluster_name, severity }) =>
    cluster_name === null ? null : { cluster: cluster_name, severity },
  ),
})
