import { useQuery } from '@tanstack/react-query'
import type * as z from 'zod/mini'
import { type ClusterEvent, clusterEvents } from '#contract/clusters.ts'
import { query } from '../../api/query.ts'
import { exact, moment } from '../../lib/time.ts'
import { columns, DataTable } from '../../ui/DataTable.tsx'
import { Empty } from '../../ui/States.tsx'

const eventColumns = columns<z.infer<typeof ClusterEvent>>([
  {
    id: 'at',
    head: 'Time',
    width: 150,
    card: 'fact',
    cell: (e) => (
      <time className="num" dateTime={e.at} title={exact(e.at)}>
        {moment(e.at)}
      </time>
    ),
  },
  { id: 'message', head: 'What happened', card: 'name', cell: (e) => <span title={e.message}>{e.message}</span> },
  { id: 'type', head: 'Type', width: 240, from: 'md', cell: (e) => <span className="mono fs12 t3">{e.type}</span> },
  { id: 'by', head: 'By', width: 200, from: 'sm', cell: (e) => e.by ?? <span className="t3">–</span> },
])

/** What was done to the cluster, and by whom. A download makes no live event, so each look asks anew. */
export function ClusterEvents({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({ ...query(clusterEvents, { params: { id } }), staleTime: 0 })
  return (
    <DataTable
      label="Events"
      rows={data?.items}
      columns={eventColumns}
      rowKey={(e) => e.id}
      rowName={(e) => e.message}
      error={error}
      onRetry={() => void refetch()}
      grows
      empty={<Empty title="Nothing happened yet" text="What is done to this cluster, and by whom, is written down here." />}
    />
  )
}
