import { useQuery } from '@tanstack/react-query'
import { clusterEvents } from '#contract/clusters/clusters.ts'
import { query } from '../../api/query.ts'
import { EventTable } from '../../ui/table/EventTable.tsx'

/** Events of the cluster with their users. Downloads make no live event, so the list is refetched on each visit. */
export function ClusterEvents({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({ ...query(clusterEvents, { params: { id } }), staleTime: 0 })
  return <EventTable noun="cluster" rows={data?.items} error={error} onRetry={() => void refetch()} />
}
