/** What one observation of a cluster measured. Pure. */
import type { ClusterSeries } from '#contract/measurements/measurements.ts'

const largest = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value) => typeof value === 'number')
  return known.length === 0 ? null : Math.max(...known)
}
const inSeconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000)

/**
 * The slowest answers and the largest member of etcd, of the machines that answered.
 * @param nodes whether each node that has joined is Ready; null if unknown
 */
export function measuredOf(
  {
    etcd,
    apiServers,
  }: {
    readonly etcd: readonly {
      readonly status: { readonly sizeBytes: number; readonly inUseBytes: number } | null
      readonly statusMs: number | null
    }[]
    readonly apiServers: readonly { readonly ms: number | null }[]
  },
  nodes: readonly (boolean | null)[],
): Record<ClusterSeries, number | null> {
  return {
    api_seconds: inSeconds(largest(apiServers.map(({ ms }) => ms))),
    etcd_seconds: inSeconds(largest(etcd.map(({ statusMs }) => statusMs))),
    etcd_bytes: largest(etcd.map(({ status }) => status?.sizeBytes)),
    etcd_in_use_bytes: largest(etcd.map(({ status }) => status?.inUseBytes)),
    // While Kubernetes doesn't answer, nothing is known of any node.
    nodes_ready: nodes.every((ready) => ready === null)
      ? null
      : nodes.filter((ready) => ready === true).length,
    nodes: nodes.length,
  }
}
