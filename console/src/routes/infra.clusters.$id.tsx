// The tab Addresses and the drift alarm are separate features: only the route imports all of them.
import { Suspense } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { everyServerOf } from '../api/every.ts'
import type { Load, PageProps } from '../api/page.ts'
import { clusterOne } from '../features/clusters/cluster-queries.ts'
import { ClusterPage } from '../features/clusters/page/ClusterPage.tsx'
import { ClusterDrift } from '../features/drift/DriftAlarm.tsx'
import { LockedOut } from '../features/takeover/LockedOut.tsx'
import { SkeletonRows } from '../ui/feedback/States.tsx'
import { part } from '../ui/part.tsx'

const ClusterAddresses = part(() => import('../features/network/ClusterAddresses.tsx'))
const PodsTab = part(() => import('../features/clusters/health/PodsTab.tsx'))
const HistoryTable = part(async () => ({
  default: (await import('../features/history/HistoryTable.tsx')).HistoryTable,
}))
const addressesOf = (cluster: Cluster) => <ClusterAddresses cluster={cluster} />

const above = (id: string) => (
  <>
    <LockedOut clusterId={id} />
    <ClusterDrift clusterId={id} />
  </>
)

// Awaited, but never throws: the page itself shows why its data is missing. The servers are
// awaited, too, because an alarm that appears later would move the buttons below it while the user
// clicks.
export const load: Load<'/infra/clusters/$id'> = ({ params, client }) =>
  Promise.all([
    client.prefetchQuery(clusterOne(params.id)),
    client.prefetchQuery(everyServerOf(params.id)),
  ])

export function Page({ params: { id }, search, setSearch }: PageProps<'/infra/clusters/$id'>) {
  const pods = (cluster: Cluster) => (
    <PodsTab
      cluster={cluster}
      q={search.q ?? ''}
      server={search.server}
      onQ={(q) => setSearch({ q })}
      onServer={(server) => setSearch({ server })}
    />
  )
  return (
    <ClusterPage
      id={id}
      tab={search.tab}
      operation={search.operation}
      addresses={addressesOf}
      pods={pods}
      history={
        <Suspense fallback={<SkeletonRows rows={8} />}>
          <HistoryTable
            search={search}
            setSearch={setSearch}
            subject={{ cluster: id }}
            of="this cluster and its servers"
          />
        </Suspense>
      }
      above={above(id)}
    />
  )
}
