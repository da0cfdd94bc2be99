import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type ClusterPod, clusterPods, type DrainEffect } from '#contract/clusters/pods.ts'
import { count, counted } from '#contract/words.ts'
import { query } from '../../../api/query.ts'
import { paths } from '../../../lib/paths.ts'
import { Empty, Stale } from '../../../ui/feedback/States.tsx'
import { StatusReason, type Tone } from '../../../ui/feedback/Status.tsx'
import { Select } from '../../../ui/inputs/Choices.tsx'
import { Search } from '../../../ui/inputs/Search.tsx'
import { columns, DataTable } from '../../../ui/table/DataTable.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'

const effects: Readonly<Record<DrainEffect, string>> = {
  moved: 'Is moved',
  stays: 'Stays',
  lost: 'Is lost',
  ended: 'Has ended',
}
const toneOf = ({ ready, state }: ClusterPod): Tone =>
  ready
    ? 'ok'
    : state === 'Pending' || state === 'Terminating' || state === 'ContainerCreating'
      ? 'warn'
      : 'danger'

const podColumns = columns<ClusterPod>([
  {
    id: 'name',
    head: 'Pod',
    card: 'name',
    width: (from) =>
      from.lg ? { least: 240, most: 320 } : from.md ? { least: 200, most: 280 } : 200,
    cell: (p) => p.name,
  },
  { id: 'namespace', head: 'Namespace', card: 'fact', width: 130, cell: (p) => p.namespace },
  {
    id: 'owner',
    head: 'Created by',
    from: 'xl',
    width: 200,
    cell: (p) =>
      p.owner === null ? (
        <span className="t3">{p.on_drain === 'stays' ? 'Static pod' : 'Nothing'}</span>
      ) : (
        `${p.owner.kind} ${p.owner.name}`
      ),
  },
  {
    id: 'node',
    head: 'Server',
    card: 'fact',
    width: 150,
    cell: ({ node, node_id }) =>
      node === null ? (
        <span className="t3">Not scheduled</span>
      ) : node_id === null ? (
        node
      ) : (
        <a href={paths.server(node_id)}>{node}</a>
      ),
  },
  {
    id: 'containers',
    head: 'Ready',
    numeric: true,
    from: 'lg',
    width: 72,
    cell: (p) => `${p.containers_ready}/${p.containers}`,
  },
  {
    id: 'restarts',
    head: 'Restarts',
    numeric: true,
    from: 'md',
    width: 80,
    cell: (p) => p.restarts,
  },
  {
    id: 'started',
    head: 'Started',
    from: 'xl',
    width: 120,
    cell: (p) =>
      p.started_at === null ? <span className="t3">–</span> : <Time at={p.started_at} />,
  },
  {
    id: 'drain',
    head: 'On a drain',
    from: 'md',
    width: 104,
    cell: (p) =>
      p.on_drain === 'lost' ? (
        <span className="c-danger">{effects.lost}</span>
      ) : (
        effects[p.on_drain]
      ),
  },
  {
    id: 'state',
    head: 'State',
    card: 'state',
    cell: (p) => <StatusReason tone={toneOf(p)} word={p.state} why={p.reason} tall />,
  },
])

interface PodsTabProps {
  cluster: Cluster
  q: string
  /** Id of the server whose pods are shown; undefined: all. */
  server: string | undefined
  onQ: (q: string) => void
  onServer: (server: string) => void
}

/**
 * What runs where: the pods of a cluster, those that are not ready first. Read again while it is
 * shown, because Kubernetes sends no events to Steelyard.
 */
export default function PodsTab({ cluster, q, server, onQ, onServer }: PodsTabProps) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...query(clusterPods, {
      params: { id: cluster.id },
      query: { ...(q !== '' && { q }), ...(server !== undefined && { node_id: server }) },
    }),
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: 15_000,
  })
  const onRetry = () => void refetch()
  const narrowed = q !== '' || server !== undefined
  return (
    <section className="stack stack2">
      <div className="row wrap">
        <Search
          label="Search pods"
          placeholder="Namespace, name or Deployment"
          value={q}
          onValue={onQ}
        />
        <Select
          aria-label="Server"
          value={server ?? ''}
          options={[
            { value: '', text: 'All servers' },
            ...cluster.servers.map((s) => ({ value: s.node_id, text: s.name })),
          ]}
          onValue={onServer}
        />
        {data !== undefined && (
          <p className="fs13 t2" role="status">
            {counted(data.total, 'pod')},{' '}
            {data.not_ready === 0 ? 'all ready' : `${count(data.not_ready)} not ready`}
            {data.items.length < data.total && `; the first ${count(data.items.length)} are shown`}
          </p>
        )}
      </div>
      <DataTable
        label={`Pods of ${cluster.name}`}
        rows={data?.items}
        columns={podColumns}
        rowKey={(p) => `${p.namespace}/${p.name}`}
        rowName={(p) => p.name}
        error={error}
        onRetry={onRetry}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
        grows
        empty={
          narrowed ? (
            <Empty title="No pods match" text="Change the search, or show all servers." />
          ) : (
            <Empty title="No pods" />
          )
        }
      />
    </section>
  )
}
