import { clusterMeasurements, type ClusterSeries } from '#contract/measurements/measurements.ts'
import { query } from '../../../api/query.ts'
import { type UsageChart, UsageOverTime } from '../../../layout/charts/UsageOverTime.tsx'
import { paths } from '../../../lib/paths.ts'
import { Empty } from '../../../ui/feedback/States.tsx'

const charts: readonly UsageChart<ClusterSeries>[] = [
  { title: 'Slowest Kubernetes API server', of: { api_seconds: 'Answered after' } },
  { title: 'Slowest member of etcd', of: { etcd_seconds: 'Answered after' } },
  { title: 'Largest database of etcd', of: { etcd_bytes: 'Size', etcd_in_use_bytes: 'In use' } },
  { title: 'Nodes', of: { nodes: 'Joined', nodes_ready: 'Ready' } },
]

/** How a cluster answered, how large its etcd is and how many nodes are Ready, over time. */
export default function ClusterUsage({ id }: { id: string }) {
  return (
    <UsageOverTime
      of={(from) => query(clusterMeasurements, { params: { id }, query: { from } })}
      charts={charts}
      subject={{
        id,
        history: { cluster: id },
        historyOf: (period) => paths.clusterHistory(id, period),
      }}
      nothing={
        <Empty
          title="Nothing was measured in this period"
          text="Steelyard measures a cluster once a minute from when it is ready, while a control plane answers."
        />
      }
    />
  )
}
